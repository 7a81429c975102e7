//! Telling the event log of work that no worker asks for (F-03): once for each project and target, until a worker asks or
//! nothing waits any more.
//!
//! Which spells were told is known to this process alone: after a restart, and by another server that nobody asks, a
//! spell is told again.

use crate::Kernel;
use cardwire_model::{Head, InboxItem, ProjectId, Timestamp, WorkerTarget, limits};
use cardwire_protocol::{
    Actor,
    unasked::{Asked, Waiting, waits_since},
};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
};

type Key = (ProjectId, WorkerTarget);

/// See above.
#[derive(Default)]
pub(crate) struct UnaskedWork(Mutex<HashMap<Key, Spell>>);

/// A spell that was told.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Spell {
    /// In the round of this moment.
    at: Timestamp,
    /// When a worker had last asked then.
    asked: Asked,
}

impl UnaskedWork {
    fn told(&self) -> MutexGuard<'_, HashMap<Key, Spell>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the spells of targets for which nothing waits, or that a worker has asked for since. A round that was run for
    /// an earlier moment may not see what a later one saw.
    fn end_spells(&self, waiting: &WaitingWork, asked: impl Fn(&Key) -> Asked, now: Timestamp) {
        self.told().retain(|key, spell| {
            let goes_on = waiting.0.contains_key(key) || now < spell.at;
            goes_on && asked(key) == spell.asked
        });
    }

    /// Whether the spell is to be told, which it is once.
    fn begin_spell(&self, key: Key, spell: Spell) -> bool {
        let mut told = self.told();
        if told.len() >= limits::ASKED_TARGETS || told.contains_key(&key) {
            return false;
        }
        told.insert(key, spell);
        true
    }
}

/// What one round of the watchdog has seen waiting, by project and target.
#[derive(Default)]
pub(crate) struct WaitingWork(BTreeMap<Key, Waiting>);

impl WaitingWork {
    /// Notes a row, if it waits for a worker.
    pub(crate) fn note(&mut self, project: &ProjectId, item: &InboxItem, head: Option<&Head>) {
        let Some(since) = waits_since(item, head) else { return };
        let (key, oldest) = ((project.clone(), item.worker_target.clone()), (item.turn_id, since));
        let of_target = self.0.entry(key).or_insert_with(|| Waiting {
            project: project.clone(),
            target: item.worker_target.clone(),
            turns: 0,
            oldest,
        });
        of_target.turns += 1;
        if since < of_target.oldest.1 {
            of_target.oldest = oldest;
        }
    }
}

impl Kernel {
    /// Tells the log of what no worker asks for.
    pub(crate) async fn tell_unasked(&self, waiting: &WaitingWork, now: Timestamp) {
        let asked = |(project, target): &Key| self.target_asked(project, target);
        self.unasked.end_spells(waiting, asked, now);
        for (key, work) in &waiting.0 {
            let asked = asked(key);
            if !work.is_unasked(asked, now)
                || !self.unasked.begin_spell(key.clone(), Spell { at: now, asked })
            {
                continue;
            }
            let caller = crate::Caller { actor: Actor::system("watchdog") };
            let commit = work.event(asked, &self.moment_at(&caller, Some(now)));
            if let Err(error) = self.commit(commit).await {
                self.unasked.told().remove(key);
                tracing::warn!(%error, "could not tell of work that no worker asks for");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: i64) -> Timestamp {
        Timestamp::from_micros(0).plus_seconds(second)
    }

    fn key() -> Key {
        ("p".parse().unwrap(), "w".parse().unwrap())
    }

    fn waiting() -> WaitingWork {
        let (project, target) = key();
        let oldest = (cardwire_model::TurnId::from_uuid(uuid::Uuid::nil()), second(0));
        WaitingWork([(key(), Waiting { project, target, turns: 1, oldest })].into())
    }

    /// F-03: one event per spell, not one per round.
    #[test]
    fn a_spell_is_told_once_until_a_worker_asks_or_nothing_waits() {
        let (work, never) = (UnaskedWork::default(), Asked::NotSince(second(0)));
        let tell = |now, asked| work.begin_spell(key(), Spell { at: second(now), asked });
        assert!(tell(40, never) && !tell(45, never));
        work.end_spells(&waiting(), |_| never, second(45));
        assert!(!tell(50, never), "it goes on");
        work.end_spells(&WaitingWork::default(), |_| never, second(35));
        assert!(!tell(50, never), "a round of an earlier moment sees less");
        work.end_spells(&waiting(), |_| Asked::At(second(50)), second(51));
        assert!(tell(90, Asked::At(second(50))), "a worker has asked in between");
        work.end_spells(&WaitingWork::default(), |_| Asked::At(second(50)), second(95));
        assert!(tell(99, Asked::At(second(50))), "nothing waited in between");
    }
}
