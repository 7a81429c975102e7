//! What a session tells of itself: its messages and the turns that belong to it (EX-01). It fills what nobody has said about
//! the session otherwise.

use super::{Outcome, Record};
use crate::blocks::cut;
use cardwire_model::{TaskStatus, Timestamp};

/// How much of what came out becomes the summary, in characters.
const SUMMARY_CHARS: usize = 500;

/// One turn of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnTold {
    /// Whose.
    pub agent: String,
    /// It only leads a team: others did the work.
    pub leads: bool,
    /// No other turn of the session sent it.
    pub is_root: bool,
    /// When it was sent.
    pub began: Timestamp,
    /// How and when it ended, if it has.
    pub ended: Option<(TaskStatus, Timestamp)>,
    /// What it called, in order.
    pub tools: Vec<String>,
}

/// What a session tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    /// What the session itself calls its goal.
    pub goal: Option<String>,
    /// What was asked first.
    pub asked: Option<String>,
    /// What was said last.
    pub said: Option<String>,
    /// Its turns, oldest first.
    pub turns: Vec<TurnTold>,
}

impl Record {
    /// The record with everything that nobody said taken from what the session tells now.
    pub fn filled(mut self, told: &Told) -> Self {
        for name in std::mem::take(&mut self.derived) {
            self.forget(&name);
        }
        if self.goal.is_empty() {
            let own = told.goal.as_ref().filter(|goal| !goal.trim().is_empty());
            self.goal = own.or(told.asked.as_ref()).cloned().unwrap_or_default();
            self.note_derived("goal", !self.goal.is_empty());
        }
        if self.summary.is_empty() {
            let said = told.said.as_deref().map(|said| cut(said, SUMMARY_CHARS).to_owned());
            self.summary = said.unwrap_or_default();
            self.note_derived("summary", !self.summary.is_empty());
        }
        if self.outcome == Outcome::Pending {
            let roots = told.turns.iter().filter(|turn| turn.is_root);
            let ended = roots.filter_map(|turn| turn.ended).max_by_key(|(_, at)| *at);
            self.outcome = ended.map_or(Outcome::Pending, |(status, _)| outcome(status));
            self.note_derived("outcome", self.outcome != Outcome::Pending);
        }
        if self.agents.is_empty() {
            self.add_agents(told.turns.iter().filter(|turn| !turn.leads).map(|turn| turn.agent.clone()));
            self.note_derived("agents", !self.agents.is_empty());
        }
        if self.tools.is_empty() {
            self.add_tools(told.turns.iter().flat_map(|turn| turn.tools.iter().cloned()));
            self.note_derived("tools", !self.tools.is_empty());
        }
        if self.duration_ms.is_none() {
            let began = told.turns.iter().map(|turn| turn.began).min();
            let ended = told.turns.iter().filter_map(|turn| turn.ended).map(|(_, at)| at).max();
            self.duration_ms = began.zip(ended).map(|(began, ended)| {
                u64::try_from((ended.micros() - began.micros()) / 1_000).unwrap_or_default()
            });
            self.note_derived("duration_ms", self.duration_ms.is_some());
        }
        self
    }

    fn note_derived(&mut self, name: &str, is_known: bool) {
        if is_known {
            self.derived.push(name.to_owned());
        }
    }

    fn forget(&mut self, name: &str) {
        match name {
            "goal" => self.goal.clear(),
            "summary" => self.summary.clear(),
            "outcome" => self.outcome = Outcome::Pending,
            "agents" => self.agents.clear(),
            "tools" => self.tools.clear(),
            "duration_ms" => self.duration_ms = None,
            _ => {}
        }
    }
}

