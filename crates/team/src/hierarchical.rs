//! A manager assigns tasks, one at a time, until it assigns none (PR-03). Whoever it assigned one to returns to it.

use crate::{
    Act, Outcome, Role, Task,
    hand_over::{HandOver, delegates},
    play::{Play, Step},
    prompts::inputs,
    text::text_of,
};
use serde_json::Value;

pub(crate) fn run(play: &mut Play<'_>) -> Step<Value> {
    let team = play.team;
    let manager = team.agents.first().ok_or_else(|| Act::fail("team_invalid", "the team has no manager"))?;
    let mut results: Vec<(String, String)> = Vec::new();
    // The limit of rounds ends a manager that never has enough.
    loop {
        let input = inputs::manager(play.query, &results);
        let task =
            Task { delegates: delegates(team, manager), ..Task::ask(&manager.id, Role::Manager, input) };
        let outcome = play.needed(task)?;
        let Some(hand_over) = HandOver::read(&outcome.output) else { return Ok(outcome.output.clone()) };
        let member = hand_over.target(team, manager)?;
        let assigned = hand_over.task(play.query);
        let task =
            Task { assigned_task: Some(assigned.clone()), ..Task::ask(&member.id, Role::Agent, assigned) };
        results.push((member.id.clone(), told(play.task(task)?)));
    }
}

/// What the manager is told of a part: its result, or why there is none.
fn told(outcome: &Outcome) -> String {
    if outcome.is_good() { text_of(&outcome.output) } else { format!("failed: {}", outcome.reason()) }
}

#[cfg(test)]
mod tests;
