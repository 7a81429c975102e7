//! Report: the answer to a tool call (DP-16, WK-08). It is matched with the call it answers, written into the output
//! box, and resumes the turn when nothing else is waited for. A second answer to the same call changes nothing.

use super::{
    Outcome,
    append::check_call_id,
    ending::{self, End},
    fence::{self, Fence},
    named,
    work::Work,
};
use crate::{Decision, Moment, RefusalCode, Rejection};
use cardwire_model::{
    AgentId, CanonicalJson, Card, CardFact, CardId, EdgePhase, InboxId, InboxKind, InboxStatus, Invalid,
    LiveState, Origin, Primitive, ProjectId, Snapshot, Status, ToolCall, Write,
    card::{Content, ToolStatus},
};
use serde_json::json;

/// The answer to a tool call.
#[derive(Debug, Clone)]
pub struct Report {
    /// For which turn.
    pub fence: Fence,
    /// The agent the caller believes to be answering.
    pub agent_id: AgentId,
    /// Which call.
    pub tool_call_id: String,
    /// How it ended.
    pub status: ToolStatus,
    /// The answer itself.
    pub answer: Answer,
    /// Whether the turn ends with it, where the report says so.
    pub after: Option<AfterExecution>,
    /// Who answers.
    pub author_id: Option<String>,
    /// Every tool call of the turn.
    pub calls: Vec<ToolCall>,
    /// What the called tool does to the turn, where its project knows the tool. Read only if the report leaves it open.
    pub tool_after: Option<AfterExecution>,
    /// How the call ended according to the card that the report names.
    pub card_status: Option<ToolStatus>,
}

impl Report {
    /// What happens to the turn: the report's word, else the tool's, else it goes on (WK-08).
    pub fn after(&self) -> AfterExecution {
        self.after.or(self.tool_after).unwrap_or(AfterExecution::Suspend)
    }

    /// The card of the call whose tool is to say what happens to the turn: nobody has said it, and nobody has answered.
    pub fn asks_tool(&self) -> Option<CardId> {
        let call = self.calls.iter().find(|call| call.tool_call_id == self.tool_call_id)?;
        if self.after.is_some() || call.answer.is_some() { None } else { call.call_card }
    }
}

/// How a call ended according to its `tool.result` card.
pub fn status_of(card: &Card) -> Option<ToolStatus> {
    match Content::parse(&card.kind, &card.content).ok()? {
        Content::ToolResult { status, .. } => Some(status),
        Content::Text(_)
        | Content::Json(_)
        | Content::Fields(_)
        | Content::ToolCall { .. }
        | Content::Tools(_) => None,
    }
}

/// What a tool says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A value, to be made a card.
    Value {
        /// What came out.
        result: CanonicalJson,
        /// What went wrong.
        error: Option<CanonicalJson>,
    },
    /// A `tool.result` card that is there already.
    Card(CardId),
}

impl Answer {
    /// The card it names.
    pub const fn card_id(&self) -> Option<CardId> {
        match self {
            Self::Value { .. } => None,
            Self::Card(id) => Some(*id),
        }
    }
}

/// What happens to the turn once the tool has answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterExecution {
    /// It goes on.
    Suspend,
    /// It ends.
    Terminate,
}

impl AfterExecution {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Suspend => "suspend",
            Self::Terminate => "terminate",
        }
    }
}

/// What became of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reported {
    /// The `tool.result` card.
    pub card_id: CardId,
    /// The inbox row it made; none for a repeat.
    pub inbox_id: Option<InboxId>,
    /// The call had this answer already.
    pub repeated: bool,
    /// What the turn is now.
    pub status: Status,
}

