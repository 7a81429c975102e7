//! The plan of react: tasks that wait for each other (PR-05).

use crate::answer::{list_of, text_under};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// Most tasks of a plan.
const TASKS: usize = 1_000;

/// A task of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) id: String,
    /// Who has to do it; not necessarily somebody of the team.
    pub(super) agent: String,
    pub(super) description: String,
    /// What must be completed first.
    depends_on: Vec<String>,
    pub(super) state: State,
    /// How often it was tried again.
    pub(super) retries: u32,
}

/// How far a task is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// It was not done yet, or is to be done again.
    Pending,
    /// It was done, with this result.
    Completed(String),
    /// It was not, because of this.
    Failed(String),
}

impl Planned {
    pub(super) fn is_completed(&self) -> bool {
        matches!(self.state, State::Completed(_))
    }

    pub(super) fn has_failed(&self) -> bool {
        matches!(self.state, State::Failed(_))
    }

    /// As an item of a list: its name, and its text with what came of it.
    pub(super) fn shown(&self) -> (String, String) {
        let (word, end) = match &self.state {
            State::Pending => ("pending", String::new()),
            State::Completed(text) => ("completed", format!("\nResult: {text}")),
            State::Failed(error) => ("failed", format!("\nError: {error}")),
        };
        (format!("{} ({}), {word}", self.id, self.agent), format!("{}{end}", self.description))
    }
}

/// The tasks of the planner's answer, or what is wrong with it.
pub(super) fn read(output: &Value) -> Result<Vec<Planned>, String> {
    let list = list_of(output, "tasks").ok_or("the answer has no list of tasks")?;
    match list.len() {
        0 => return Err("the plan has no tasks".to_owned()),
        1..=TASKS => {}
        count => return Err(format!("the plan has {count} tasks, and {TASKS} is the limit")),
    }
    let read = |(index, entry)| planned(format!("t{}", index + 1), entry);
    let tasks: Vec<Planned> = list.iter().enumerate().map(read).collect::<Result<_, _>>()?;
    check_names(&tasks)?;
    check_order(&tasks)?;
    Ok(tasks)
}

/// The first task that waits for nothing any more.
pub(super) fn pick(tasks: &[Planned]) -> Option<usize> {
    let completed: HashSet<&str> =
        tasks.iter().filter(|task| task.is_completed()).map(|task| task.id.as_str()).collect();
    let free = |task: &Planned| task.depends_on.iter().all(|id| completed.contains(id.as_str()));
    tasks.iter().position(|task| task.state == State::Pending && free(task))
}

/// The results that a task depends on, in the order of the plan.
pub(super) fn results_before(tasks: &[Planned], index: usize) -> Vec<(String, String)> {
    let wanted = |task: &&Planned| tasks[index].depends_on.contains(&task.id);
    let result = |task: &Planned| match &task.state {
        State::Completed(text) => Some((format!("{} ({})", task.id, task.agent), text.clone())),
        State::Pending | State::Failed(_) => None,
    };
    tasks.iter().filter(wanted).filter_map(result).collect()
}

fn planned(default_id: String, entry: &Value) -> Result<Planned, String> {
    let entry = entry.as_object().ok_or_else(|| format!("{default_id} is no object"))?;
    let trimmed = |text: String| text.trim().to_owned();
    let id = text_under(entry, &["id"]).map_or(default_id, trimmed);
    let description = text_under(entry, &["description", "task", "input", "instruction"])
        .ok_or_else(|| format!("{id} does not say what is to be done"))?;
    Ok(Planned {
        agent: text_under(entry, &["agent", "agent_id", "assignee"]).map(trimmed).unwrap_or_default(),
        description,
        depends_on: depends_on(entry),
        state: State::Pending,
        retries: 0,
        id,
    })
}

/// A list of ids, or one id.
fn depends_on(entry: &Map<String, Value>) -> Vec<String> {
    let id = |value: &Value| match value {
        Value::String(id) => Some(id.trim().to_owned()).filter(|id| !id.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    match entry.get("depends_on") {
        Some(Value::Array(list)) => list.iter().filter_map(id).collect(),
        Some(one) => id(one).into_iter().collect(),
        None => Vec::new(),
    }
}

fn check_names(tasks: &[Planned]) -> Result<(), String> {
    let mut ids = HashSet::new();
    if let Some(task) = tasks.iter().find(|task| !ids.insert(task.id.as_str())) {
        return Err(format!("two tasks are called {}", task.id));
    }
    for task in tasks {
        if let Some(id) = task.depends_on.iter().find(|id| !ids.contains(id.as_str())) {
            return Err(format!("{} depends on {id}, which is not in the plan", task.id));
        }
    }
    Ok(())
}

/// Whether all tasks can be done one after the other.
fn check_order(tasks: &[Planned]) -> Result<(), String> {
    let mut done: HashSet<&str> = HashSet::new();
    let mut left: Vec<&Planned> = tasks.iter().collect();
    loop {
        let before = left.len();
        left.retain(|task| {
            let waits = !task.depends_on.iter().all(|id| done.contains(id.as_str()));
            if !waits {
                done.insert(&task.id);
            }
            waits
        });
        if left.is_empty() {
            return Ok(());
        }
        if left.len() == before {
            let names: Vec<&str> = left.iter().map(|task| task.id.as_str()).collect();
            return Err(format!("these tasks wait for each other: {}", names.join(", ")));
        }
    }
}

#[cfg(test)]
mod tests;
