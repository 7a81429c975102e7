//! What a commit leaves of the turns it leases, told without reading it: whoever leased a turn knows its rows, and as long as
//! nobody touches them the next decision can be made on those. Only a help: the commit of such a decision holds only if they
//! still are what it was decided on ([`Command::is_decided_unmoved`]), and nobody is refused before they were read.

pub mod idle;

use super::Command;
use cardwire_model::{
    AgentId, BoxHead, Commit, Head, InboxItem, InboxKind, InboxStatus, Snapshot, Status, Step, TurnId,
    TurnRows, Write,
};
use std::collections::HashMap;

/// The rows of each turn that the commit both puts into an inbox and starts: what a read of the turn finds right after the
/// commit, but for the place in the queue, which the store gives.
pub fn leased(commit: &Commit) -> Vec<Snapshot> {
    let mut heads: HashMap<TurnId, &Head> = HashMap::new();
    for write in &commit.writes {
        if let Write::CreateHead(head) | Write::MoveHead { to: head, .. } = write
            && let Some(live) = head.live.as_deref()
        {
            heads.insert(live.turn_id, head);
        }
    }
    let rows = commit.writes.iter().filter_map(|write| {
        let Write::Enqueue(item) = write else { return None };
        first_held(item, heads.get(&item.turn_id)?)
    });
    rows.collect()
}

/// The rows of a turn that nobody held before, as its row and its agent's head are once it is claimed. Nothing for one that is
/// not started, has something waiting behind it, or did not find its output box empty. That nobody has written to the box
/// since is taken for granted: who decides on it expects it to have the length it had.
pub(super) fn first_held(item: &InboxItem, head: &Head) -> Option<Snapshot> {
    let live = head.live.as_deref()?;
    let is_started = (item.kind, item.status) == (InboxKind::Turn, InboxStatus::Processing)
        && head.status() == Status::Running;
    if !is_started || head.queued > 0 || live.watermark > 0 {
        return None;
    }
    let output = BoxHead::empty(live.output_box, item.created_at);
    Some(Snapshot {
        turn: Some(TurnRows::alone(item.clone())),
        head: Some(head.clone()),
        boxes: HashMap::from([(output.box_id, output)]),
        ..Snapshot::default()
    })
}

/// Agents of whose turns nothing may be recalled any more: their heads move or are marked, their turns write, or something comes
/// to wait. A turn that is only seen to be alive stays as it was.
pub fn outdated(commit: &Commit) -> impl Iterator<Item = &AgentId> {
    let appends = commit.writes.iter().any(|write| matches!(write, Write::AppendCards { .. }));
    commit.writes.iter().filter_map(move |write| {
        if let Write::CreateHead(head) | Write::MoveHead { to: head, .. } = write {
            return Some(&head.agent_id);
        }
        let Write::NudgeHead { guard, nudge } = write else { return None };
        (appends || nudge.is_mark() || nudge.queued != 0).then_some(&guard.agent_id)
    })
}

/// The steps that the commit leaves, each as it is then.
pub fn steps(commit: &Commit) -> impl Iterator<Item = &Step> {
    commit.writes.iter().filter_map(|write| {
        if let Write::CreateStep(step) | Write::UpdateStep(step) = write { Some(step.as_ref()) } else { None }
    })
}

