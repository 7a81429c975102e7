//! Suspend: the turn waits for its tools (WK-08). A call that is answered already is not waited for; when nothing is
//! left to wait for, the turn can be resumed at once.

use super::{
    Outcome,
    append::check_call_id,
    ending::{self, End},
    fence::{self, Fence},
    work::Work,
};
use crate::{Decision, Moment, Rejection, facts::distinct};
use cardwire_model::{
    InboxKind, InboxStatus, Invalid, LiveState, ProjectId, Snapshot, Status, ToolCall, Write, limits,
};

/// What to wait for.
#[derive(Debug, Clone)]
pub struct Suspend {
    /// Who writes.
    pub fence: Fence,
    /// Which calls.
    pub waiting: Vec<String>,
    /// For how long.
    pub resume_seconds: u32,
    /// Every tool call of the turn.
    pub calls: Vec<ToolCall>,
}

/// Suspends the turn.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    command: &Suspend,
    moment: &Moment,
) -> Result<Decision<Outcome>, Rejection> {
    check(command)?;
    let held = fence::hold(snapshot, project, &command.fence, &[Status::Running])?;
    let mut work = Work::new(held, moment);
    let ids: Vec<&str> = command.waiting.iter().map(String::as_str).collect();
    let mut waiting = 0;
    for id in distinct(&ids) {
        let known = command.calls.iter().find(|call| call.tool_call_id == id);
        match known {
            Some(call) if call.answer.is_some() => continue,
            Some(_) => work.wait_for(id),
            // Waiting for a call is as good as making it: its report finds the request.
            None => work.open_call(id, None, true)?,
        }
        waiting += 1;
    }
    let resume_by = moment.now.plus_seconds(command.resume_seconds.into());
    if waiting == 0 {
        if let Some(end) = ending::terminated(&held.rows.calls, None) {
            return ending::end(work, snapshot, End::Tools(end));
        }
        let first = ids.first().copied().unwrap_or_default();
        let row = work.inbox_row(InboxKind::ToolResult, InboxStatus::Pending, first);
        work.commit.writes.push(Write::Enqueue(Box::new(row)));
    }
    work.state_event(Status::Suspended.as_str(), waiting);
    let to = held.moved(LiveState::Suspended { waiting, resume_by }, moment.now);
    Ok(work.go(to, Outcome::Suspended(waiting)))
}

fn check(command: &Suspend) -> Result<(), Invalid> {
    if command.waiting.is_empty() {
        return Err(Invalid::field("waiting_tool_call_ids", "must name at least one tool call"));
    }
    Invalid::check_size("waiting_tool_call_ids", command.waiting.len(), limits::OPEN_CALLS, "calls")?;
    for (index, id) in command.waiting.iter().enumerate() {
        check_call_id(&format!("waiting_tool_call_ids/{index}"), id)?;
    }
    if !(1..=limits::RESUME_SECONDS_MAX).contains(&command.resume_seconds) {
        let range = format!("must be 1 to {}", limits::RESUME_SECONDS_MAX);
        return Err(Invalid::field("resume_deadline_seconds", range));
    }
    Ok(())
}
