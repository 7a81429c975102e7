//! A call of a PMO tool and its answer, as cards (PM-15, PM-16).

use crate::{
    Decision, Moment, Rejection,
    decision::own_json,
    turn::{
        Proof,
        system_tool::{self, Told},
    },
};
use cardwire_model::{
    AgentId, AuditAction, AuditVerdict, Batch, BatchId, BatchStatus, CanonicalJson, Card, CardDraft, CardId,
    Channel, Commit, Head, InboxItem, InheritMode, Invalid, Live, LiveState, NewAudit, Nudge, Origin,
    PmoSettings, ProjectId, SingleWriter, Snapshot, ToolCall, TurnEpoch, TurnId, Write, allows_tool,
    card::ToolStatus, limits,
};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Who answers.
const AUTHOR: &str = "sys.pmo";

/// A call.
#[derive(Debug, Clone)]
pub struct Call {
    /// Which tool.
    pub tool: String,
    /// Who calls.
    pub caller: AgentId,
    /// The turn that makes the call; none when an operator makes it in the caller's name.
    pub by_turn: Option<TurnId>,
    /// The turn that an operator takes the caller to be at, if it says so.
    pub at_turn: Option<TurnId>,
    /// The epoch at which the caller takes itself to be, if it says so.
    pub epoch: Option<TurnEpoch>,
    /// Why the caller may speak for that turn.
    pub proof: Proof,
    /// On which channel.
    pub channel: Channel,
    /// The caller named the channel itself. Otherwise a call that a turn makes is on the channel of that turn (PM-06).
    pub names_channel: bool,
    /// In which trace.
    pub trace_id: String,
    /// The caller began or went on with that trace itself. Otherwise the call is part of what the caller is at.
    pub is_traced: bool,
    /// With what.
    pub args: Map<String, Value>,
    /// How deep the project lets turns delegate.
    pub max_depth: u32,
    /// What happens to boxes that were not handed to the caller.
    pub acl: InheritMode,
    /// Bounds of the project.
    pub pmo: PmoSettings,
    /// The project lets only profiles with a `delegation_policy` delegate (PM-14).
    pub require_policy: bool,
    /// The call that the turn has made already, and that this one carries out (PM-15). It is answered in the turn's output box.
    pub carries_out: Option<String>,
    /// How the turns that are started run.
    pub run: RunOptions,
}

/// How turns that a call starts run, for those who drive a process with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOptions {
    /// Their settings: an object.
    pub runtime_config: CanonicalJson,
    /// What an agent that is there writes on.
    pub output: ReusedOutput,
}

impl RunOptions {
    /// Whether they are settings of a run, which only the call knows.
    pub fn is_of_a_run(&self) -> bool {
        self.output == ReusedOutput::New || self.runtime_config != CanonicalJson::empty_object()
    }
}

/// What an agent that is there writes on (PM-07).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReusedOutput {
    /// The box it has.
    #[default]
    Kept,
    /// The same, unless a turn of it is live: the project wants it so.
    NewIfLive,
    /// A new one: what it knows comes from its context.
    New,
}

impl ReusedOutput {
    /// Whether an agent with this head keeps the box it has.
    pub fn keeps(self, head: Option<&Head>) -> bool {
        match self {
            Self::Kept => true,
            Self::NewIfLive => head.is_none_or(|head| head.live.is_none()),
            Self::New => false,
        }
    }
}

impl From<SingleWriter> for ReusedOutput {
    fn from(setting: SingleWriter) -> Self {
        match setting {
            SingleWriter::Serial => Self::Kept,
            SingleWriter::Strict => Self::NewIfLive,
        }
    }
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { runtime_config: CanonicalJson::empty_object(), output: ReusedOutput::Kept }
    }
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// The call.
    pub tool_call_id: String,
    /// The card that says how it ended; none while it has not.
    pub result_card: Option<CardId>,
    /// It did what it was called for.
    pub is_success: bool,
    /// What it started, if it is answered when that has ended.
    pub batch: Option<BatchId>,
    /// Something is to be done with that at once.
    pub is_due: bool,
    /// How that ended, once it has.
    pub joined: Option<BatchStatus>,
    /// What the caller is told.
    pub result: Value,
    /// Why the request itself was refused. What was refused by the target is told in the result alone.
    pub refused: Option<Rejection>,
}

/// A fresh name for a call.
pub fn fresh_call_id(moment: &Moment) -> String {
    format!("call_{}", moment.fresh.uuid().simple())
}

