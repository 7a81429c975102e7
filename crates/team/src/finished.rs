//! What a session's memory is told after a round (ST-12..ST-14).

use crate::{Outcome, Process, Role, Round, Status, Task, Team, hand_over::HandOver};
use serde_json::{Value, json};

/// The end of a member's part.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// Who.
    pub agent: String,
    /// `completed`, `partial`, `failed`, `aborted` or `timeout`.
    pub status: &'static str,
    /// The task it was given: its text if it was assigned one, else the id.
    pub task: Option<String>,
    /// What it delivers. Who hands over delivers nothing yet.
    pub deliverable: Option<Value>,
    /// What went wrong.
    pub error: Option<String>,
    /// Which task of the plan it was.
    pub task_id: Option<String>,
    /// What people said when it asked them (PR-10).
    pub replies: Vec<String>,
}

/// The end of every part of a round, in the order of its tasks.
pub fn finished(team: &Team, round: &Round) -> Vec<Finished> {
    round.tasks.iter().zip(&round.outcomes).map(|(task, outcome)| part(team, task, outcome)).collect()
}

/// What the tasks of a map_reduce plan came to, as items of the session's `mapreduce_results`, in the order of the tasks
/// (PR-06).
pub fn map_results(round: &Round) -> Vec<Value> {
    let parts = round.tasks.iter().zip(&round.outcomes);
    let item = |(task, outcome): (&Task, &Outcome)| {
        let output = if outcome.is_good() { outcome.output.clone() } else { Value::Null };
        json!({
            "task_id": task.task_id,
            "agent_id": task.agent,
            "status": word(outcome.status),
            "input": task.input,
            "output": output,
            "error": error(outcome),
        })
    };
    parts.filter(|(task, _)| task.role == Role::MapWorker).map(item).collect()
}

fn part(team: &Team, task: &Task, outcome: &Outcome) -> Finished {
    let delivers = outcome.is_good() && !outcome.output.is_null() && !hands_over(team, task, outcome);
    Finished {
        agent: task.agent.clone(),
        status: word(outcome.status),
        task: task.assigned_task.clone().or_else(|| task.task_id.clone()),
        deliverable: delivers.then(|| outcome.output.clone()),
        error: error(outcome),
        task_id: task.task_id.clone(),
        replies: outcome.replies.clone(),
    }
}

/// A hand-over is one only where the process reads it as one.
fn hands_over(team: &Team, task: &Task, outcome: &Outcome) -> bool {
    let may = team.process == Process::Dynamic || task.role == Role::Manager;
    may && HandOver::read(&outcome.output).is_some()
}

fn error(outcome: &Outcome) -> Option<String> {
    if outcome.is_good() { outcome.error.clone() } else { Some(outcome.reason().to_owned()) }
}

const fn word(status: Status) -> &'static str {
    match status {
        Status::Success => "completed",
        Status::Partial => "partial",
        Status::Failed => "failed",
        Status::Canceled => "aborted",
        Status::Timeout => "timeout",
    }
}

#[cfg(test)]
mod tests;
