//! The time to wait for tools is over (WD-11): each call that is still waited for gets one `timeout` answer, and the
//! turn is resumed with those. It is never ended directly.

use super::{Outcome, fence, report, work::Work};
use crate::{Decision, Moment, Rejection};
use cardwire_model::{
    EdgePhase, InboxKind, InboxStatus, LiveState, Primitive, ProjectId, Snapshot, TurnEpoch, TurnId, Write,
    card::ToolStatus,
};

/// Answers what nobody has answered.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    turn_id: TurnId,
    epoch: TurnEpoch,
    moment: &Moment,
) -> Result<Decision<Outcome>, Rejection> {
    let held = fence::live(snapshot, project, turn_id, epoch)?;
    let nothing = || Ok(Decision::nothing(project.clone(), Outcome::Nothing));
    match held.live.state {
        LiveState::Suspended { waiting: 1.., resume_by } if resume_by <= moment.now => {}
        LiveState::Suspended { .. } | LiveState::Running | LiveState::Dispatched => return nothing(),
    }
    let mut work = Work::new(held, moment);
    let waiting: Vec<String> =
        work.open.iter().filter(|call| call.waiting).map(|call| call.tool_call_id.clone()).collect();
    let Some((last, others)) = waiting.split_last() else { return nothing() };
    for id in others {
        work.close_call(id, ToolStatus::Timeout, "tool_timeout")?;
        let row = work.inbox_row(InboxKind::Timeout, InboxStatus::Consumed, id);
        let edge = work.tool_edge(Primitive::Report, EdgePhase::Response, id, Some(row.id));
        work.commit.writes.push(Write::Enqueue(Box::new(row)));
        work.commit.writes.push(Write::AddEdge(Box::new(edge)));
    }
    work.close_call(last, ToolStatus::Timeout, "tool_timeout")?;
    let card = work.appended().last().copied();
    let Some(card) = card else { return nothing() };
    let answered = waiting.len() as u32;
    report::take(work, snapshot, InboxKind::Timeout, last, card, answered)
}
