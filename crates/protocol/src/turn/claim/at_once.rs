//! A turn that is leased, or can go on, while a worker waits for one is claimed in the same commit: what would be written
//! twice is written once, and nobody has to look for it (DP-15). What comes of it is what a claim right after the commit would have
//! made.

use super::{Claim, Lease, LeaseKind, LeasedTurn};
use cardwire_model::{
    Commit, Hash256, Head, InboxItem, InboxKind, InboxStatus, LiveState, Realm, TurnId, Write,
};
use std::collections::HashMap;

/// A worker that waits.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// Who it is, and what it wants.
    pub claim: Claim,
    /// A fresh secret.
    pub secret: [u8; 32],
}

/// Claims the turns that a commit leases, and those it lets go on, for those who wait; `find` answers who takes the turn of a
/// row, if anybody does. The leases hold once the commit is applied.
///
/// Only turns that come out of the queue, or never were in it: one that was given back or rebuilt is left to be claimed, so that
/// whoever could not run it is not given it again at once.
pub fn at_once(commit: &mut Commit, find: &mut dyn FnMut(&InboxItem) -> Option<Waiting>) -> Vec<Lease> {
    let Realm::Project(project) = commit.realm.clone() else { return vec![] };
    let mut heads = heads(commit);
    let mut leases = vec![];
    for at in 0..commit.writes.len() {
        let Some((kind, row)) = claimable(&commit.writes[at]) else { continue };
        let Some(head) = heads.get(&row.turn_id) else { continue };
        // A report is claimed with the row of the turn that it lets go on.
        let turn_row = match kind {
            LeaseKind::Turn => Some(row),
            LeaseKind::Resume | LeaseKind::Stop => {
                commit.resumable.iter().find(|one| one.turn_id == row.turn_id)
            }
        };
        let Some(turn_row) = turn_row else { continue };
        let Some(Waiting { claim, secret }) = find(row) else { continue };
        let (row, turn_row, head) = (row.clone(), turn_row.clone(), *head);
        // A turn is given once.
        heads.remove(&row.turn_id);
        // There is one: only heads with a live turn were noted.
        let Some(head) = head_of(&mut commit.writes[head]) else { continue };
        let (epoch, now) = (head.epoch, head.updated_at);
        let Some(live) = head.live.as_deref_mut() else { continue };
        if claim.start {
            live.state = LiveState::Running;
        }
        leases.push(Lease {
            project: project.clone(),
            kind,
            inbox_id: row.id,
            agent_id: row.agent_id.clone(),
            turn_id: row.turn_id,
            epoch,
            trace_id: live.trace_id.clone(),
            turn: Some(LeasedTurn::of(live, &turn_row, secret, claim.start)),
        });
        let token_hash = Some(Hash256::of(&secret));
        let own = InboxItem { token_hash, ..claim.taken(&turn_row, InboxStatus::Processing, now) };
        let Some(waits) = row_of(&mut commit.writes[at]) else { continue };
        if kind == LeaseKind::Turn {
            *waits = own;
            continue;
        }
        *waits = claim.taken(&row, claim.report_status(), now);
        commit.writes.push(Write::UpdateInbox { from: turn_row.status, item: Box::new(own) });
    }
    leases
}

/// Where the heads of turns are written that wait to be claimed.
fn heads(commit: &Commit) -> HashMap<TurnId, usize> {
    let mut heads = HashMap::new();
    for (at, write) in commit.writes.iter().enumerate() {
        let (Write::CreateHead(head) | Write::MoveHead { to: head, .. }) = write else { continue };
        let Some(live) = head.live.as_deref() else { continue };
        if matches!(live.state, LiveState::Dispatched | LiveState::Suspended { waiting: 0, .. }) {
            heads.insert(live.turn_id, at);
        }
    }
    heads
}

/// A row that waits to be claimed for the first time, and what for.
fn claimable(write: &Write) -> Option<(LeaseKind, &InboxItem)> {
    let (Write::Enqueue(item) | Write::UpdateInbox { from: InboxStatus::Queued, item }) = write else {
        return None;
    };
    let kind = match item.kind {
        InboxKind::Turn => LeaseKind::Turn,
        InboxKind::ToolResult | InboxKind::Timeout => LeaseKind::Resume,
        InboxKind::Stop => return None,
    };
    (item.status == InboxStatus::Pending).then_some((kind, item))
}

fn row_of(write: &mut Write) -> Option<&mut InboxItem> {
    let (Write::Enqueue(item) | Write::UpdateInbox { item, .. }) = write else { return None };
    Some(item)
}

