//! What members and helpers are asked. Snapshots in the tests show each.

use crate::{
    Member,
    text::{item, list},
};

/// Stands before the text of a task, wherever one is written or looked for (W-17).
pub const TASK_TAG: &str = "# Task";

/// What the manager is asked: the query, and what its team came to so far (PR-03).
pub(crate) fn manager(query: &str, results: &[(String, String)]) -> String {
    if results.is_empty() {
        return query.to_owned();
    }
    let results = list(results.iter().map(|(agent, text)| (agent.clone(), text.as_str())));
    format!("{query}\n\nResults of your team so far:\n{results}")
}

/// What a member is asked in react: the goal, its task, and the results of the tasks that it depends on (PR-05).
pub(crate) fn react_task(goal: &str, id: &str, task: &str, before: &[(String, String)]) -> String {
    let mut input = format!("Goal:\n{goal}\n\n{TASK_TAG} {id}\n{task}");
    if !before.is_empty() {
        let results = list(before.iter().map(|(name, text)| (name.clone(), text.as_str())));
        input.push_str(&format!("\n\nResults of the tasks before it:\n{results}"));
    }
    input
}

/// What came of a plan that has to be replaced.
pub(crate) struct Replaced<'a> {
    /// Why it has to be.
    pub(crate) why: &'a str,
    /// Its tasks; none if it could not be read.
    pub(crate) tasks: &'a str,
}

/// What the planner of react is asked (PR-05).
pub(crate) fn plan(goal: &str, members: &[Member], replaced: Option<&Replaced<'_>>) -> String {
    let mut input = format!("Goal:\n{goal}\n\nAgents:\n{}", described(members));
    if let Some(Replaced { why, tasks }) = replaced {
        input.push_str(&format!("\n\nYour last plan has to be replaced: {why}"));
        if !tasks.is_empty() {
            input.push_str(&format!("\n\nWhat came of its tasks:\n{tasks}"));
        }
    }
    input.push_str("\n\nAnswer with the plan, as JSON.");
    input
}

/// What the reflector is asked (PR-05). `unread` says why its last answer could not be read.
pub(crate) fn reflection(goal: &str, tasks: &str, state: &str, unread: Option<&str>) -> String {
    let mut input = format!("Goal:\n{goal}\n\nTasks:\n{tasks}\n\n{state}");
    if let Some(unread) = unread {
        input.push_str(&format!("\n\nYour last answer could not be read: {unread}."));
    }
    input.push_str("\n\nAnswer with the next action, as JSON.");
    input
}

/// What the planner of map_reduce is asked (PR-07).
pub(crate) fn map_plan(goal: &str, workers: &[Member]) -> String {
    format!("Goal:\n{goal}\n\nWorkers:\n{}\n\nAnswer with the tasks, as JSON.", described(workers))
}

/// What the reducer is asked: the goal, and every result in the order of the tasks (PR-07).
pub(crate) fn reduce(goal: &str, results: &[(String, String)]) -> String {
    let results = list(results.iter().map(|(name, text)| (name.clone(), text.as_str())));
    format!("Goal:\n{goal}\n\nResults:\n{results}")
}

fn described(members: &[Member]) -> String {
    let line = |member: &Member| match &member.description {
        Some(description) => item(&member.id, description),
        None => format!("- {}", member.id),
    };
    members.iter().map(line).collect::<Vec<_>>().join("\n")
}