/// Takes the answer.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    command: &Report,
    moment: &Moment,
) -> Result<Decision<Outcome>, Rejection> {
    check_call_id("tool_call_id", &command.tool_call_id)?;
    let held = fence::hold(snapshot, project, &command.fence, &[Status::Running, Status::Suspended])?;
    if held.head.agent_id != command.agent_id {
        return Err(Invalid::field("agent_id", "is not the agent of this turn").into());
    }
    let call = command.calls.iter().find(|call| call.tool_call_id == command.tool_call_id);
    let Some(call) = call else {
        let message = format!("the turn has made no tool call {}", command.tool_call_id);
        return Err(Rejection::refused(RefusalCode::ProtocolViolation, message));
    };
    if let Some(answer) = &call.answer {
        let reported =
            Reported { card_id: answer.card, inbox_id: None, repeated: true, status: held.head.status() };
        return Ok(Decision::nothing(project.clone(), Outcome::Reported(reported)));
    }
    let mut work = Work::new(held, moment);
    let card_id = write_card(&mut work, snapshot, command)?;
    let terminate = command.after() == AfterExecution::Terminate;
    let waited = work.answer(&command.tool_call_id, command.status, terminate, card_id).unwrap_or(false);
    take(work, snapshot, InboxKind::ToolResult, &command.tool_call_id, card_id, u32::from(waited))
}

/// What follows from an answer: the row and edge that record it, and the next state of the turn. `answered` calls that
/// the turn was waiting for have been answered by this commit.
pub(super) fn take(
    mut work: Work<'_>,
    snapshot: &Snapshot,
    kind: InboxKind,
    tool_call_id: &str,
    card_id: CardId,
    answered: u32,
) -> Result<Decision<Outcome>, Rejection> {
    let held = work.held;
    let (resumes, to) = match held.live.state {
        LiveState::Suspended { waiting, resume_by } => {
            let waiting = waiting.saturating_sub(answered);
            let resumes = waiting == 0 && answered > 0;
            (resumes, Some(held.moved(LiveState::Suspended { waiting, resume_by }, work.moment.now)))
        }
        LiveState::Running | LiveState::Dispatched => (false, None),
    };
    let status = if resumes { InboxStatus::Pending } else { InboxStatus::Consumed };
    let row = work.inbox_row(kind, status, tool_call_id);
    let edge = work.tool_edge(Primitive::Report, EdgePhase::Response, tool_call_id, Some(row.id));
    let reported = Reported { card_id, inbox_id: Some(row.id), repeated: false, status: held.head.status() };
    work.commit.writes.push(Write::AddEdge(Box::new(edge)));
    if resumes && let Some(tools) = ending::terminated(&held.rows.calls, Some(&work)) {
        let consumed = cardwire_model::InboxItem {
            status: InboxStatus::Consumed,
            processed_at: Some(work.moment.now),
            ..row
        };
        work.commit.writes.push(Write::Enqueue(Box::new(consumed)));
        let ended = ending::end(work, snapshot, End::Tools(tools))?;
        let outcome = Outcome::Reported(Reported { status: Status::Idle, ..reported });
        return Ok(Decision { commit: ended.commit, outcome });
    }
    work.append(false)?;
    work.commit.writes.push(Write::Enqueue(Box::new(row)));
    if resumes {
        work.commit.resumable.push(held.rows.item.clone());
    }
    let outcome = Outcome::Reported(reported);
    Ok(match to {
        Some(to) => work.go(to, outcome),
        None => work.stay(outcome),
    })
}

fn write_card(work: &mut Work<'_>, snapshot: &Snapshot, command: &Report) -> Result<CardId, Rejection> {
    match &command.answer {
        Answer::Card(id) => {
            check_card(named::card(snapshot, &command.fence, *id, work.moment)?, command)?;
            if !snapshot.members.contains(id) {
                work.add("tool.result", *id);
            }
            Ok(*id)
        }
        Answer::Value { result, error } => {
            let card = made_card(work, command, result, error.as_ref())?;
            Ok(work.put(card))
        }
    }
}