fn head_of(write: &mut Write) -> Option<&mut Head> {
    let (Write::CreateHead(head) | Write::MoveHead { to: head, .. }) = write else { return None };
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Decision,
        fixtures::{agent::TestAgent, project},
        turn::{
            Command, Fence,
            dispatch::{self, Dispatched},
            release::Release,
            report::AfterExecution,
        },
    };
    use cardwire_model::{Status, card::ToolStatus};

    fn waiting(start: bool) -> Waiting {
        Waiting { claim: Claim { worker_id: "w1".to_owned(), start }, secret: [7; 32] }
    }

    fn dispatched(agent: &TestAgent) -> Decision<Dispatched> {
        let command = agent.dispatch_command();
        dispatch::decide(&agent.for_dispatch(&command), &project(), &command, &agent.moment).unwrap()
    }

    /// DP-15: it comes to the same as a claim right after the commit.
    #[test]
    fn a_turn_claimed_by_its_dispatch_is_as_one_claimed_after_it() {
        for start in [true, false] {
            let (mut one, mut other) = (TestAgent::new(), TestAgent::new());
            let decision = dispatched(&one);
            other.apply(decision.commit.clone());
            let after = other.claim(start);
            let mut commit = decision.commit;
            let leases = at_once(&mut commit, &mut |_| Some(waiting(start)));
            one.apply(commit);
            assert_eq!(leases, after.leases);
            assert_eq!((&one.head, &one.inbox), (&other.head, &other.inbox));
        }
    }

    /// DP-16: an answer that lets a turn go on comes to the same as a claim right after it.
    #[test]
    fn a_turn_claimed_by_the_answer_it_waits_for_is_as_one_claimed_after_it() {
        for start in [true, false] {
            let suspended = || {
                let (mut agent, fence) = TestAgent::running();
                for call in ["c1", "c2"] {
                    agent.run(&agent.tool_call(&fence, call)).unwrap();
                }
                agent.run(&TestAgent::suspend(&fence, &["c1", "c2"])).unwrap();
                let answer = |id| TestAgent::report(&fence, id, ToolStatus::Success, AfterExecution::Suspend);
                let mut first = agent.decide(&answer("c1")).unwrap().commit;
                let offered = at_once(&mut first, &mut |row| panic!("{row:?} was offered"));
                assert!(offered.is_empty(), "another answer is waited for");
                agent.apply(first);
                let last = agent.decide(&answer("c2")).unwrap().commit;
                (agent, last)
            };
            let ((mut one, mut commit), (mut other, same)) = (suspended(), suspended());
            other.apply(same);
            let after = other.claim(start);
            let leases = at_once(&mut commit, &mut |_| Some(waiting(start)));
            assert_eq!(leases.iter().map(|lease| lease.kind).collect::<Vec<_>>(), [LeaseKind::Resume]);
            one.apply(commit);
            let unnamed = |leases: &[Lease]| -> Vec<Lease> {
                let inbox_id = after.leases[0].inbox_id;
                leases.iter().map(|lease| Lease { inbox_id, ..lease.clone() }).collect()
            };
            assert_eq!(unnamed(&leases), after.leases);
            assert_eq!(one.head, other.head);
            let rows = |agent: &TestAgent| -> Vec<_> {
                let row = |row: &InboxItem| (row.kind, row.status, row.worker_id.clone(), row.token_hash);
                agent.inbox.iter().map(row).collect()
            };
            assert_eq!(rows(&one), rows(&other));
        }
    }

    /// Nobody is offered what waits behind a turn, what was given back, or anything of another kind.
    #[test]
    fn only_turns_that_are_leased_for_the_first_time_are_offered() {
        let (mut agent, fence) = TestAgent::running();
        let mut refuse = |row: &InboxItem| -> Option<Waiting> { panic!("{row:?} was offered") };
        let mut commit = dispatched(&agent).commit;
        assert!(at_once(&mut commit, &mut refuse).is_empty());
        agent.apply(commit);
        let release = Release { fence: fence.clone(), defer_seconds: None, reason: None, keep_calls: false };
        let mut commit = agent.decide(&Command::Release(release)).unwrap().commit;
        assert!(at_once(&mut commit, &mut refuse).is_empty());
        let mut commit = agent.decide(&Command::Heartbeat(fence)).unwrap().commit;
        assert!(at_once(&mut commit, &mut refuse).is_empty());
    }

    /// NF-10: the end of a turn leases the one behind it; whom nobody wants stays as it is.
    #[test]
    fn the_turn_behind_one_that_ends_is_offered() {
        let (mut agent, fence) = TestAgent::running();
        let next = agent.dispatch().turn_id;
        let commit = agent.decide(&TestAgent::finish(&fence)).unwrap().commit;
        let mut unwanted = commit.clone();
        assert!(at_once(&mut unwanted, &mut |_| None).is_empty());
        assert_eq!(unwanted, commit);
        let mut commit = commit;
        let leases = at_once(&mut commit, &mut |row| (row.turn_id == next).then(|| waiting(true)));
        agent.apply(commit);
        let head = agent.head.as_ref().unwrap();
        assert_eq!((leases[0].turn_id, leases[0].epoch), (next, head.epoch));
        assert_eq!(
            (head.status(), agent.row(next).unwrap().status),
            (Status::Running, InboxStatus::Processing)
        );
        let held = Fence { turn_id: next, epoch: leases[0].epoch, ..fence };
        agent.run(&TestAgent::finish(&held)).unwrap();
    }
}
