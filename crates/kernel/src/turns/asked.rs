//! When workers last asked for turns, by target (F-03). Kept in this process alone: a row in the store would be written
//! for every claim, or be as vague as this; what is told says that it is this server's knowledge.

use crate::Kernel;
use cardwire_model::{ProjectId, Timestamp, WorkerTarget, limits};
use cardwire_protocol::unasked::Asked;
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// For which turns workers ask: of all projects, or of one.
type Key = (Option<ProjectId>, WorkerTarget);

/// See above.
#[derive(Default)]
pub(crate) struct AskedTargets(Mutex<HashMap<Key, Requests>>);

/// The claims for one target.
struct Requests {
    /// That are under way.
    waiting: usize,
    /// When the last one began or ended.
    last: Timestamp,
}

impl AskedTargets {
    fn book(&self) -> MutexGuard<'_, HashMap<Key, Requests>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, key: &Key, now: Timestamp) {
        let mut book = self.book();
        if book.len() >= limits::ASKED_TARGETS && !book.contains_key(key) {
            make_room(&mut book);
        }
        let requests = book.entry(key.clone()).or_insert(Requests { waiting: 0, last: now });
        requests.waiting += 1;
        requests.last = requests.last.max(now);
    }

    fn end(&self, key: &Key, now: Timestamp) {
        if let Some(requests) = self.book().get_mut(key) {
            requests.waiting = requests.waiting.saturating_sub(1);
            requests.last = requests.last.max(now);
        }
    }

    /// When a claim was last made that reaches a project; nothing when none was.
    fn last(&self, project: &ProjectId, target: &WorkerTarget) -> Option<Asked> {
        let book = self.book();
        let of = |project: Option<ProjectId>| book.get(&(project, target.clone()));
        let reached: Vec<&Requests> = [of(None), of(Some(project.clone()))].into_iter().flatten().collect();
        if reached.iter().any(|requests| requests.waiting > 0) {
            return Some(Asked::Now);
        }
        reached.iter().map(|requests| requests.last).max().map(Asked::At)
    }
}

/// Forgets the half that was asked for longest ago. Targets are named by workers, so that there may be any number.
fn make_room(book: &mut HashMap<Key, Requests>) {
    let mut times: Vec<Timestamp> = book.values().map(|requests| requests.last).collect();
    times.sort_unstable();
    let middle = times[times.len() / 2];
    book.retain(|_, requests| requests.waiting > 0 || requests.last > middle);
}

/// A claim under way.
pub(super) struct Asking<'a> {
    kernel: &'a Kernel,
    keys: Vec<Key>,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let now = self.kernel.now();
        self.keys.iter().for_each(|key| self.kernel.asked_targets.end(key, now));
    }
}

impl Kernel {
    /// A worker asks for turns, until what this answers is dropped.
    pub(super) fn asks(&self, target: &WorkerTarget, projects: Option<&[ProjectId]>) -> Asking<'_> {
        let key = |project: Option<&ProjectId>| (project.cloned(), target.clone());
        let keys: Vec<Key> = match projects {
            None => vec![key(None)],
            Some(projects) => projects.iter().map(|project| key(Some(project))).collect(),
        };
        let now = self.now();
        keys.iter().for_each(|key| self.asked_targets.begin(key, now));
        Asking { kernel: self, keys }
    }

    /// When a worker last asked this server for turns of a project with this target.
    pub fn target_asked(&self, project: &ProjectId, target: &WorkerTarget) -> Asked {
        let last = self.asked_targets.last(project, target);
        last.unwrap_or(Asked::NotSince(self.started_at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: i64) -> Timestamp {
        Timestamp::from_micros(0).plus_seconds(second)
    }

    fn key(project: Option<&str>, target: &str) -> Key {
        (project.map(|name| name.parse().unwrap()), target.parse().unwrap())
    }

    /// F-03: a claim asks for as long as it waits, and for the projects that it names.
    #[test]
    fn a_claim_asks_for_as_long_as_it_waits() {
        let asked = AskedTargets::default();
        let last = |project: &str| asked.last(&project.parse().unwrap(), &"w".parse().unwrap());
        assert_eq!(last("p"), None);
        let one = key(Some("p"), "w");
        asked.begin(&one, second(1));
        assert_eq!((last("p"), last("q")), (Some(Asked::Now), None));
        asked.end(&one, second(20));
        assert_eq!(last("p"), Some(Asked::At(second(20))));
        let all = key(None, "w");
        asked.begin(&all, second(21));
        assert_eq!((last("p"), last("q")), (Some(Asked::Now), Some(Asked::Now)));
        asked.end(&all, second(19));
        assert_eq!(last("q"), Some(Asked::At(second(21))), "a clock that was set back");
    }

    /// SEC-07
    #[test]
    fn the_targets_that_are_kept_in_mind_are_bounded() {
        let asked = AskedTargets::default();
        let waiting = key(None, "waits");
        asked.begin(&waiting, second(0));
        for number in 0..2 * limits::ASKED_TARGETS as i64 {
            let one = key(None, &format!("t{number}"));
            asked.begin(&one, second(number));
            asked.end(&one, second(number));
            assert!(asked.book().len() <= limits::ASKED_TARGETS);
        }
        assert!(asked.book().contains_key(&waiting), "it is still asked for");
    }
}
