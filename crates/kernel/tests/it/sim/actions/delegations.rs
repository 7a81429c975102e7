//! Work that is handed on: calls of the PMO by turns and by operators, and batches that are called off.

use super::{current_of, did, fail, free, lease_proof, nothing, recent};
use crate::sim::{
    driver::Operation,
    world::{Held, World, caller},
};
use cardwire_kernel::{
    Done, KernelError,
    protocol::{
        Rejection,
        pmo::calls::{Answered, Call, RunOptions},
        turn::Proof,
    },
};
use cardwire_model::{AgentId, Channel, InheritMode, PmoSettings, ProjectId, TurnId};
use serde_json::{Map, Value, json};
use std::rc::Rc;

/// How deep turns may delegate here: deep enough for batches of batches, and the run comes to an end.
const DEPTH: u32 = 4;
/// Most branches of a fork.
const BRANCHES: usize = 5;

/// What a call would start, by name.
fn verb(call: &Call) -> &'static str {
    if call.tool == "fork_join" { "fork" } else { "delegate" }
}

fn any_call(world: &World, project: &ProjectId, caller: &AgentId, held: Option<&Held>) -> Call {
    let (tool, args) =
        if world.shared.chance(350) { delegation(world, project) } else { fork(world, project) };
    Call {
        tool: tool.to_owned(),
        caller: caller.clone(),
        by_turn: held.map(|held| held.lease.turn_id),
        at_turn: None,
        epoch: None,
        proof: held.map_or(Proof::Operator, lease_proof),
        channel: Channel::public(),
        trace_id: "trace".to_owned(),
        is_traced: true,
        names_channel: true,
        args,
        max_depth: DEPTH,
        acl: InheritMode::Enforce,
        pmo: PmoSettings::default(),
        require_policy: false,
        carries_out: None,
        run: RunOptions::default(),
    }
}

fn delegation(world: &World, project: &ProjectId) -> (&'static str, Map<String, Value>) {
    ("delegate_async", task(&target(world, project)))
}

fn task((strategy, name): &(&str, String)) -> Map<String, Value> {
    let mut task = Map::new();
    task.insert("target_strategy".to_owned(), (*strategy).into());
    task.insert("target_ref".to_owned(), name.as_str().into());
    task.insert("instruction".to_owned(), "go on".into());
    task
}

/// A new agent, or one that is there: then the work waits behind what that one does.
fn target(world: &World, project: &ProjectId) -> (&'static str, String) {
    let strategy = match world.shared.below(10) {
        0..5 => return ("new", "worker".to_owned()),
        5..9 => "reuse",
        _ => "clone",
    };
    (strategy, any_agent(world, project).to_string())
}

/// An agent of the roster, now and then one that was spawned.
fn any_agent(world: &World, project: &ProjectId) -> AgentId {
    let spawned = world.spawned.borrow();
    let of_project: Vec<&AgentId> =
        spawned.iter().rev().filter(|(place, _)| place == project).take(10).map(|(_, id)| id).collect();
    if !of_project.is_empty() && world.shared.chance(250) {
        return of_project[world.shared.below(of_project.len())].clone();
    }
    let places = world.places.borrow();
    let place = places.iter().find(|place| place.project == *project).expect("a project of this world");
    place.agents[world.shared.below(place.agents.len())].clone()
}

fn fork(world: &World, project: &ProjectId) -> (&'static str, Map<String, Value>) {
    let shared = &world.shared;
    let count = 1 + shared.below(BRANCHES);
    let mut targets: Vec<(&str, String)> = vec![];
    for _ in 0..count {
        let target = target(world, project);
        let taken = target.0 == "reuse" && targets.contains(&target);
        targets.push(if taken { ("new", "worker".to_owned()) } else { target });
    }
    let mut args = Map::new();
    args.insert("tasks".to_owned(), targets.iter().map(task).map(Value::Object).collect());
    if shared.chance(250) {
        args.insert("fail_fast".to_owned(), true.into());
    }
    match shared.below(10) {
        0 => drop(args.insert("aggregation".to_owned(), "any".into())),
        1 => {
            let quorum = json!({ "quorum": 1 + shared.below(count) });
            args.insert("aggregation".to_owned(), quorum);
        }
        _ => {}
    }
    if shared.chance(350) {
        args.insert("max_parallel".to_owned(), (1 + shared.below(3)).into());
    }
    if shared.chance(350) {
        args.insert("deadline_seconds".to_owned(), (1 + shared.below(60)).into());
    }
    ("fork_join", args)
}