impl Command {
    /// Whether it may be decided on recalled rows: its commit holds only if the turn has not moved, nothing has come to wait
    /// behind it, its output box has the length it had, and what it names as new is. An end that delivers a card which is there
    /// already has to know that card.
    pub const fn is_decided_unmoved(&self) -> bool {
        match self {
            Self::Finish(finish) => finish.deliverable.card_id().is_none(),
            Self::Start(_)
            | Self::Heartbeat(_)
            | Self::Append(_)
            | Self::Step(_)
            | Self::Suspend(_)
            | Self::Report(_)
            | Self::Release(_)
            | Self::Stop(_)
            | Self::Reap(_)
            | Self::TakeBack(_)
            | Self::ExpireTools(..)
            | Self::Requeue(..)
            | Self::Ring(..)
            | Self::Archive(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Decision,
        fixtures::{agent::TestAgent, project},
        turn::{
            self, Fence, Proof,
            claim::{Claim, Waiting, at_once},
            dispatch,
            finish::Deliverable,
            release::Release,
            step::{NewStep, TakeStep},
        },
    };
    use cardwire_model::{Hash256, Write};

    /// A turn that was claimed by its dispatch, and what is recalled of it.
    fn leased_at_once(start: bool) -> (TestAgent, Vec<Snapshot>) {
        let mut agent = TestAgent::new();
        let command = agent.dispatch_command();
        let dispatched = dispatch::decide(&agent.for_dispatch(&command), &project(), &command, &agent.moment);
        let mut commit = dispatched.unwrap().commit;
        let claim = Claim { worker_id: "w1".to_owned(), start };
        at_once(&mut commit, &mut |_| Some(Waiting { claim: claim.clone(), secret: [7; 32] }));
        let recalled = leased(&commit);
        agent.apply(commit);
        (agent, recalled)
    }

    fn fence(agent: &TestAgent) -> Fence {
        Fence { proof: Proof::Lease(Hash256::of(&[7; 32])), ..agent.fence() }
    }

    /// The same by looking for it.
    fn leased_by_looking(start: bool) -> (TestAgent, Vec<Snapshot>) {
        let mut agent = TestAgent::new();
        agent.dispatch();
        let started = agent.claim(start).started;
        (agent, started)
    }

    /// NF-03: what is recalled is what a read would find, so that it comes to the same which of the two a finish is decided on.
    #[test]
    fn a_turn_is_recalled_as_it_would_be_read() {
        is_as_read(&leased_at_once(true));
        is_as_read(&leased_by_looking(true));
    }

    fn is_as_read((agent, recalled): &(TestAgent, Vec<Snapshot>)) {
        let [recalled] = &recalled[..] else { panic!("{recalled:?}") };
        let fence = fence(agent);
        let mut read = agent.for_turn(fence.turn_id);
        // The store gives it.
        read.turn.as_mut().unwrap().item.seq = recalled.turn.as_ref().unwrap().item.seq;
        assert_eq!((&recalled.turn, &recalled.head), (&read.turn, &read.head));
        assert_eq!(recalled.boxes.len(), 1);
        assert!(recalled.boxes.iter().all(|(id, head)| read.boxes.get(id) == Some(head)));
        let finish = TestAgent::finish_with(&fence, Deliverable::Absent);
        assert!(finish.is_decided_unmoved());
        let on = |snapshot| turn::decide(snapshot, &project(), &finish, &agent.moment).unwrap();
        let kinds = |decision: &Decision<_>| -> Vec<_> {
            decision.commit.writes.iter().map(std::mem::discriminant::<Write>).collect()
        };
        assert_eq!(kinds(&on(recalled)), kinds(&on(&read)));
    }

    /// One that nobody has started may be put back and claimed by somebody else without a mark.
    #[test]
    fn only_turns_that_run_are_recalled() {
        assert_eq!(leased_at_once(false).1, []);
        assert_eq!(leased_by_looking(false).1, []);
        let (agent, _) = TestAgent::running();
        let queued = dispatch::decide(
            &agent.for_dispatch(&agent.dispatch_command()),
            &project(),
            &agent.dispatch_command(),
            &agent.moment,
        );
        assert_eq!(leased(&queued.unwrap().commit), []);
    }

    /// Who held it before may have left steps and calls; what waits behind it is led on to by its end; and a box that was not
    /// empty is not known.
    #[test]
    fn only_turns_that_nobody_held_before_and_that_are_alone_are_recalled() {
        let (mut agent, _) = leased_by_looking(true);
        let release = Release { fence: fence(&agent), defer_seconds: None, reason: None, keep_calls: false };
        agent.run(&Command::Release(release)).unwrap();
        let again = agent.claim(true);
        assert_eq!((again.leases.len(), again.started), (1, vec![]));
        let mut agent = TestAgent::new();
        agent.dispatch();
        agent.dispatch();
        let claimed = agent.claim(true);
        assert_eq!((claimed.leases.len(), claimed.started), (1, vec![]));
        let (agent, recalled) = leased_by_looking(true);
        let item = &recalled[0].turn.as_ref().unwrap().item;
        let mut head = agent.head.clone().unwrap();
        assert!(first_held(item, &head).is_some());
        head.live.as_mut().unwrap().watermark = 1;
        assert_eq!(first_held(item, &head), None);
    }

    /// Moves, marks and what comes to wait; a step leaves the turn as it was, and is told.
    #[test]
    fn what_changes_a_turn_makes_what_is_recalled_of_it_outdated() {
        let (agent, _) = leased_at_once(true);
        let fence = fence(&agent);
        let touches = |commit: &Commit| outdated(commit).count();
        let decided = |command: &Command| agent.decide(command).unwrap().commit;
        assert_eq!(touches(&decided(&Command::Heartbeat(fence.clone()))), 0);
        assert_eq!(touches(&decided(&agent.tool_call(&fence, "c1"))), 1);
        assert_eq!(touches(&decided(&agent.append(&fence, "agent.thought", "{}", None))), 1);
        assert_eq!(touches(&decided(&TestAgent::suspend(&fence, &["c1"]))), 1);
        assert_eq!(touches(&decided(&TestAgent::finish(&fence))), 1);
        let command = agent.dispatch_command();
        let behind = dispatch::decide(&agent.for_dispatch(&command), &project(), &command, &agent.moment);
        assert_eq!(touches(&behind.unwrap().commit), 1);
        let step = NewStep { id: Some("step_1".parse().unwrap()), ..TestAgent::new_step() };
        let step = decided(&Command::Step(TakeStep { fence, step, records: vec![] }));
        assert_eq!(touches(&step), 0);
        assert_eq!(steps(&step).map(|step| step.id.as_str()).collect::<Vec<_>>(), ["step_1"]);
    }
}
