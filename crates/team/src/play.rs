//! A run that is gone through again from its beginning: a process is written as if every answer were there, and stops
//! where the transcript does.
//!
//! Invariant: a process learns of outcomes here only, so that its decisions depend on the transcript alone.

use crate::{Act, Outcome, Round, Status, Task, Team};

/// Something of a run, or what the run comes to instead: the round that has not been made yet, or a failure.
pub(crate) type Step<T> = Result<T, Act>;

/// A run and how far it was gone through.
pub(crate) struct Play<'a> {
    /// Who runs.
    pub(crate) team: &'a Team,
    /// What was asked.
    pub(crate) query: &'a str,
    rounds: &'a [Round],
    made: usize,
}

impl<'a> Play<'a> {
    /// A run at its beginning.
    pub(crate) fn new(team: &'a Team, query: &'a str, rounds: &'a [Round]) -> Self {
        Self { team, query, rounds, made: 0 }
    }

    /// What came of a round, in the order of these tasks.
    pub(crate) fn round(&mut self, tasks: Vec<Task>) -> Step<Vec<&'a Outcome>> {
        let limit = self.team.limits.max_rounds;
        if self.made >= limit as usize {
            let message = format!("the run is not at its end after {limit} rounds");
            return Err(Act::fail("max_rounds", message));
        }
        let Some(round) = self.rounds.get(self.made) else { return Err(Act::Round(tasks)) };
        self.made += 1;
        tasks.iter().map(|task| self.outcome(round, task)).collect()
    }

    /// The same; a task that failed is given again as often as the team's limits say (PR-11). Nothing is when somebody
    /// called a task off.
    pub(crate) fn retried(&mut self, tasks: Vec<Task>) -> Step<Vec<&'a Outcome>> {
        let mut outcomes = self.round(tasks.clone())?;
        for _ in 0..self.team.limits.retries {
            let failed = |index: &usize| !outcomes[*index].is_good();
            let again: Vec<usize> = (0..tasks.len()).filter(failed).collect();
            if again.is_empty() || outcomes.iter().any(|outcome| outcome.status == Status::Canceled) {
                break;
            }
            let answers = self.round(again.iter().map(|index| tasks[*index].clone()).collect())?;
            for (index, outcome) in again.into_iter().zip(answers) {
                outcomes[index] = outcome;
            }
        }
        Ok(outcomes)
    }

    /// What came of one task that is given once.
    pub(crate) fn once(&mut self, task: Task) -> Step<&'a Outcome> {
        let outcomes = self.round(vec![task])?;
        self.only(&outcomes)
    }

    /// What came of one task, given again if it failed.
    pub(crate) fn task(&mut self, task: Task) -> Step<&'a Outcome> {
        let outcomes = self.retried(vec![task])?;
        self.only(&outcomes)
    }

    /// The same, where a failure is the end of the run.
    pub(crate) fn needed(&mut self, task: Task) -> Step<&'a Outcome> {
        let agent = task.agent.clone();
        let outcome = self.task(task)?;
        if outcome.is_good() { Ok(outcome) } else { Err(agent_failed(&agent, outcome)) }
    }

    fn only(&self, outcomes: &[&'a Outcome]) -> Step<&'a Outcome> {
        outcomes.first().copied().ok_or_else(|| self.foreign("has no answer"))
    }

    /// Tasks are found by what they are, not by their place.
    fn outcome(&self, round: &'a Round, task: &Task) -> Step<&'a Outcome> {
        let same =
            |made: &Task| (&made.agent, made.role, &made.task_id) == (&task.agent, task.role, &task.task_id);
        let place = round.tasks.iter().position(same);
        place.and_then(|place| round.outcomes.get(place)).ok_or_else(|| {
            let id = task.task_id.as_deref().map_or_else(String::new, |id| format!("{id}/"));
            self.foreign(&format!("has no answer of {id}{}", task.agent))
        })
    }

    /// The transcript belongs to another team, or to this one before it was changed.
    fn foreign(&self, what: &str) -> Act {
        let message =
            format!("round {} of the transcript {what}; was the team changed meanwhile?", self.made);
        Act::fail("transcript_invalid", message)
    }
}

/// The end of a run because of one agent.
pub(crate) fn agent_failed(agent: &str, outcome: &Outcome) -> Act {
    Act::fail("agent_failed", format!("{agent}: {}", outcome.reason()))
}