/// Whether a turn with this profile may call this tool. Operators may call any in an agent's name.
pub fn check_tool(call: &Call, profile: Option<&Value>) -> Result<(), Rejection> {
    if call.by_turn.is_none() || profile.is_some_and(|profile| allows_tool(profile, &call.tool)) {
        return Ok(());
    }
    Err(Rejection::Forbidden(format!("{} is not among the tools of this agent", call.tool)))
}

/// Settings of a run that a turn cannot give to others: they would be another run's, or would open another's memory.
const NOT_FROM_TURNS: [&str; 3] = ["team_card_id", "llm_config", "forked_from"];

/// A turn may give those whom it starts the session that it has itself, and no other.
pub fn check_run(call: &Call, own: Option<&CanonicalJson>) -> Result<(), Rejection> {
    if call.by_turn.is_none() {
        return Ok(());
    }
    let (given, own) =
        (call.run.runtime_config.to_value(), own.map(CanonicalJson::to_value).unwrap_or_default());
    let refuse = |name: &str, why: &str| Err(Invalid::field(format!("runtime_config/{name}"), why).into());
    if let Some(name) = NOT_FROM_TURNS.into_iter().find(|name| given.get(name).is_some()) {
        return refuse(name, "cannot be given by a turn");
    }
    if given.get("session_id").is_some() {
        for name in ["session_id", "namespace", crate::session::turn::CHECKPOINT] {
            if given.get(name) != own.get(name) {
                return refuse(name, "must be that of the turn that calls");
            }
        }
    }
    Ok(())
}

/// Where a call stands that a turn has made and somebody carries out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Nobody has begun.
    Open,
    /// What it starts is under way: this batch of so many branches.
    Started(BatchId, u32),
    /// It has this answer, and forked a batch that ended so.
    Answered(CardId, Option<BatchStatus>),
}

impl Standing {
    /// Where a call of a turn stands, so that a repeat does nothing twice. A turn may wait for a call that nobody has begun
    /// with; its batch tells those that have been begun.
    pub fn of(call: &ToolCall, batch: Option<&Batch>) -> Self {
        match (&call.answer, batch) {
            (Some(answer), batch) => Self::Answered(answer.card, batch.map(|batch| batch.status)),
            (None, Some(batch)) if call.waiting => Self::Started(batch.id, batch.branches),
            (None, _) => Self::Open,
        }
    }
}

impl Call {
    /// The same call in the trace of the turn that it is made in, and on the channel of the turn that makes it, if it brings
    /// none of its own.
    pub fn placed(&self, live: Option<&Live>) -> Cow<'_, Self> {
        let trace = live.filter(|_| !self.is_traced).map(|live| &live.trace_id);
        let channel =
            live.filter(|_| self.by_turn.is_some() && !self.names_channel).map(|live| &live.channel);
        if trace.is_none() && channel.is_none() {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self {
            trace_id: trace.unwrap_or(&self.trace_id).clone(),
            channel: channel.unwrap_or(&self.channel).clone(),
            ..self.clone()
        })
    }
}

/// What whoever repeats a call is told: what its answer says, if it has one and that is still there, or what it has started.
pub fn repeated(tool_call_id: String, standing: Standing, answer: Option<&Card>) -> Answered {
    let said = answer.map(|card| card.content.to_value()).unwrap_or_default();
    let mut result = match &said["result"] {
        Value::Object(result) => result.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::from_iter([("status".to_owned(), json!("accepted"))])
        }
    };
    result.insert("repeated".to_owned(), true.into());
    let (mut result_card, mut batch, mut joined) = (None, None, None);
    match standing {
        Standing::Open => {}
        Standing::Started(id, branches) => {
            result.insert("batch_id".to_owned(), id.to_string().into());
            result.insert("task_count".to_owned(), branches.into());
            batch = Some(id);
        }
        Standing::Answered(card, ended) => (result_card, joined) = (Some(card), ended),
    }
    let is_success = said["status"] != ToolStatus::Failed.as_str();
    let result = Value::Object(result);
    Answered { tool_call_id, result_card, is_success, batch, is_due: false, joined, result, refused: None }
}

/// Whether the call can be written.
pub fn check_card(call: &Call, moment: &Moment) -> Result<(), Invalid> {
    call_card(call, &fresh_call_id(moment), moment).map(drop)
}

