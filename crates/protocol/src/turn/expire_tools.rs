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
    // A box that takes no more must not keep the turn waiting for ever: whoever goes on with it finds out.
    if !work.is_writable() {
        work.leave_out();
    }
    report::take(work, snapshot, InboxKind::Timeout, last, card, answered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{agent::TestAgent, project};
    use cardwire_model::limits;

    /// WD-11, NF-09
    #[test]
    fn a_full_output_box_keeps_no_turn_waiting() {
        let (mut agent, fence) = TestAgent::running();
        agent.run(&agent.tool_call(&fence, "c1")).unwrap();
        agent.run(&TestAgent::suspend(&fence, &["c1"])).unwrap();
        agent.later(61);
        let output = agent.head.as_ref().unwrap().live.as_ref().unwrap().output_box;
        for (len, fits) in [(limits::BOX_CARDS - 1, true), (limits::BOX_CARDS, false)] {
            let mut rows = agent.for_turn(fence.turn_id);
            rows.boxes.get_mut(&output).unwrap().len = len as u32;
            let done = decide(&rows, &project(), fence.turn_id, fence.epoch, &agent.moment).unwrap();
            let appends = done.commit.writes.iter().any(|write| matches!(write, Write::AppendCards { .. }));
            assert_eq!(appends, fits, "{len}");
            assert_eq!(done.commit.resumable.len(), 1, "{len}: somebody is to go on with it");
        }
    }
}
