//! Work that no worker has asked for (F-03): what people are told of it, and when the event log is told.
//!
//! A server knows when workers last asked it for a target, and nothing of other servers: what it says is said of itself.

use crate::Moment;
use cardwire_model::{
    Commit, EventKind, Head, InboxItem, InboxKind, InboxStatus, LiveState, ProjectId, Timestamp, TurnId,
    WorkerTarget, limits,
};
use serde_json::json;

/// When a worker last asked for the turns of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// One is asking.
    Now,
    /// The last one has ended its request then.
    At(Timestamp),
    /// None has since the server started.
    NotSince(Timestamp),
}

impl Asked {
    /// For how many seconds nobody has asked; nothing while somebody does.
    pub fn silence(self, now: Timestamp) -> Option<i64> {
        match self {
            Self::Now => None,
            Self::At(since) | Self::NotSince(since) => {
                Some((now.micros().saturating_sub(since.micros()) / 1_000_000).max(0))
            }
        }
    }

    /// When a worker last asked, as far as that is known.
    pub const fn last(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Now => Some(now),
            Self::At(at) => Some(at),
            Self::NotSince(_) => None,
        }
    }
}

/// A claim that has just ended is followed by the next one: this many seconds of silence are none.
const A_MOMENT: i64 = 2;

/// What people are told; nothing while workers ask.
pub fn told(target: &WorkerTarget, asked: Asked, now: Timestamp) -> Option<String> {
    let seconds = asked.silence(now)?;
    match asked {
        Asked::Now => None,
        Asked::At(_) if seconds < A_MOMENT => None,
        Asked::At(_) => {
            Some(format!("no worker has asked for target {target} for {seconds} s on this server"))
        }
        Asked::NotSince(_) => Some(format!(
            "no worker has asked for target {target} for {seconds} s, since this server started"
        )),
    }
}

/// Since when a row waits for a worker to claim it, if it does. A stop waits for nobody: it is a hint.
pub fn waits_since(item: &InboxItem, head: Option<&Head>) -> Option<Timestamp> {
    let live = head?.live.as_deref().filter(|live| live.turn_id == item.turn_id)?;
    match (item.kind, item.status, live.state) {
        (InboxKind::Turn, InboxStatus::Pending, LiveState::Dispatched) => Some(live.dispatched_at),
        (
            InboxKind::ToolResult | InboxKind::Timeout,
            InboxStatus::Pending,
            LiveState::Suspended { waiting: 0, .. },
        ) => Some(item.created_at),
        (
            InboxKind::Turn | InboxKind::ToolResult | InboxKind::Timeout | InboxKind::Stop,
            InboxStatus::Queued
            | InboxStatus::Pending
            | InboxStatus::Processing
            | InboxStatus::Consumed
            | InboxStatus::Error
            | InboxStatus::Skipped
            | InboxStatus::Deferred,
            LiveState::Dispatched | LiveState::Running | LiveState::Suspended { .. },
        ) => None,
    }
}

/// The work of one project that waits for one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// In which project.
    pub project: ProjectId,
    /// For which workers.
    pub target: WorkerTarget,
    /// How many turns.
    pub turns: usize,
    /// The one that has waited longest, and since when.
    pub oldest: (TurnId, Timestamp),
}

impl Waiting {
    /// Whether the event log is to tell of it: it has waited for a while, and nobody has asked for as long.
    pub fn is_unasked(&self, asked: Asked, now: Timestamp) -> bool {
        let waits = now >= self.oldest.1.plus_seconds(limits::UNASKED_SECONDS);
        waits && asked.silence(now).is_some_and(|seconds| seconds >= limits::UNASKED_SECONDS)
    }

    /// The event that tells of it.
    pub fn event(&self, asked: Asked, moment: &Moment) -> Commit {
        let (turn, since) = self.oldest;
        let message = told(&self.target, asked, moment.now);
        let data = json!({
            "worker_target": self.target.as_str(), "waiting_turns": self.turns, "waiting_since": since.to_string(),
            "last_asked_at": asked.last(moment.now).map(|at| at.to_string()), "message": message,
        });
        let mut event = moment.event(EventKind::WorkerWanted, &self.target, &data);
        event.turn_id = Some(turn);
        let mut commit = Commit::new(self.project.clone());
        commit.events.push(event);
        commit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{agent::TestAgent, moment, project};

    fn second(second: i64) -> Timestamp {
        Timestamp::from_micros(0).plus_seconds(second)
    }

    /// F-03
    #[test]
    fn people_are_told_for_how_long_no_worker_has_asked() {
        let told = |asked: Asked, now: i64| told(&"x".parse().unwrap(), asked, second(now));
        assert_eq!((told(Asked::Now, 9), told(Asked::At(second(8)), 9)), (None, None));
        assert_eq!(
            told(Asked::At(second(10)), 50).unwrap(),
            "no worker has asked for target x for 40 s on this server"
        );
        assert_eq!(
            told(Asked::NotSince(second(0)), 40).unwrap(),
            "no worker has asked for target x for 40 s, since this server started"
        );
        assert_eq!(Asked::At(second(9)).silence(second(3)), Some(0), "a clock that was set back");
    }

    /// F-03: not every pause of the only worker is worth an event.
    #[test]
    fn the_log_is_told_once_both_the_work_and_the_silence_are_old_enough() {
        let waiting = Waiting {
            project: project(),
            target: "x".parse().unwrap(),
            turns: 2,
            oldest: (TurnId::from_uuid(uuid::Uuid::from_u128(1)), second(100)),
        };
        let is_unasked = |asked: Asked, now: i64| waiting.is_unasked(asked, second(now));
        assert!(is_unasked(Asked::NotSince(second(0)), 130) && is_unasked(Asked::At(second(100)), 130));
        assert!(!is_unasked(Asked::NotSince(second(0)), 129), "the work is young");
        assert!(!is_unasked(Asked::At(second(101)), 130) && !is_unasked(Asked::Now, 500));
        let commit = waiting.event(Asked::NotSince(second(0)), &moment());
        assert!(commit.writes.is_empty());
        let event = &commit.events[0];
        let data = event.data.to_value();
        assert_eq!((event.kind, event.target.as_str()), (EventKind::WorkerWanted, "x"));
        assert_eq!((&data["waiting_turns"], &data["last_asked_at"]), (&json!(2), &serde_json::Value::Null));
    }

    /// F-03: what is claimed, or waits behind a turn, waits for no worker.
    #[test]
    fn only_what_can_be_claimed_waits_for_a_worker() {
        let mut agent = TestAgent::new();
        let turn = agent.dispatch().turn_id;
        let behind = agent.dispatch().turn_id;
        let since = |agent: &TestAgent, turn| waits_since(agent.row(turn).unwrap(), agent.head.as_ref());
        assert_eq!(since(&agent, turn), Some(agent.moment.now));
        assert_eq!(since(&agent, behind), None);
        agent.claim(true);
        assert_eq!(since(&agent, turn), None);
    }
}
