//! Many tasks at once, and one result of theirs (PR-06..PR-08).

mod plan;

use crate::{
    Act, Outcome, Role, Task,
    play::{Play, Step},
    prompts::inputs,
    text::text_of,
};
use serde_json::Value;

pub(crate) fn run(play: &mut Play<'_>) -> Step<Value> {
    let team = play.team;
    let Some((reducer, workers)) = team.agents.split_last() else {
        return Err(Act::fail("team_invalid", "the team has nobody to reduce"));
    };
    let input = inputs::map_plan(play.query, workers);
    let plan = play.needed(Task::ask(team.planner_id(), Role::MapPlanner, input))?;
    let tasks = plan::read(&plan.output, workers)?;
    let outcomes = play.retried(tasks.clone())?;
    let input = inputs::reduce(play.query, &results(&tasks, &outcomes)?);
    let result = play.needed(Task::ask(&reducer.id, Role::Reducer, input))?;
    Ok(result.output.clone())
}

/// What every task came to, in the order of the tasks (PR-07).
fn results(tasks: &[Task], outcomes: &[&Outcome]) -> Step<Vec<(String, String)>> {
    let name = |task: &Task| task.task_id.clone().unwrap_or_default();
    let parts = || tasks.iter().zip(outcomes);
    let failed: Vec<String> = parts()
        .filter(|(_, outcome)| !outcome.is_good())
        .map(|(task, outcome)| format!("{}/{}: {}", name(task), task.agent, outcome.reason()))
        .collect();
    if !failed.is_empty() {
        return Err(Act::fail("map_failed", failed.join("; ")));
    }
    if outcomes.iter().all(|outcome| is_nothing(&outcome.output)) {
        return Err(Act::fail("no_results", "no task delivered anything"));
    }
    let result = |(task, outcome): (&Task, &&Outcome)| {
        (format!("{} ({})", name(task), task.agent), text_of(&outcome.output))
    };
    Ok(parts().map(result).collect())
}

fn is_nothing(output: &Value) -> bool {
    output.is_null() || text_of(output).trim().is_empty()
}

#[cfg(test)]
mod tests;
