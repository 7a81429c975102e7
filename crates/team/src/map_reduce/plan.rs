//! The plan of map_reduce: which worker does what (PR-08).

use crate::{
    Act, Member, Role, Task,
    answer::{list_of, text_under},
    play::Step,
};
use cardwire_model::limits::FORK_TASKS;
use serde_json::{Map, Value};

/// The tasks t1…tn of the planner's answer.
pub(super) fn read(output: &Value, workers: &[Member]) -> Step<Vec<Task>> {
    let invalid = |message: String| Act::fail("plan_invalid", message);
    let Some(list) = list_of(output, "tasks") else {
        return Err(invalid("the planner's answer has no list of tasks".to_owned()));
    };
    if list.is_empty() {
        return Err(Act::fail("plan_no_tasks", "the plan has no tasks"));
    }
    if list.len() > FORK_TASKS {
        return Err(invalid(format!("the plan has {} tasks, and {FORK_TASKS} is the limit", list.len())));
    }
    let mut tasks = Vec::with_capacity(list.len());
    for (index, entry) in list.iter().enumerate() {
        let id = format!("t{}", index + 1);
        let entry = entry.as_object().ok_or_else(|| invalid(format!("{id} is no object")))?;
        tasks.push(task(id, entry, workers)?);
    }
    Ok(tasks)
}

/// A worker's input is the task's own, as it is (PR-06).
fn task(id: String, entry: &Map<String, Value>, workers: &[Member]) -> Step<Task> {
    let agent = text_under(entry, &["agent_id", "agent", "assignee", "worker"]).unwrap_or_default();
    let Some(worker) = workers.iter().find(|worker| worker.id == agent.trim()) else {
        let known: Vec<&str> = workers.iter().map(|worker| worker.id.as_str()).collect();
        let message = format!("{id}: {agent:?} is no worker; the workers are {}", known.join(", "));
        return Err(Act::fail("plan_unknown_agent", message));
    };
    let Some(input) = text_under(entry, &["input", "task", "description", "instruction"]) else {
        return Err(Act::fail("plan_empty_input", format!("{id}: the task of {} is empty", worker.id)));
    };
    Ok(Task { task_id: Some(id), ..Task::ask(&worker.id, Role::MapWorker, input) })
}
