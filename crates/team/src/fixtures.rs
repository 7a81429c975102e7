//! Teams and answers for the tests of processes.

use crate::{Act, Outcome, Round, Status, Task, Team, next};
use serde_json::{Value, json};

/// What is asked in every test.
pub(crate) const QUERY: &str = "Write about tides.";

/// The document of a team of agents that have these ids.
pub(crate) fn document(process: &str, ids: &[&str]) -> Value {
    let agent = |id: &&str| {
        let profile = json!({ "system_prompt": format!("You are {id}.") });
        json!({ "id": id, "description": format!("Does what {id} does."), "profile": profile })
    };
    json!({ "name": "crew", "process": process, "agents": ids.iter().map(agent).collect::<Vec<_>>() })
}

/// A team of agents that have these ids.
pub(crate) fn team(process: &str, ids: &[&str]) -> Team {
    Team::parse(&document(process, ids)).unwrap()
}

/// The same; what fails is given again so often.
pub(crate) fn patient(process: &str, ids: &[&str], retries: u32) -> Team {
    let mut team = team(process, ids);
    team.limits.retries = retries;
    team
}

/// A success.
pub(crate) fn good(output: impl Into<Value>) -> Outcome {
    Outcome { status: Status::Success, output: output.into(), error: None, replies: vec![] }
}

/// An end of another kind.
pub(crate) fn bad(status: Status, error: &str) -> Outcome {
    let error = Some(error.to_owned()).filter(|error| !error.is_empty());
    Outcome { status, output: Value::Null, error, replies: vec![] }
}

/// A failure.
pub(crate) fn failed(error: &str) -> Outcome {
    bad(Status::Failed, error)
}

/// A hand-over.
pub(crate) fn hand_over(to: &str, task: &str) -> Outcome {
    good(json!({ "delegate_to": to, "task": task, "message": "Please." }))
}

/// A run that went as far as it was answered.
pub(crate) struct Run {
    /// What was asked, round by round.
    pub(crate) rounds: Vec<Round>,
    /// What comes next.
    pub(crate) act: Act,
}

impl Run {
    /// Answers one round after the other.
    pub(crate) fn of(team: &Team, answers: impl IntoIterator<Item = Vec<Outcome>>) -> Self {
        let mut rounds = Vec::new();
        for outcomes in answers {
            let Act::Round(tasks) = next(team, QUERY, &rounds) else {
                panic!("it ended after {} rounds: {:?}", rounds.len(), next(team, QUERY, &rounds))
            };
            assert_eq!(tasks.len(), outcomes.len(), "{tasks:?}");
            rounds.push(Round { tasks, outcomes });
        }
        let act = next(team, QUERY, &rounds);
        Self { rounds, act }
    }

    /// Answers rounds of one task each.
    pub(crate) fn alone(team: &Team, answers: impl IntoIterator<Item = Outcome>) -> Self {
        Self::of(team, answers.into_iter().map(|outcome| vec![outcome]))
    }

    /// Who was asked, in order; of a plan's tasks with their ids.
    pub(crate) fn called(&self) -> Vec<String> {
        self.rounds.iter().flat_map(|round| &round.tasks).map(name).collect()
    }

    /// Who is asked next.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.tasks().iter().map(name).collect()
    }

    /// What is asked next.
    pub(crate) fn tasks(&self) -> &[Task] {
        match &self.act {
            Act::Round(tasks) => tasks,
            end @ (Act::Finish { .. } | Act::Fail { .. }) => panic!("it ended: {end:?}"),
        }
    }

    /// The input of the one that is asked next.
    pub(crate) fn input(&self) -> &str {
        let [task] = self.tasks() else { panic!("several are asked: {:?}", self.act) };
        &task.input
    }

    /// What it delivered at its end.
    pub(crate) fn output(&self) -> &Value {
        match &self.act {
            Act::Finish { output } => output,
            other @ (Act::Round(_) | Act::Fail { .. }) => panic!("it did not finish: {other:?}"),
        }
    }

    /// Why it failed.
    pub(crate) fn failure(&self) -> (&'static str, &str) {
        match &self.act {
            Act::Fail { code, message } => (code, message),
            other @ (Act::Round(_) | Act::Finish { .. }) => panic!("it did not fail: {other:?}"),
        }
    }
}

fn name(task: &Task) -> String {
    let id = task.task_id.as_ref().map_or_else(String::new, |id| format!("{id}/"));
    format!("{id}{}", task.agent)
}
