//! Plan, execute, reflect (PR-05).
//!
//! A plan ends when the reflector says so. It asks for a new one at most [`REPLANS`] times and for a task again at most
//! [`RETRIES`] times, and going on needs a task that is left, so that every run ends.

mod plan;
mod reflection;

use crate::{
    Act, Outcome, Role, Status, Task, Team,
    play::{Play, Step, agent_failed},
    prompts::inputs::{self, Replaced},
    text::{list, text_of},
};
use plan::{Planned, State};
use reflection::{Action, Reflection};
use serde_json::Value;

/// How often a run may have a new plan.
const REPLANS: u32 = 5;
/// How often a task may be tried again.
const RETRIES: u32 = 3;
/// How often the reflector is asked before its answers count as unreadable.
const REFLECTIONS: u32 = 3;

pub(crate) fn run(play: &mut Play<'_>) -> Step<Value> {
    let mut delivered = None;
    let mut replaced: Option<(String, String)> = None;
    let mut replans = 0;
    loop {
        let answer = plan(play, replaced.as_ref())?;
        let (ended, tasks, exhausted) = match plan::read(&answer.output) {
            Ok(mut tasks) => {
                let ended = execute(play, &mut tasks, &mut delivered)?;
                (ended, show(&tasks), "replans_exhausted")
            }
            Err(fault) => (Ended::Replan(fault), String::new(), "plan_invalid"),
        };
        match ended {
            Ended::Complete(output) => return complete(output, delivered),
            Ended::Replan(why) if replans == REPLANS => {
                return Err(Act::fail(exhausted, format!("after {REPLANS} new plans: {why}")));
            }
            Ended::Replan(why) => replaced = Some((why, tasks)),
        }
        replans += 1;
    }
}

/// How a plan ended.
enum Ended {
    /// The goal is reached; perhaps the reflector said with what.
    Complete(Option<Value>),
    /// It leads nowhere, for this reason.
    Replan(String),
}

/// A run that is complete delivers what the reflector says, else what the last completed task did. One that has
/// neither did not reach anything.
fn complete(output: Option<Value>, delivered: Option<Value>) -> Step<Value> {
    output.or(delivered).ok_or_else(|| Act::fail("react_failed", "no task was completed"))
}

fn plan<'a>(play: &mut Play<'a>, replaced: Option<&(String, String)>) -> Step<&'a Outcome> {
    let replaced = replaced.map(|(why, tasks)| Replaced { why, tasks });
    let input = inputs::plan(play.query, &play.team.agents, replaced.as_ref());
    let outcome = ask(play, Task::ask(play.team.planner_id(), Role::Planner, input))?;
    if outcome.is_good() { Ok(outcome) } else { Err(agent_failed(&play.team.planner_id(), outcome)) }
}

/// Works on a plan until it ends. `delivered` is what the last completed task delivered.
fn execute(play: &mut Play<'_>, tasks: &mut [Planned], delivered: &mut Option<Value>) -> Step<Ended> {
    loop {
        let failed = work(play, tasks, delivered)?;
        let Reflection { action, reason, output } = reflect(play, tasks, failed)?;
        let reason = reason.unwrap_or_else(|| "no reason was given".to_owned());
        match action {
            Action::Complete => return Ok(Ended::Complete(output)),
            Action::Fail => return Err(Act::fail("react_failed", reason)),
            Action::Replan => return Ok(Ended::Replan(reason)),
            Action::Retry => {
                let last = failed.or_else(|| tasks.iter().rposition(Planned::has_failed));
                if let Some(task) = last.and_then(|index| tasks.get_mut(index)) {
                    try_again(task)?;
                }
            }
            Action::Continue => {}
        }
        if plan::pick(tasks).is_none() {
            return Ok(Ended::Complete(None));
        }
    }
}

/// Does one task after the other until one fails or none is left that can be done. Gives the one that failed.
fn work(play: &mut Play<'_>, tasks: &mut [Planned], delivered: &mut Option<Value>) -> Step<Option<usize>> {
    while let Some(index) = plan::pick(tasks) {
        let state = match member_task(play.team, play.query, tasks, index) {
            Err(error) => State::Failed(error),
            Ok(task) => {
                let outcome = ask(play, task)?;
                if outcome.is_good() {
                    *delivered = Some(outcome.output.clone());
                    State::Completed(text_of(&outcome.output))
                } else {
                    State::Failed(outcome.reason().to_owned())
                }
            }
        };
        tasks[index].state = state;
        if tasks[index].has_failed() {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

/// What a member is asked. A task for somebody who is not in the team has failed before it starts.
fn member_task(team: &Team, goal: &str, tasks: &[Planned], index: usize) -> Result<Task, String> {
    let Planned { id, agent, description, .. } = &tasks[index];
    let member = team.member(agent).ok_or_else(|| format!("there is no agent {agent:?} in the team"))?;
    let input = inputs::react_task(goal, id, description, &plan::results_before(tasks, index));
    Ok(Task {
        task_id: Some(id.clone()),
        assigned_task: Some(description.clone()),
        ..Task::ask(&member.id, Role::Agent, input)
    })
}

/// Asks once: in this process the reflector decides about another try. Whoever calls off a part calls off the run.
fn ask<'a>(play: &mut Play<'a>, task: Task) -> Step<&'a Outcome> {
    let agent = task.agent.clone();
    let outcome = play.once(task)?;
    if outcome.status == Status::Canceled {
        return Err(Act::fail("aborted", format!("{agent}: {}", outcome.reason())));
    }
    Ok(outcome)
}

fn try_again(task: &mut Planned) -> Step<()> {
    if task.retries >= RETRIES {
        let message = format!("{}/{} failed {} times", task.id, task.agent, task.retries + 1);
        return Err(Act::fail("retries_exhausted", message));
    }
    task.retries += 1;
    task.state = State::Pending;
    Ok(())
}

fn reflect(play: &mut Play<'_>, tasks: &[Planned], failed: Option<usize>) -> Step<Reflection> {
    let reflector = play.team.reflector_id();
    let (shown, state) = (show(tasks), state(tasks, failed));
    let mut unread: Option<String> = None;
    for _ in 0..REFLECTIONS {
        let input = inputs::reflection(play.query, &shown, &state, unread.as_deref());
        let outcome = ask(play, Task::ask(&reflector, Role::Reflector, input))?;
        if !outcome.is_good() {
            return Err(agent_failed(&reflector, outcome));
        }
        match Reflection::read(&outcome.output) {
            Ok(reflection) => return Ok(reflection),
            Err(fault) => unread = Some(fault),
        }
    }
    Err(Act::fail("reflection_invalid", unread.unwrap_or_default()))
}

/// Why the reflector is asked now.
fn state(tasks: &[Planned], failed: Option<usize>) -> String {
    match failed.and_then(|index| tasks.get(index)) {
        Some(task) => format!("{} has failed.", task.id),
        None if tasks.iter().all(Planned::is_completed) => "All tasks are completed.".to_owned(),
        None => "None of the tasks that are left can be done.".to_owned(),
    }
}

/// The tasks and what came of each.
fn show(tasks: &[Planned]) -> String {
    let lines: Vec<(String, String)> = tasks.iter().map(Planned::shown).collect();
    list(lines.iter().map(|(name, text)| (name.clone(), text.as_str())))
}

#[cfg(test)]
mod tests;
