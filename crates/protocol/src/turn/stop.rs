//! Stop: somebody calls a turn off (WK-09, W-06). A live turn is taken away from its holder; a waiting one never
//! runs. Either ends with its one task event.

use super::{
    Outcome,
    ending::{self, End, Remains},
    fence,
    finish::check_text,
    lease::{self, EndUnleased, Unleased},
    work::Work,
};
use crate::{Decision, Moment, Rejection};
use cardwire_model::{
    AuditAction, BoxHead, Commit, InboxKind, InboxStatus, LiveState, Nudge, Origin, ProjectId, Snapshot,
    Sweep, TaskStatus, TurnEpoch, TurnId, Write, limits,
};
use serde_json::{Value, json};

/// A turn to stop.
#[derive(Debug, Clone)]
pub struct Stop {
    /// Which turn.
    pub turn_id: TurnId,
    /// The epoch the caller knows; a later one is stopped too.
    pub epoch: Option<TurnEpoch>,
    /// Why, for people.
    pub reason: Option<String>,
    /// What a deliverable can be made of.
    pub remains: Remains,
}

/// The error of a stopped turn.
const STOPPED: &str = "stopped";

/// Stops the turn.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    command: &Stop,
    moment: &Moment,
) -> Result<Decision<Outcome>, Rejection> {
    check_text("reason", command.reason.as_deref())?;
    let rows = snapshot.turn.as_ref().ok_or_else(|| Rejection::not_found("turn", command.turn_id))?;
    let mut decision = if rows.item.status == InboxStatus::Queued {
        stop_waiting(snapshot, project, command, moment)?
    } else {
        stop_live(snapshot, project, command, moment)?
    };
    // What the turn has started is stopped too, however long that takes and whatever crashes meanwhile.
    decision.commit.writes.push(Write::AddSweep(Sweep::Turn(command.turn_id)));
    let detail = json!({ "agent_id": rows.item.agent_id.to_string(), "reason": command.reason });
    decision.commit.audit.push(moment.audit(AuditAction::TurnStop, command.turn_id, &detail));
    Ok(decision)
}

/// What the `agent.error` card of a stopped turn says.
fn told(command: &Stop) -> Value {
    json!({ "error": STOPPED, "reason": command.reason })
}

fn stop_live(
    snapshot: &Snapshot,
    project: &ProjectId,
    command: &Stop,
    moment: &Moment,
) -> Result<Decision<Outcome>, Rejection> {
    let known = command.epoch.unwrap_or(TurnEpoch::ZERO);
    let epoch = snapshot.head.as_ref().map_or(known, |head| head.epoch.max(known));
    let held = fence::live(snapshot, project, command.turn_id, epoch)?;
    let mut work = Work::new(held, moment);
    let content = told(command);
    let extra = [("role", json!("system")), ("author_id", json!("sys.kernel"))];
    let card = work.own_card("agent.error", &content, &extra, None, Origin::Agent)?;
    work.put(card);
    // Whoever is at it hears of it sooner this way than by being fenced.
    let claimed = matches!(held.live.state, LiveState::Running) || held.rows.item.worker_id.is_some();
    if claimed {
        let row = work.inbox_row(InboxKind::Stop, InboxStatus::Pending, &command.turn_id.to_string());
        work.commit.writes.push(Write::Enqueue(Box::new(row)));
    }
    let end = End::TakenAway { status: TaskStatus::Failed, reason: STOPPED, remains: &command.remains };
    ending::end(work, snapshot, end)
}

fn stop_waiting(
    snapshot: &Snapshot,
    project: &ProjectId,
    command: &Stop,
    moment: &Moment,
) -> Result<Decision<Outcome>, Rejection> {
    let rows = snapshot.turn.as_ref().ok_or_else(|| Rejection::Conflict("no turn".to_owned()))?;
    let head = snapshot.head.as_ref().ok_or_else(|| Rejection::Lost(rows.item.agent_id.clone()))?;
    if command.epoch.is_some_and(|epoch| epoch > head.epoch) {
        return Err(Rejection::StaleTurn(command.turn_id, head.epoch.get()));
    }
    let error = told(command);
    let end = EndUnleased {
        status: TaskStatus::Failed,
        row: InboxStatus::Skipped,
        reason: STOPPED,
        code: STOPPED,
        error: Some(&error),
    };
    let output = waiting_output(snapshot);
    let Unleased { writes, expect, event, deliverable } =
        lease::end_unleased(&rows.item, &end, output, moment)?;
    let mut commit = Commit::new(project.clone());
    commit.writes = writes;
    commit.expect.extend(expect);
    let nudge = Nudge { queued: -1, ..Nudge::default() };
    commit.writes.push(Write::NudgeHead { guard: head.guard(), nudge });
    commit.events.push(event);
    Ok(Decision { commit, outcome: Outcome::Ended { status: TaskStatus::Failed, deliverable } })
}

/// The output box of a turn that waits, if anything can be written there: not while the live turn writes it (CB-14).
fn waiting_output(snapshot: &Snapshot) -> Option<&BoxHead> {
    let box_id = snapshot.turn.as_ref()?.item.output_box?;
    let live = snapshot.head.as_ref()?.live.as_ref();
    let output = snapshot.boxes.get(&box_id)?;
    let is_free = live.is_none_or(|live| live.output_box != box_id);
    (is_free && !output.sealed && (output.len as usize) < limits::BOX_CARDS).then_some(output)
}
