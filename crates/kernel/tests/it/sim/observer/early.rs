//! A store with threads of its own applies commits before whoever asked for them is told. So a turn may be claimed and
//! write before the commit that enqueued it is seen here. What is seen too early waits for that commit.

use super::{
    super::world::Current,
    Observer,
    author::{self, Author},
};
use cardwire_model::{Commit, EventKind, InboxKind, TurnId, Write};

#[derive(Debug)]
pub(super) struct Early {
    pub(super) commit: Commit,
    pub(super) current: Current,
}

impl Observer {
    /// Whether the commit is about a turn that nobody has enqueued as far as is known.
    pub(super) fn is_early(&self, commit: &Commit, current: &Current) -> bool {
        turns_of(commit, current).any(|turn| {
            !self.turns.contains_key(&turn)
                && !commit
                    .writes
                    .iter()
                    .any(|write| matches!(write, Write::Enqueue(item) if item.turn_id == turn))
        })
    }

    /// One of those that have waited long enough.
    pub(super) fn next_early(&mut self) -> Option<Early> {
        let place = self.early.iter().position(|early| !self.is_early(&early.commit, &early.current))?;
        Some(self.early.remove(place))
    }

    /// CB-14, NF-04: at the end every turn that was written for is known.
    pub(in super::super) fn invariant_4_nobody_writes_for_unknown_turns(&mut self) {
        if let Some(early) = self.early.first() {
            self.fail(format!("invariant 4: a write for a turn that nobody enqueued: {early:?}"));
        }
    }
}

fn turns_of(commit: &Commit, current: &Current) -> impl Iterator<Item = TurnId> {
    let writer = match author::of(commit) {
        Author::Operation => current.fence.map(|(turn, _)| turn),
        Author::Turn(turn) => Some(turn),
        Author::Kernel => None,
    };
    let updated = commit.writes.iter().filter_map(|write| match write {
        Write::UpdateInbox { item, .. } if item.kind == InboxKind::Turn => Some(item.turn_id),
        _ => None,
    });
    let ended = commit.events.iter().filter(|event| event.kind == EventKind::AgentTask);
    writer.into_iter().chain(updated).chain(ended.filter_map(|event| event.turn_id))
}
