//! One member after the other (PR-01). Each is asked the query and sees what came before in the session's memory.

use crate::{
    Role, Task,
    play::{Play, Step},
};
use serde_json::Value;

pub(crate) fn run(play: &mut Play<'_>) -> Step<Value> {
    let mut output = Value::Null;
    for member in &play.team.agents {
        let task = Task::ask(&member.id, Role::Agent, play.query);
        output = play.needed(task)?.output.clone();
    }
    Ok(output)
}

#[cfg(test)]
mod tests;