const fn outcome(status: TaskStatus) -> Outcome {
    match status {
        TaskStatus::Success => Outcome::Success,
        TaskStatus::Partial => Outcome::Partial,
        TaskStatus::Failed | TaskStatus::Canceled | TaskStatus::Timeout => Outcome::Failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(agent: &str, began: i64, ended: Option<(TaskStatus, i64)>, tools: &[&str]) -> TurnTold {
        let at = |second: i64| Timestamp::from_micros(second * 1_000_000);
        TurnTold {
            agent: agent.to_owned(),
            leads: false,
            is_root: true,
            began: at(began),
            ended: ended.map(|(status, second)| (status, at(second))),
            tools: tools.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    fn told(turns: Vec<TurnTold>) -> Told {
        let (asked, said) = (Some("sail".to_owned()), Some("It floats.".to_owned()));
        Told { goal: None, asked, said, turns }
    }

    /// EX-01
    #[test]
    fn a_record_is_filled_with_what_the_turns_of_the_session_did() {
        let lead = TurnTold { leads: true, ..turn("team_x", 0, Some((TaskStatus::Success, 9)), &[]) };
        let child = |turn: TurnTold| TurnTold { is_root: false, ..turn };
        let first = child(turn("a", 1, Some((TaskStatus::Failed, 3)), &["look", "find"]));
        let second = child(turn("b", 4, Some((TaskStatus::Success, 8)), &["look"]));
        let again = child(turn("a", 5, Some((TaskStatus::Success, 7)), &[]));
        let record = Record::new("s", "").filled(&told(vec![lead, first, second, again]));
        assert_eq!((record.goal.as_str(), record.summary.as_str()), ("sail", "It floats."));
        assert_eq!((record.outcome, record.duration_ms), (Outcome::Success, Some(9_000)));
        assert_eq!(
            (record.agents, record.tools),
            (vec!["a".into(), "b".into()], vec!["look".into(), "find".into()])
        );
    }

    /// EX-01
    #[test]
    fn the_last_run_that_ended_says_how_it_went() {
        let of = |turns: Vec<TurnTold>| Record::new("s", "").filled(&told(turns)).outcome;
        assert_eq!(of(vec![]), Outcome::Pending);
        assert_eq!(of(vec![turn("a", 1, None, &[])]), Outcome::Pending);
        for (status, outcome) in [
            (TaskStatus::Success, Outcome::Success),
            (TaskStatus::Partial, Outcome::Partial),
            (TaskStatus::Failed, Outcome::Failure),
            (TaskStatus::Canceled, Outcome::Failure),
            (TaskStatus::Timeout, Outcome::Failure),
        ] {
            let earlier = turn("a", 1, Some((TaskStatus::Success, 2)), &[]);
            assert_eq!(
                of(vec![earlier, turn("a", 3, Some((status, 4)), &[]), turn("a", 5, None, &[])]),
                outcome
            );
        }
    }

    /// EX-01
    #[test]
    fn the_goal_is_the_session_s_own_or_what_was_asked_first() {
        let goal = |goal: &str| {
            Record::new("s", "").filled(&Told { goal: Some(goal.to_owned()), ..told(vec![]) }).goal
        };
        assert_eq!((goal("see the world").as_str(), goal(" ").as_str()), ("see the world", "sail"));
    }

    /// EX-01: a session goes on after it was saved.
    #[test]
    fn what_was_told_is_told_anew_and_what_somebody_says_takes_its_place() {
        let first = turn("a", 1, Some((TaskStatus::Success, 3)), &["look"]);
        let saved = Record::new("s", "").filled(&told(vec![first.clone()]));
        let kept = Record::from_value(&saved.to_value()).unwrap();
        assert_eq!(kept, saved);
        let later = told(vec![first, turn("b", 4, Some((TaskStatus::Failed, 9)), &["find"])]);
        let again = kept.clone().filled(&later);
        assert_eq!((again.outcome, again.duration_ms), (Outcome::Failure, Some(8_000)));
        assert_eq!(again.agents, ["a", "b"]);
        let noted = kept.merge(&serde_json::json!({ "agents": ["me"], "outcome": "partial" })).unwrap();
        assert_eq!((noted.agents.clone(), noted.outcome), (vec!["me".to_owned()], Outcome::Partial));
        let noted = noted.filled(&later);
        assert_eq!((noted.agents, noted.outcome), (vec!["me".to_owned()], Outcome::Partial));
        assert!(
            Record::new("s", "").merge(&serde_json::json!({ "derived": [] })).is_err(),
            "it is not for callers"
        );
    }

    /// EX-01
    #[test]
    fn what_somebody_said_stays() {
        let known = Record {
            outcome: Outcome::Partial,
            summary: "Half of it.".to_owned(),
            tools: vec!["hammer".to_owned()],
            agents: vec!["me".to_owned()],
            duration_ms: Some(7),
            ..Record::new("s", "build")
        };
        let turns = vec![turn("a", 1, Some((TaskStatus::Success, 3)), &["look"])];
        assert_eq!(known.clone().filled(&told(turns)), known);
    }
}
