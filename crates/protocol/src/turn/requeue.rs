//! A claimed row whose worker was never heard of again goes back to be claimed (WD-09). Not when the turn runs: then
//! its silence is the watchdog's other business (WD-05).

use super::{Outcome, copy};
use crate::{Decision, Moment, Rejection};
use cardwire_model::{
    Commit, InboxId, InboxItem, InboxKind, InboxStatus, Live, LiveState, ProjectId, Snapshot, TurnId, Write,
};

/// Puts the row back.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    turn_id: TurnId,
    inbox_id: InboxId,
    moment: &Moment,
) -> Result<Decision<Outcome>, Rejection> {
    let item = snapshot.inbox.as_ref().ok_or_else(|| Rejection::not_found("inbox row", inbox_id))?;
    let nothing = || Ok(Decision::nothing(project.clone(), Outcome::Nothing));
    if item.status != InboxStatus::Processing {
        return nothing();
    }
    let mut commit = Commit::new(project.clone());
    // Without a head it is not known who needs the row.
    let head = snapshot.head.as_ref().ok_or_else(|| Rejection::Lost(item.agent_id.clone()))?;
    let for_live =
        head.live.as_deref().filter(|live| live.turn_id == turn_id && item.epoch == Some(head.epoch));
    let status = match (item.kind, for_live.map(|live| live.state)) {
        (InboxKind::Turn, Some(LiveState::Dispatched))
        | (InboxKind::ToolResult | InboxKind::Timeout, Some(LiveState::Suspended { .. })) => {
            InboxStatus::Pending
        }
        (_, Some(LiveState::Running | LiveState::Dispatched | LiveState::Suspended { .. }))
            if item.kind == InboxKind::Turn =>
        {
            return nothing();
        }
        // Nobody needs it any more.
        (InboxKind::Turn | InboxKind::ToolResult | InboxKind::Timeout | InboxKind::Stop, _) => {
            InboxStatus::Skipped
        }
    };
    let put_back = InboxItem {
        status,
        worker_id: None,
        processed_at: (status == InboxStatus::Skipped).then_some(moment.now),
        retry_count: item.retry_count + 1,
        reason: Some("processing_timeout".to_owned()),
        ..item.clone()
    };
    commit.writes.push(Write::UpdateInbox { from: item.status, item: Box::new(put_back) });
    if let Some(live) = for_live {
        // Whoever starts the turn at this moment must see that the row is no longer in its hands.
        let mut to = head.clone();
        to.live = Some(Box::new(Live { marks: live.marks + 1, ..live.clone() }));
        commit.writes.push(copy::move_head(head.guard_move(), to, 0));
    }
    Ok(Decision { commit, outcome: Outcome::Requeued })
}

#[cfg(test)]
mod tests {
    use crate::{
        Rejection,
        fixtures::agent::{TestAgent, holds},
        turn::{Command, Outcome},
    };
    use cardwire_model::{InboxStatus, Write};

    /// WD-09: a turn that is started when its row was put back, or before it was claimed, has its row in hand again. Else the
    /// next claim would put the row of a running turn away, and nobody could stop it.
    #[test]
    fn whoever_starts_a_turn_has_its_row() {
        for claimed in [true, false] {
            let mut agent = TestAgent::new();
            agent.dispatch();
            let fence = agent.fence();
            if claimed {
                assert_eq!(agent.claim(false).leases.len(), 1);
                let row = agent.row(fence.turn_id).unwrap().id;
                assert_eq!(agent.run(&Command::Requeue(fence.turn_id, row)), Ok(Outcome::Requeued));
            }
            assert_eq!(agent.row(fence.turn_id).unwrap().status, InboxStatus::Pending);
            assert_eq!(agent.run(&Command::Start(fence.clone())), Ok(Outcome::Running));
            assert!(agent.claim(false).leases.is_empty());
            let row = agent.row(fence.turn_id).unwrap();
            assert_eq!((row.status, row.processed_at), (InboxStatus::Processing, Some(agent.moment.now)));
            agent.run(&TestAgent::finish(&fence)).unwrap();
            assert_eq!(agent.task_events(fence.turn_id), 1);
        }
    }

    /// WD-09: a start that was decided before the row was put back is decided again, and so is a row that would be put back
    /// after its turn was started.
    #[test]
    fn a_row_is_not_put_back_beneath_a_start() {
        let mut agent = TestAgent::new();
        agent.dispatch();
        agent.claim(false);
        let fence = agent.fence();
        let row = agent.row(fence.turn_id).unwrap().id;
        let start = agent.decide(&Command::Start(fence.clone())).unwrap();
        let put_back = agent.decide(&Command::Requeue(fence.turn_id, row)).unwrap();
        for (first, second) in [(&start, &put_back), (&put_back, &start)] {
            let mut agent = agent.clone();
            agent.apply(first.commit.clone());
            let head = agent.head.as_ref().unwrap();
            let refused =
                |write: &Write| matches!(write, Write::MoveHead { guard, .. } if !holds(guard, head));
            assert!(second.commit.writes.iter().any(refused));
        }
    }

    /// WD-08, WD-09: as long as a head is lost, nobody knows whether its rows are needed.
    #[test]
    fn no_row_is_put_away_while_the_head_is_lost() {
        let mut agent = TestAgent::new();
        agent.dispatch();
        agent.claim(false);
        let row = agent.inbox[0].clone();
        agent.head = None;
        assert_eq!(agent.run(&Command::Requeue(row.turn_id, row.id)), Err(Rejection::Lost(row.agent_id)));
    }
}
