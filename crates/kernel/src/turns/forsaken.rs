//! Leases of claims that have gone away. They are given back with the next claim or the next round of the watchdog, so that
//! somebody else is given their turns; otherwise these would be silent until they are reaped (WD-05).

use super::recover::giving_back;
use crate::{Caller, Kernel, KernelError};
use cardwire_model::{Hash256, Timestamp};
use cardwire_protocol::turn::{Fence, Proof, claim::Lease};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// For how many seconds a turn that the secret of its lease does not open is tried again: whoever went away may have left
/// a commit under way.
const TRIED_FOR: i64 = 2;
/// Seconds between two tries.
const TRIED_EVERY: i64 = 1;

/// See above.
#[derive(Default)]
pub(crate) struct Forsaken(Mutex<VecDeque<Entry>>);

struct Entry {
    lease: Lease,
    /// The first try in vain, and when the next is due.
    tried: Option<(Timestamp, Timestamp)>,
}

impl Forsaken {
    fn entries(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, leases: impl IntoIterator<Item = Lease>) {
        self.entries().extend(leases.into_iter().map(|lease| Entry { lease, tried: None }));
    }

    fn take(self: &Arc<Self>, now: Timestamp) -> Option<Taken> {
        let mut entries = self.entries();
        let is_due = |entry: &Entry| entry.tried.is_none_or(|(_, next)| next <= now);
        let at = entries.iter().position(is_due)?;
        let entry = entries.remove(at);
        drop(entries);
        Some(Taken { entry, forsaken: Arc::clone(self) })
    }

    #[cfg(test)]
    pub(super) fn leases(&self) -> Vec<Lease> {
        self.entries().iter().map(|entry| entry.lease.clone()).collect()
    }
}

/// One that is being given back. Dropped before that has come to an end, it is there again.
struct Taken {
    entry: Option<Entry>,
    forsaken: Arc<Forsaken>,
}

impl Taken {
    fn done(mut self) {
        self.entry = None;
    }

    fn in_vain(mut self, now: Timestamp) {
        let Some(entry) = &mut self.entry else { return };
        let first = entry.tried.map_or(now, |(first, _)| first);
        if now < first.plus_seconds(TRIED_FOR) {
            entry.tried = Some((first, now.plus_seconds(TRIED_EVERY)));
        } else {
            self.done();
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.forsaken.entries().extend(self.entry.take());
    }
}

/// Leases in hand. Whoever drops them without passing them on has gone away.
pub struct Held {
    leases: Vec<Lease>,
    forsaken: Arc<Forsaken>,
}

impl Held {
    pub(super) fn new(leases: Vec<Lease>, forsaken: &Arc<Forsaken>) -> Self {
        Self { leases, forsaken: Arc::clone(forsaken) }
    }

    /// These.
    pub fn leases(&self) -> &[Lease] {
        &self.leases
    }

    pub(super) fn add(&mut self, leases: impl IntoIterator<Item = Lease>) {
        self.leases.extend(leases);
    }

    pub(super) fn remove(&mut self, at: usize) -> Lease {
        self.leases.remove(at)
    }

    /// They are in other hands now.
    pub fn pass_on(mut self) -> Vec<Lease> {
        std::mem::take(&mut self.leases)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.forsaken.add(self.leases.drain(..));
    }
}

impl Kernel {
    /// Holds leases for somebody who may go away before they are passed on.
    pub fn hold(&self, leases: Vec<Lease>) -> Held {
        Held::new(leases, &self.line.forsaken)
    }

    /// Gives back what was claimed for those who have gone away, so that somebody else is given it.
    pub(crate) async fn give_back_forsaken(&self, caller: &Caller) {
        let now = self.now();
        while let Some(taken) = self.line.forsaken.take(now) {
            let Some((project, release)) = taken.entry.as_ref().and_then(|entry| {
                let Lease { project, turn_id, epoch, .. } = &entry.lease;
                let proof = Proof::Lease(secret_of(&entry.lease)?);
                let fence = Fence { turn_id: *turn_id, epoch: *epoch, proof };
                Some((project.clone(), giving_back(fence, "claim_forsaken")))
            }) else {
                // A hint that a turn was stopped: its holder learns it from the fence.
                taken.done();
                continue;
            };
            match self.turn_command(&project, caller, release, None).await {
                Ok(_) => taken.done(),
                // It was not given, or not yet, or is past it.
                Err(KernelError::Rejected(_)) => taken.in_vain(now),
                Err(error) => {
                    tracing::warn!(%error, "a turn was not given back");
                    return;
                }
            }
        }
    }
}

/// What opens the turn of a lease.
pub(super) fn secret_of(lease: &Lease) -> Option<Hash256> {
    lease.turn.as_ref().map(|turn| Hash256::of(&turn.secret))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use cardwire_model::{InboxId, TurnEpoch, TurnId};
    use cardwire_protocol::turn::claim::LeaseKind;

    pub(crate) fn lease(number: u128) -> Lease {
        Lease {
            project: "p".parse().unwrap(),
            kind: LeaseKind::Turn,
            inbox_id: InboxId::from_uuid(uuid::Uuid::from_u128(number)),
            agent_id: "a".parse().unwrap(),
            turn_id: TurnId::from_uuid(uuid::Uuid::from_u128(number)),
            epoch: TurnEpoch::ZERO,
            turn: None,
            trace_id: String::new(),
        }
    }

    fn second(second: i64) -> Timestamp {
        Timestamp::from_micros(0).plus_seconds(second)
    }

    #[test]
    fn who_goes_away_while_it_gives_back_leaves_it_to_the_next() {
        let forsaken = Arc::new(Forsaken::default());
        drop(Held::new(vec![lease(1), lease(2)], &forsaken));
        drop(forsaken.take(second(0)).unwrap());
        assert_eq!(forsaken.leases(), [lease(2), lease(1)]);
        forsaken.take(second(0)).unwrap().done();
        assert_eq!(forsaken.leases(), [lease(1)]);
        assert_eq!(Held::new(vec![lease(3)], &forsaken).pass_on(), [lease(3)]);
        assert_eq!(forsaken.leases(), [lease(1)]);
    }

    #[test]
    fn what_is_not_there_yet_is_tried_again_for_a_while() {
        let forsaken = Arc::new(Forsaken::default());
        forsaken.add([lease(1)]);
        for now in [0, 1] {
            forsaken.take(second(now)).unwrap().in_vain(second(now));
            assert!(forsaken.take(second(now)).is_none(), "not at once");
        }
        forsaken.take(second(2)).unwrap().in_vain(second(2));
        assert_eq!(forsaken.leases(), []);
    }
}