/// The call as a card of the caller.
pub(crate) fn call_card(call: &Call, tool_call_id: &str, moment: &Moment) -> Result<Card, Invalid> {
    let content = json!({ "tool_name": call.tool, "arguments": call.args });
    let metadata = json!({ "type": "tool.call", "role": "assistant", "author_id": call.caller.as_str() });
    let draft = CardDraft {
        content: CanonicalJson::from_value(&content).map_err(|wrong| wrong.at("args"))?,
        metadata: own_json(&metadata),
        tool_calls: None,
        tool_call_id: Some(tool_call_id.to_owned()),
        ttl_seconds: None,
    };
    let card = draft.into_card(CardId::from_uuid(moment.fresh.uuid()), Origin::Agent, moment.now);
    card.map_err(|wrong| wrong.at("args"))
}

/// The answer as a card of the PMO.
fn result_card(
    call: &Call,
    tool_call_id: &str,
    is_success: bool,
    body: &Value,
    moment: &Moment,
) -> Result<Card, Invalid> {
    let status = if is_success { "success" } else { "failed" };
    let content = json!({
        "status": status, "after_execution": "suspend", "result": body, "error": body.get("error"),
    });
    let metadata = json!({
        "type": "tool.result", "role": "tool", "author_id": AUTHOR, "function_name": call.tool,
    });
    let draft = CardDraft {
        content: own_json(&content),
        metadata: own_json(&metadata),
        tool_calls: None,
        tool_call_id: Some(tool_call_id.to_owned()),
        ttl_seconds: None,
    };
    draft.into_card(CardId::from_uuid(moment.fresh.uuid()), Origin::Tool, moment.now)
}

/// What a refused caller is told: the target's refusal in its own words (PM-11), anything else as an error.
pub fn refusal(rejection: &Rejection, agent_id: Option<&AgentId>, code: &str) -> Value {
    // It may quote what was asked for, and stands twice in the card.
    let message: String = rejection.to_string().chars().take(limits::ERROR_CHARS).collect();
    let error = json!({ "code": code, "message": message, "source": AUTHOR });
    match rejection {
        Rejection::Refused(refused) => json!({
            "status": refused.verdict.as_str(),
            "error_code": refused.code.as_str(),
            "agent_id": agent_id.map(AgentId::as_str),
            "error": error,
        }),
        Rejection::Invalid(_)
        | Rejection::NotFound { .. }
        | Rejection::CardConflict { .. }
        | Rejection::CardGone { .. }
        | Rejection::BoxSealed { .. }
        | Rejection::Conflict(_)
        | Rejection::Forbidden(_)
        | Rejection::UnauthorizedBox { .. }
        | Rejection::IterationChanged(_)
        | Rejection::Outdated
        | Rejection::StaleTurn(..)
        | Rejection::Unauthenticated
        | Rejection::Lost(_) => json!({ "status": "error", "error_code": code, "error": error }),
    }
}

/// A turn may call while it is at work, in the name of its own agent, and only by whoever holds it (DP-17): a turn that was
/// given back or rebuilt waits for its next holder, who is given another token. Answers the write that keeps the commit from
/// being applied once that has changed. What an operator starts in the name of an agent at work belongs to its turn, so it
/// is guarded as well.
pub fn fence(
    call: &Call,
    caller_head: Option<&Head>,
    turn_row: Option<&InboxItem>,
    moment: &Moment,
) -> Result<Option<Write>, Rejection> {
    if let Some(row) = turn_row.filter(|row| row.agent_id != call.caller) {
        let message = format!("the turn is one of agent {}, not of {}", row.agent_id, call.caller);
        return Err(if is_held(call, turn_row) {
            Rejection::Forbidden(message)
        } else {
            Rejection::Unauthenticated
        });
    }
    let live = caller_head.and_then(|head| head.live.as_ref().map(|live| (head, live)));
    if let (Some(epoch), Some((head, live))) = (call.epoch, live)
        && epoch != head.epoch
    {
        return Err(Rejection::StaleTurn(live.turn_id, head.epoch.get()));
    }
    let Some(turn) = call.by_turn else {
        // DP-17, whoever calls: a turn that the caller is not at.
        if let Some(turn) = call.at_turn.filter(|turn| live.is_none_or(|(_, live)| live.turn_id != *turn)) {
            return Err(Rejection::StaleTurn(turn, caller_head.map_or(0, |head| head.epoch.get())));
        }
        return Ok(live.map(|(head, _)| Write::NudgeHead { guard: head.guard(), nudge: Nudge::default() }));
    };
    let stale = || Rejection::StaleTurn(turn, caller_head.map_or(0, |head| head.epoch.get()));
    let (head, live) = live.filter(|(_, live)| live.turn_id == turn).ok_or_else(stale)?;
    match live.state {
        LiveState::Dispatched => return Err(stale()),
        LiveState::Running | LiveState::Suspended { .. } => {}
    }
    if !is_held(call, turn_row) {
        return Err(Rejection::Unauthenticated);
    }
    let nudge = Nudge { seen: Some(moment.now), ..Nudge::default() };
    Ok(Some(Write::NudgeHead { guard: head.guard(), nudge }))
}