fn made_card(
    work: &Work<'_>,
    command: &Report,
    result: &CanonicalJson,
    error: Option<&CanonicalJson>,
) -> Result<Card, Invalid> {
    let content = json!({
        "status": command.status.as_str(),
        "after_execution": command.after().as_str(),
        "result": result.to_value(),
        "error": error.map(CanonicalJson::to_value),
    });
    let author = command.author_id.as_deref().unwrap_or("tool");
    let extra = [("role", json!("tool")), ("author_id", json!(author))];
    let card = work.own_card("tool.result", &content, &extra, Some(&command.tool_call_id), Origin::Tool);
    // What is too large or too deep is the larger of the two.
    let is_error = error.is_some_and(|error| error.as_bytes().len() > result.as_bytes().len());
    card.map_err(|wrong| wrong.at(if is_error { "error" } else { "result" }))
}

/// DP-16: the card must be a `tool.result` of the same call, by whoever reports it, and say the same of its end.
fn check_card(fact: &CardFact, command: &Report) -> Result<(), Rejection> {
    let wrong = |reason: &str| Err(Invalid::field("tool_result_card_id", reason).into());
    if fact.kind.as_str() != "tool.result" {
        return wrong("must be a card of type tool.result");
    }
    if fact.tool_call_id.as_deref() != Some(command.tool_call_id.as_str()) {
        return wrong("must carry the same tool_call_id");
    }
    if command.author_id.is_some() && fact.author_id != command.author_id {
        return wrong("must be written by author_id");
    }
    if command.card_status.is_some_and(|status| status != command.status) {
        return Err(Invalid::field("status", "differs from that of the card in tool_result_card_id").into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixtures::agent::TestAgent, turn::Command};

    /// A report on the call `c1` of a turn that waits for it, made from one that says nothing of what comes after.
    fn reported(edit: impl Fn(&mut Report)) -> Result<Status, Rejection> {
        let (mut agent, fence) = TestAgent::running();
        agent.run(&agent.tool_call(&fence, "c1")).unwrap();
        agent.run(&TestAgent::suspend(&fence, &["c1"])).unwrap();
        let mut command = TestAgent::report(&fence, "c1", ToolStatus::Success, AfterExecution::Suspend);
        if let Command::Report(report) = &mut command {
            report.after = None;
            edit(report);
        }
        agent.run(&command)?;
        Ok(agent.head.as_ref().unwrap().status())
    }

    /// WK-08
    #[test]
    fn the_tool_says_what_comes_after_where_the_report_does_not() {
        use AfterExecution::{Suspend, Terminate};
        for (said, tool, status) in [
            (None, None, Status::Suspended),
            (None, Some(Suspend), Status::Suspended),
            (None, Some(Terminate), Status::Idle),
            (Some(Suspend), Some(Terminate), Status::Suspended),
            (Some(Terminate), Some(Suspend), Status::Idle),
        ] {
            let ended = reported(|report| (report.after, report.tool_after) = (said, tool));
            assert_eq!(ended, Ok(status), "{said:?} {tool:?}");
        }
    }

    /// WK-08: the tool is asked only if that matters.
    #[test]
    fn a_tool_is_asked_when_nobody_has_spoken() {
        let (mut agent, fence) = TestAgent::running();
        agent.run(&agent.tool_call(&fence, "c1")).unwrap();
        let Command::Report(report) =
            TestAgent::report(&fence, "c1", ToolStatus::Success, AfterExecution::Suspend)
        else {
            panic!("not a report")
        };
        let asks = |after, calls: &[ToolCall]| {
            Report { after, calls: calls.to_vec(), ..report.as_ref().clone() }.asks_tool()
        };
        let card = agent.calls[0].call_card;
        assert!(card.is_some());
        assert_eq!(asks(None, &agent.calls), card);
        assert_eq!(asks(Some(AfterExecution::Suspend), &agent.calls), None);
        assert_eq!(asks(None, &[]), None);
        agent.run(&Command::Report(report.clone())).unwrap();
        assert_eq!(asks(None, &agent.calls), None, "answered already");
    }
}