async fn send(
    world: &World,
    project: &ProjectId,
    call: &Call,
    by: Option<TurnId>,
) -> Result<Answered, KernelError> {
    let done = world.kernel().pmo_call(project, &caller(), call, |_| "refused", None).await?;
    let Done::Fresh(answered) = done else { panic!("a replay that nobody asked for") };
    if answered.is_success {
        did(world, verb(call));
        if let Some(turn) = by {
            world.parents.borrow_mut().push((project.clone(), turn));
        }
        match answered.batch {
            Some(batch) => world.batches.borrow_mut().push((project.clone(), batch)),
            None => note_delegated(world, project, &answered.result),
        }
    }
    Ok(answered)
}

/// Who got the work, and in which turn.
fn note_delegated(world: &World, project: &ProjectId, result: &Value) {
    let text = |name: &str| result[name].as_str().unwrap_or_default();
    let turn: TurnId = text("agent_turn_id").parse().expect("a turn was accepted");
    let agent: AgentId = text("agent_id").parse().expect("by an agent");
    world.accepted.borrow_mut().push((project.clone(), turn));
    world.spawned.borrow_mut().push((project.clone(), agent));
}

/// A worker hands on some of what its turn is to do.
pub(super) fn by_worker(world: &Rc<World>, worker: usize, mut held: Held) -> Operation {
    let (project, turn) = (held.lease.project.clone(), held.lease.turn_id);
    let call = any_call(world, &project, &held.lease.agent_id, Some(&held));
    let current = current_of(&held);
    let world = Rc::clone(world);
    let future = Box::pin(async move {
        match send(&world, &project, &call, Some(turn)).await {
            Ok(answered) => {
                if answered.batch.is_some() {
                    held.forks.push(answered.tool_call_id);
                }
                world.workers.borrow_mut()[worker].push(held);
            }
            Err(KernelError::Store(_) | KernelError::Contended) => {
                world.workers.borrow_mut()[worker].push(held);
            }
            Err(KernelError::Rejected(Rejection::StaleTurn(..) | Rejection::Unauthenticated)) => {
                world.zombies.borrow_mut().push(held);
            }
            Err(error) => fail(&world, format!("{}: {error:?}", verb(&call))),
        }
    });
    Operation { current, future }
}

/// Somebody whose time is over hands work on.
pub(super) fn by_zombie(world: &Rc<World>, held: Held) -> Operation {
    let (project, turn, epoch) = (held.lease.project.clone(), held.lease.turn_id, held.lease.epoch);
    let call = any_call(world, &project, &held.lease.agent_id, Some(&held));
    let current = current_of(&held);
    let world = Rc::clone(world);
    let future = Box::pin(async move {
        let stale = !world.shared.observer.lock().unwrap().is_live(turn, epoch);
        if stale {
            let mut report = world.shared.report.lock().unwrap();
            report.stale_attempts += 1;
            *report.stale_verbs.entry(verb(&call)).or_default() += 1;
        }
        let done = send(&world, &project, &call, Some(turn)).await;
        if stale && world.reference.is_some() && done.is_ok() {
            fail(&world, format!("invariant 3: a stale {} of {turn} was taken: {done:?}", verb(&call)));
        }
    });
    Operation { current, future }
}

/// An operator does it in the name of an agent, mostly of one that is idle.
pub(super) async fn by_operator(world: Rc<World>) {
    let project = {
        let places = world.places.borrow();
        places[world.shared.below(places.len())].project.clone()
    };
    let agent = any_agent(&world, &project);
    let Ok(head) = world.kernel().head(&project, &agent).await else { return };
    let busy = head.is_some_and(|head| head.live.is_some());
    if busy && !world.shared.chance(200) {
        return;
    }
    let call = any_call(&world, &project, &agent, None);
    match send(&world, &project, &call, None).await {
        Ok(_) | Err(KernelError::Store(_) | KernelError::Contended) => {}
        Err(error) => fail(&world, format!("{} by an operator: {error:?}", verb(&call))),
    }
}

/// An operator calls a batch off.
pub(super) fn cancel(world: &Rc<World>) -> Operation {
    let Some((project, batch)) = recent(world, &world.batches.borrow(), 20) else { return nothing(world) };
    let its = Rc::clone(world);
    free(world, async move {
        match its.kernel().cancel_batch(&project, &caller(), batch).await {
            Ok(_) => did(&its, "cancel batch"),
            Err(KernelError::Store(_) | KernelError::Contended) => {}
            Err(error) => fail(&its, format!("cancel batch: {error:?}")),
        }
    })
}