/// Whether whoever makes the call may speak for the turn.
fn is_held(call: &Call, turn_row: Option<&InboxItem>) -> bool {
    match &call.proof {
        Proof::Operator => true,
        Proof::Lease(hash) => turn_row.is_some_and(|row| row.token_hash == Some(*hash)),
    }
}

/// The whole of a call as one commit: its fence, the call, what was done, and the answer, in this order. A target that
/// refuses is an answer, any other refusal is the caller's fault as well (PM-11). A call that the turn has made already is
/// there, and is answered where it was made; `rows` are those of its turn.
pub fn answer(
    call: &Call,
    tool_call_id: String,
    fence: Option<Write>,
    mut done: Commit,
    result: Result<Value, (Rejection, Value)>,
    rows: Option<&Snapshot>,
    moment: &Moment,
) -> Result<Decision<Answered>, Rejection> {
    let (is_success, result, refused) = match result {
        Ok(result) => (true, result, None),
        Err((rejection, told)) => (false, told, Some(rejection)),
    };
    let refused = refused.filter(|rejection| !matches!(rejection, Rejection::Refused(_)));
    let denied = if let Some(Rejection::UnauthorizedBox { id }) = &refused {
        Some(("box_id", id))
    } else if let Some(Rejection::Forbidden(reason)) = &refused {
        Some(("reason", reason))
    } else {
        None
    };
    if let Some((name, what)) = denied {
        let detail = json!({ "tool": call.tool, "agent_id": call.caller.as_str(), name: what });
        let denied = moment.audit(AuditAction::AccessDenied, call.caller.as_str(), &detail);
        done.audit.push(NewAudit { verdict: AuditVerdict::Denied, ..denied });
    }
    let project = done.realm.project().cloned();
    let (before, after, result_card) = match (rows, call.by_turn, project) {
        (Some(rows), Some(turn), Some(project)) => {
            let answer = answered(call, &project, turn, &tool_call_id, is_success, &result, rows, moment)?;
            (None, answer.commit, answer.card)
        }
        (_, _, _) => {
            let called = call_card(call, &tool_call_id, moment)?;
            let answer = result_card(call, &tool_call_id, is_success, &result, moment)?;
            let (mut after, id) = (Commit::new(done.realm.clone()), answer.id);
            after.writes.push(Write::PutCard(Box::new(answer)));
            (Some(Write::PutCard(Box::new(called))), after, id)
        }
    };
    // A commit that answers in the turn's box moves its head by itself, so it needs no second guard.
    let fence = fence.filter(|_| rows.is_none());
    let did = std::mem::take(&mut done.writes);
    done.writes = fence.into_iter().chain(before).chain(did).collect();
    done.append(after);
    Ok(Decision {
        commit: done,
        outcome: Answered {
            tool_call_id,
            result_card: Some(result_card),
            is_success,
            batch: None,
            is_due: false,
            joined: None,
            result,
            refused,
        },
    })
}

/// The answer in the box where the call was made.
#[expect(clippy::too_many_arguments, reason = "it is one answer, told apart from its caller for its length")]
fn answered(
    call: &Call,
    project: &ProjectId,
    turn: TurnId,
    tool_call_id: &str,
    is_success: bool,
    result: &Value,
    rows: &Snapshot,
    moment: &Moment,
) -> Result<system_tool::Taken, Rejection> {
    let status = if is_success { ToolStatus::Success } else { ToolStatus::Failed };
    let answer = system_tool::SystemAnswer {
        author: AUTHOR,
        function: &call.tool,
        status,
        result,
        error: result.get("error"),
    };
    match system_tool::answer(rows, project, turn, tool_call_id, &answer, moment)? {
        Told::Taken(taken) => Ok(taken),
        Told::Gone => Err(Rejection::StaleTurn(turn, rows.head.as_ref().map_or(0, |head| head.epoch.get()))),
        Told::Full => Err(Rejection::Conflict("the turn's output box takes no more cards".to_owned())),
    }
}
