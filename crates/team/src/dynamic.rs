//! Members hand over to each other until one does not (PR-02).

use crate::{
    Act, Role, Task,
    hand_over::{HandOver, delegates},
    play::{Play, Step},
};
use serde_json::Value;

pub(crate) fn run(play: &mut Play<'_>) -> Step<Value> {
    let team = play.team;
    let entry = team.entry().ok_or_else(|| Act::fail("team_invalid", "the team has nobody to start with"))?;
    let (mut member, mut input) = (entry, play.query.to_owned());
    // The limit of rounds ends what goes in circles.
    loop {
        let task = Task { delegates: delegates(team, member), ..Task::ask(&member.id, Role::Agent, input) };
        let outcome = play.needed(task)?;
        let Some(hand_over) = HandOver::read(&outcome.output) else { return Ok(outcome.output.clone()) };
        member = hand_over.target(team, member)?;
        input = hand_over.task(play.query);
    }
}

#[cfg(test)]
mod tests;
