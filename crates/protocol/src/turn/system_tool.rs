//! Calls that a turn makes of the system itself and that are answered later, by the system: the call is opened in the
//! commit that starts the work, and answered in the commit that ends it.

use super::{Outcome, fence, report, work::Work};
use crate::{Moment, Rejection};
use cardwire_model::{
    Card, CardId, Commit, InboxKind, Origin, ProjectId, Snapshot, Status, TurnEpoch, TurnId, card::ToolStatus,
};
use serde_json::{Value, json};

/// The turn has made a call: its card is in the output box, and whoever waits for it will be answered.
pub(crate) fn open(
    snapshot: &Snapshot,
    project: &ProjectId,
    turn_id: TurnId,
    tool_call_id: &str,
    card: Card,
    moment: &Moment,
) -> Result<Commit, Rejection> {
    let held = fence::live(snapshot, project, turn_id, live_epoch(snapshot))?;
    let mut work = Work::new(held, moment);
    let card = work.put(card);
    work.open_call(tool_call_id, Some(card), false)?;
    work.append(false)?;
    Ok(work.stay(()).commit)
}

/// The system has begun with a call that the turn has made: from now on it is waited for, and the head is marked, so that
/// nobody begins again, not at the same time either.
pub(crate) fn begin(
    snapshot: &Snapshot,
    project: &ProjectId,
    turn_id: TurnId,
    tool_call_id: &str,
    moment: &Moment,
) -> Result<Commit, Rejection> {
    let held = fence::live(snapshot, project, turn_id, live_epoch(snapshot))?;
    let mut work = Work::new(held, moment);
    work.wait_for(tool_call_id);
    let to = work.held.moved(work.held.live.state, moment.now);
    Ok(work.go(to, ()).commit)
}

/// The answer of the system to a call.
pub(crate) struct SystemAnswer<'a> {
    /// Who answers.
    pub(crate) author: &'a str,
    /// Which tool was called.
    pub(crate) function: &'a str,
    /// How it ended.
    pub(crate) status: ToolStatus,
    /// What came out.
    pub(crate) result: &'a Value,
    /// What went wrong.
    pub(crate) error: Option<&'a Value>,
}

impl SystemAnswer<'_> {
    /// What the `tool.result` card says.
    pub(crate) fn content(&self) -> Value {
        json!({
            "status": self.status.as_str(), "after_execution": "suspend",
            "result": self.result, "error": self.error,
        })
    }

    /// What stands beside its type.
    pub(crate) fn metadata(&self) -> [(&'static str, Value); 3] {
        [("role", json!("tool")), ("author_id", json!(self.author)), ("function_name", json!(self.function))]
    }
}

/// What became of an answer.
pub(crate) struct Taken {
    /// To be applied.
    pub(crate) commit: Commit,
    /// The `tool.result` card.
    pub(crate) card: CardId,
}

/// Whether a turn could be told.
pub(crate) enum Told {
    /// It is, by this.
    Taken(Taken),
    /// It has ended, or the call has its answer.
    Gone,
    /// Its output box takes no more cards.
    Full,
}

/// Answers a call, if its turn is still live and still has it open (BM-20): whatever the epoch, because a turn that was
/// given back still waits.
pub(crate) fn answer(
    snapshot: &Snapshot,
    project: &ProjectId,
    turn_id: TurnId,
    tool_call_id: &str,
    answer: &SystemAnswer<'_>,
    moment: &Moment,
) -> Result<Told, Rejection> {
    let held = match fence::live(snapshot, project, turn_id, live_epoch(snapshot)) {
        Ok(held) => held,
        Err(Rejection::StaleTurn(..)) => return Ok(Told::Gone),
        Err(rejection) => return Err(rejection),
    };
    let mut work = Work::new(held, moment);
    if !work.open.iter().any(|call| call.tool_call_id == tool_call_id) {
        return Ok(Told::Gone);
    }
    let card = work.own_card(
        "tool.result",
        &answer.content(),
        &answer.metadata(),
        Some(tool_call_id),
        Origin::Tool,
    )?;
    let card = work.put(card);
    // An output box that takes no more cannot hold up the batch: the turn is told by the time it waits for.
    if !work.is_writable() {
        return Ok(Told::Full);
    }
    let waited = work.answer(tool_call_id, answer.status, false, card).unwrap_or(false);
    let taken = report::take(work, snapshot, InboxKind::ToolResult, tool_call_id, card, u32::from(waited))?;
    debug_assert!(matches!(taken.outcome, Outcome::Reported(_)), "an answer is a report");
    Ok(Told::Taken(Taken { commit: taken.commit, card }))
}

/// The epoch of whatever is live: the turn itself is what is asked for.
fn live_epoch(snapshot: &Snapshot) -> TurnEpoch {
    let live = snapshot.head.as_ref().filter(|head| head.status() != Status::Idle);
    live.map_or(TurnEpoch::ZERO, |head| head.epoch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixtures::{agent::TestAgent, project, tool_call},
        turn::{Command, report::AfterExecution},
    };
    use cardwire_model::limits;

    fn told(rows: &Snapshot, agent: &TestAgent) -> Told {
        let said = SystemAnswer {
            author: "sys.pmo",
            function: "fork_join",
            status: ToolStatus::Success,
            result: &json!(1),
            error: None,
        };
        let turn = agent.fence().turn_id;
        answer(rows, &project(), turn, "c1", &said, &agent.moment).unwrap()
    }

    /// BM-16: what an operator forks in the name of an agent may come before its turn begins.
    #[test]
    fn a_call_that_was_opened_before_its_turn_started_is_answered() {
        let mut agent = TestAgent::new();
        agent.dispatch();
        let turn = agent.fence().turn_id;
        let card = tool_call("fork_join", &json!({}));
        let opened = open(&agent.for_turn(turn), &project(), turn, "c1", card, &agent.moment).unwrap();
        agent.apply(opened);
        agent.claim(false);
        agent.run(&Command::Start(agent.fence())).unwrap();
        assert!(agent.calls[0].answer.is_none(), "{:?}", agent.calls);
        assert!(matches!(told(&agent.for_turn(turn), &agent), Told::Taken(_)));
    }

    /// BM-20, NF-09: the batch is closed all the same.
    #[test]
    fn a_turn_whose_output_box_is_full_is_told_nothing() {
        let (mut agent, fence) = TestAgent::running();
        agent.run(&agent.tool_call(&fence, "c1")).unwrap();
        let output = agent.head.as_ref().unwrap().live.as_ref().unwrap().output_box;
        let at = |len: usize, sealed: bool| {
            let mut rows = agent.for_turn(fence.turn_id);
            let head = rows.boxes.get_mut(&output).unwrap();
            (head.len, head.sealed) = (len as u32, sealed);
            told(&rows, &agent)
        };
        assert!(matches!(at(limits::BOX_CARDS - 1, false), Told::Taken(_)));
        assert!(matches!(at(limits::BOX_CARDS, false), Told::Full));
        assert!(matches!(at(1, true), Told::Full));
        agent.run(&TestAgent::report(&fence, "c1", ToolStatus::Success, AfterExecution::Suspend)).unwrap();
        assert!(matches!(told(&agent.for_turn(fence.turn_id), &agent), Told::Gone));
    }
}
