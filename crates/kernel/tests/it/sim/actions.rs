//! What clients, workers, tools, operators and the world itself do, each as one operation.

mod claims;
mod delegations;

use super::{
    driver::Operation,
    faults::Fault,
    world::{Current, Held, OpenTool, Place, WORKERS, World, caller, target},
};
use cardwire_kernel::{
    Done, KernelError, NewProfile, NewTurnCard,
    protocol::{
        Rejection,
        facts::create_box::Created,
        project::create::CreateProject,
        roster::add_agent::AddAgent,
        turn::{
            Command, Fence, Outcome, Proof,
            append::Append,
            claim::LeaseKind,
            dispatch::{Dispatch, Dispatched},
            finish::{Deliverable, Finish},
            release::Release,
            report::{AfterExecution, Answer, Report},
            step::{NewStep, TakeStep},
            stop::Stop,
            suspend::Suspend,
        },
    },
};
use cardwire_model::{
    CanonicalJson, CardDraft, Channel, Hash256, ProjectSettings, TaskStatus, TurnId, card::ToolStatus, limits,
};
use std::rc::Rc;

fn json(text: &str) -> CanonicalJson {
    CanonicalJson::parse(text, "json").unwrap()
}

fn draft(kind: &str, content: &str, tool_call_id: Option<&str>) -> CardDraft {
    CardDraft {
        content: json(content),
        metadata: json(&format!(r#"{{"type":"{kind}"}}"#)),
        tool_calls: None,
        tool_call_id: tool_call_id.map(str::to_owned),
        ttl_seconds: None,
    }
}

/// Projects, agents, a context. Nothing goes wrong yet.
pub(super) async fn set_up(world: Rc<World>, projects: usize, agents: usize) {
    let kernel = world.kernel();
    for n in 0..projects {
        let project: cardwire_model::ProjectId = format!("p{n}").parse().unwrap();
        let command =
            CreateProject { id: project.clone(), title: None, settings: ProjectSettings::default() };
        kernel.create_project(&caller(), &command, None).await.unwrap();
        let profile = NewProfile {
            name: "worker".parse().unwrap(),
            worker_target: target(),
            tags: vec![],
            draft: draft("sys.profile", r#"{"system_prompt":"x"}"#, None),
        };
        let put = kernel.put_profile(&project, &caller(), profile).await.unwrap();
        let mut names = vec![];
        for m in 0..agents {
            let id: cardwire_model::AgentId = format!("a{m}").parse().unwrap();
            let command = AddAgent {
                id: id.clone(),
                profile_name: "worker".parse().unwrap(),
                display_name: None,
                tags: None,
                metadata: json("{}"),
                refresh: false,
                trace_id: None,
            };
            kernel.add_agent(&project, &caller(), &command, None).await.unwrap();
            names.push(id);
        }
        let created = kernel.create_box(&project, &caller(), None, &[], None).await.unwrap();
        let Done::Fresh(Created::New(head)) = created else { panic!("no box") };
        world.places.borrow_mut().push(Place {
            project,
            agents: names,
            profile_box: put.profile.profile_box,
            context_box: head.box_id,
        });
    }
}

/// Turns that may be open before clients wait.
const BACKLOG: usize = 40;

/// A random operation.
pub(super) fn any(world: &Rc<World>) -> Operation {
    for paused in world.paused.borrow_mut().iter_mut() {
        *paused = paused.saturating_sub(1);
    }
    match world.shared.below(100) {
        // Enough to keep inboxes busy; more would only be drained at the end.
        0..10 if has_room(world) => free(world, dispatch(Rc::clone(world))),
        10..12 if has_room(world) => free(world, delegations::by_operator(Rc::clone(world))),
        0..24 => free(world, claims::claim(Rc::clone(world))),
        24..68 => work(world),
        68..76 => report(world),
        76..82 => zombie(world),
        82..84 => stop(world),
        84 if world.shared.chance(400) => delegations::cancel(world),
        84..88 => {
            let world = Rc::clone(world);
            let current = Current { watchdog: true, ..Current::default() };
            let future = Box::pin(async move {
                let _ = world.kernel().tick(None).await;
            });
            Operation { current, future }
        }
        88..98 => free(world, time(Rc::clone(world))),
        _ => free(world, trouble(Rc::clone(world))),
    }
}

fn has_room(world: &World) -> bool {
    world.shared.observer.lock().unwrap().open_turns() < BACKLOG
}

fn free(_: &Rc<World>, future: impl Future<Output = ()> + 'static) -> Operation {
    Operation { current: Current::default(), future: Box::pin(future) }
}

fn nothing(world: &Rc<World>) -> Operation {
    free(world, async {})
}

async fn dispatch(world: Rc<World>) {
    let kernel = world.kernel();
    let place = {
        let places = world.places.borrow();
        places[world.shared.below(places.len())].clone()
    };
    let agent = place.agents[world.shared.below(place.agents.len())].clone();
    let mut command = Dispatch {
        agent_id: Some(agent.clone()),
        profile_box: Some(place.profile_box),
        context_box: Some(place.context_box),
        output_box: None,
        turn_id: None,
        correlation_id: None,
        channel: Channel::public(),
        trace_id: "trace".to_owned(),
        parent_turn: None,
        parent_call: None,
        parent_step: None,
        branch: None,
        source_agent: None,
        display_name: None,
        runtime_config: json("{}"),
        queue_if_busy: !world.shared.chance(30),
        emit_state_event: true,
        max_depth: limits::RECURSION_DEPTH,
    };
    if world.shared.chance(200)
        && let Ok(Done::Fresh(Created::New(head))) =
            kernel.create_box(&place.project, &caller(), None, &[], None).await
    {
        command.context_box = Some(head.box_id);
    }
    let again = {
        let sent = world.sent.borrow();
        let known =
            sent.iter().filter(|(project, _, _)| *project == place.project).cloned().collect::<Vec<_>>();
        (world.shared.chance(100) && !known.is_empty())
            .then(|| known[world.shared.below(known.len())].clone())
    };
    if let Some((_, agent, turn)) = again {
        command.agent_id = Some(agent);
        command.turn_id = Some(turn);
    } else if world.shared.chance(400) {
        let turn = TurnId::from_uuid(kernel.ids().uuid());
        command.turn_id = Some(turn);
        world.sent.borrow_mut().push((place.project.clone(), agent.clone(), turn));
    } else if world.shared.chance(250)
        && let Ok(Some(head)) = kernel.head(&place.project, &agent).await
    {
        command.output_box = head.last_output_box;
    }
    match kernel.dispatch(&place.project, &caller(), &command, None).await {
        Ok(Done::Fresh(Dispatched::Accepted(receipt))) => {
            world.accepted.borrow_mut().push((place.project, receipt.turn_id));
        }
        Ok(Done::Fresh(Dispatched::Repeated(_)) | Done::Replayed(_)) => {}
        Err(
            KernelError::Rejected(Rejection::Refused(_)) | KernelError::Store(_) | KernelError::Contended,
        ) => {}
        Err(error) => fail(&world, format!("dispatch: {error:?}")),
    }
}

fn fail(world: &World, what: String) {
    world.shared.observer.lock().unwrap().violation.get_or_insert(what);
}

fn did(world: &World, verb: &'static str) {
    *world.shared.report.lock().unwrap().verbs.entry(verb).or_default() += 1;
}

/// A verb with its command.
struct Verb {
    name: &'static str,
    command: Command,
    call: Option<String>,
}

fn fence_of(held: &Held, proof: Proof) -> Fence {
    Fence { turn_id: held.lease.turn_id, epoch: held.lease.epoch, proof }
}

fn lease_proof(held: &Held) -> Proof {
    let secret = held.lease.turn.as_ref().map(|turn| turn.secret);
    secret.map_or(Proof::Operator, |secret| Proof::Lease(Hash256::of(&secret)))
}

fn thought() -> NewTurnCard {
    NewTurnCard { id: None, draft: draft("agent.thought", r#""thinking""#, None) }
}

fn append(world: &World, fence: Fence, card: NewTurnCard) -> Command {
    let cards = world.kernel().turn_cards(vec![card]).unwrap();
    Command::Append(Append { fence, cards, calls: vec![], step: None })
}

fn make(world: &World, held: &Held, fence: Fence, choice: usize) -> Verb {
    let plain = |name, command| Verb { name, command, call: None };
    let resumed = held.lease.kind == LeaseKind::Resume;
    match choice {
        0 => plain(if resumed { "resume" } else { "start" }, Command::Start(fence)),
        1 => plain("heartbeat", Command::Heartbeat(fence)),
        2 => plain("append", append(world, fence, thought())),
        3 => {
            let step = NewStep {
                id: None,
                phase: "think".to_owned(),
                status: None,
                call_id: None,
                request_box: None,
                metadata: json("{}"),
            };
            plain("step", Command::Step(TakeStep { fence, step, records: vec![] }))
        }
        4 => {
            let call = format!("call_{}", world.kernel().ids().uuid().simple());
            let card = NewTurnCard {
                id: None,
                draft: draft("tool.call", r#"{"tool_name":"t","arguments":{}}"#, Some(&call)),
            };
            Verb { name: "tool call", command: append(world, fence, card), call: Some(call) }
        }
        5 => {
            let mut waiting = [held.calls.as_slice(), &held.forks].concat();
            if waiting.is_empty() {
                waiting.push(no_call(held));
            }
            let resume_seconds = 1 + world.shared.below(120) as u32;
            plain("suspend", Command::Suspend(Suspend { fence, waiting, resume_seconds, calls: vec![] }))
        }
        6 => plain(
            "release",
            Command::Release(Release { fence, defer_seconds: None, reason: None, keep_calls: false }),
        ),
        7 => {
            let stop =
                Stop { turn_id: fence.turn_id, epoch: None, reason: None, remains: Default::default() };
            plain("stop", Command::Stop(stop))
        }
        _ => {
            let deliverable = match world.shared.below(3) {
                0 => Deliverable::Absent,
                _ => Deliverable::Content(json(r#"{"answer":42}"#)),
            };
            let cards = match world.shared.below(2) {
                0 => vec![],
                _ => world.kernel().turn_cards(vec![thought()]).unwrap(),
            };
            let status = match world.shared.below(10) {
                0..7 => TaskStatus::Success,
                _ => TaskStatus::ALL[1 + world.shared.below(TaskStatus::ALL.len() - 1)],
            };
            let finish = Finish {
                fence,
                status,
                deliverable,
                error: (status != TaskStatus::Success).then(|| "it broke".to_owned()),
                error_code: None,
                cards,
                step: None,
                replies: vec![],
                calls: vec![],
                remains: Default::default(),
            };
            plain("finish", Command::Finish(Box::new(finish)))
        }
    }
}

/// A worker goes on with one of its turns.
fn work(world: &Rc<World>) -> Operation {
    let worker = world.shared.below(WORKERS);
    if world.paused.borrow()[worker] > 0 {
        return nothing(world);
    }
    let held = {
        let mut workers = world.workers.borrow_mut();
        let count = workers[worker].len();
        if count == 0 {
            return nothing(world);
        }
        let place = world.shared.below(count);
        workers[worker].swap_remove(place)
    };
    let choice = if !held.running {
        0
    } else if !(held.calls.is_empty() && held.forks.is_empty()) && world.shared.chance(500) {
        5
    } else {
        match world.shared.below(100) {
            0..10 => 1,
            10..26 => 2,
            26..34 => 3,
            34..46 => 4,
            46..58 if has_room(world) => return delegations::by_worker(world, worker, held),
            58..62 => 6,
            _ => 8,
        }
    };
    let verb = make(world, &held, fence_of(&held, lease_proof(&held)), choice);
    let current = current_of(&held);
    let world = Rc::clone(world);
    Operation { current, future: Box::pin(work_on(world, worker, held, verb)) }
}

/// What somebody who holds a turn claims to be.
fn current_of(held: &Held) -> Current {
    Current { fence: Some((held.lease.turn_id, held.lease.epoch)), ..Current::default() }
}

async fn work_on(world: Rc<World>, worker: usize, mut held: Held, verb: Verb) {
    let project = held.lease.project.clone();
    let done = world.kernel().turn_command(&project, &caller(), verb.command, None).await;
    match done {
        Ok(Done::Fresh(outcome)) => {
            did(&world, verb.name);
            if let Some(call) = verb.call {
                held.calls.push(call.clone());
                world.tools.borrow_mut().push(OpenTool {
                    project,
                    agent: held.lease.agent_id.clone(),
                    turn: held.lease.turn_id,
                    epoch: held.lease.epoch,
                    call,
                });
            }
            held.steps += 1;
            match outcome {
                Outcome::Running => held.running = true,
                Outcome::Suspended(_) | Outcome::Ended { .. } | Outcome::Released(_) => {
                    return world.zombies.borrow_mut().push(held);
                }
                Outcome::Alive
                | Outcome::Appended { .. }
                | Outcome::Stepped(_)
                | Outcome::Reported(_)
                | Outcome::Requeued
                | Outcome::Rung
                | Outcome::Archived
                | Outcome::TakenBack(_)
                | Outcome::Nothing => {}
            }
            world.workers.borrow_mut()[worker].push(held);
        }
        Ok(Done::Replayed(_)) => fail(&world, "a replay that nobody asked for".to_owned()),
        // Not known whether it was done: try again, or something else.
        Err(KernelError::Store(_) | KernelError::Contended) => world.workers.borrow_mut()[worker].push(held),
        Err(KernelError::Rejected(Rejection::StaleTurn(..) | Rejection::Unauthenticated)) => {
            world.zombies.borrow_mut().push(held);
        }
        // E.g. a suspend whose answer was lost: the turn is suspended. Or a release with calls open.
        Err(KernelError::Rejected(Rejection::Conflict(_))) => {
            if verb.name == "release" {
                world.workers.borrow_mut()[worker].push(held);
            } else {
                world.zombies.borrow_mut().push(held);
            }
        }
        Err(error) => fail(&world, format!("{}: {error:?}", verb.name)),
    }
}

/// Somebody whose time is over tries to write.
fn zombie(world: &Rc<World>) -> Operation {
    let held = {
        let zombies = world.zombies.borrow();
        if zombies.is_empty() {
            return nothing(world);
        }
        // Mostly recent ones: those are the dangerous ones.
        let recent = zombies.len().saturating_sub(30);
        zombies[recent + world.shared.below(zombies.len() - recent)].clone()
    };
    let choice = world.shared.below(11);
    if choice == 10 {
        return delegations::by_zombie(world, held);
    }
    // With the rights of an operator only the fence is in the way.
    let fence = fence_of(&held, if world.shared.chance(700) { Proof::Operator } else { lease_proof(&held) });
    let verb = if choice == 9 { stale_report(&held, fence) } else { make(world, &held, fence, choice) };
    let (turn, epoch) = (held.lease.turn_id, held.lease.epoch);
    let stop = verb.name == "stop";
    let current = Current { fence: (!stop).then_some((turn, epoch)), ..Current::default() };
    let world = Rc::clone(world);
    let future = Box::pin(async move {
        let stale = {
            let observer = world.shared.observer.lock().unwrap();
            if stop { observer.has_ended(turn) } else { !observer.is_live(turn, epoch) }
        };
        if stale {
            let mut report = world.shared.report.lock().unwrap();
            report.stale_attempts += 1;
            *report.stale_verbs.entry(verb.name).or_default() += 1;
        }
        let done = world.kernel().turn_command(&held.lease.project, &caller(), verb.command, None).await;
        if stale && world.reference.is_some() && done.is_ok() {
            fail(&world, format!("invariant 3: a stale {} of {turn} was taken: {done:?}", verb.name));
        }
        if done.is_ok() && verb.name == "stop" {
            did(&world, "stop");
        }
    });
    Operation { current, future }
}

/// A call that was never written down, one per turn.
fn no_call(held: &Held) -> String {
    format!("none_{}", held.lease.turn_id)
}

fn stale_report(held: &Held, fence: Fence) -> Verb {
    let call = held.calls.first().cloned().unwrap_or_else(|| no_call(held));
    let report = Report {
        fence,
        agent_id: held.lease.agent_id.clone(),
        tool_call_id: call,
        status: ToolStatus::Success,
        answer: Answer::Value { result: json("1"), error: None },
        after: Some(AfterExecution::Suspend),
        author_id: None,
        calls: vec![],
        tool_after: None,
        card_status: None,
    };
    Verb { name: "report", command: Command::Report(Box::new(report)), call: None }
}

/// A tool answers, sometimes twice, sometimes too late.
fn report(world: &Rc<World>) -> Operation {
    let tool = {
        let mut tools = world.tools.borrow_mut();
        if tools.is_empty() {
            return nothing(world);
        }
        let place = world.shared.below(tools.len());
        if world.shared.chance(250) { tools[place].clone() } else { tools.swap_remove(place) }
    };
    let fence = Fence { turn_id: tool.turn, epoch: tool.epoch, proof: Proof::Operator };
    let statuses = ToolStatus::ALL;
    let after = if world.shared.chance(100) { AfterExecution::Terminate } else { AfterExecution::Suspend };
    let command = Command::Report(Box::new(Report {
        fence,
        agent_id: tool.agent.clone(),
        tool_call_id: tool.call.clone(),
        status: statuses[world.shared.below(statuses.len())],
        answer: Answer::Value { result: json("1"), error: None },
        after: Some(after),
        author_id: None,
        calls: vec![],
        tool_after: None,
        card_status: None,
    }));
    let current = Current { fence: Some((tool.turn, tool.epoch)), ..Current::default() };
    let world = Rc::clone(world);
    let future = Box::pin(async move {
        let done = world.kernel().turn_command(&tool.project, &caller(), command, None).await;
        match done {
            Ok(_) => did(&world, "report"),
            Err(KernelError::Store(_) | KernelError::Contended) => world.tools.borrow_mut().push(tool),
            Err(_) => {}
        }
    });
    Operation { current, future }
}

/// An operator stops a turn, often one that has started others.
fn stop(world: &Rc<World>) -> Operation {
    let parents = world.shared.chance(400) && !world.parents.borrow().is_empty();
    let turns = if parents { &world.parents } else { &world.accepted };
    let Some((project, turn_id)) = recent(world, &turns.borrow(), 40) else { return nothing(world) };
    let its = Rc::clone(world);
    free(world, async move {
        let command = Command::Stop(Stop { turn_id, epoch: None, reason: None, remains: Default::default() });
        if its.kernel().turn_command(&project, &caller(), command, None).await.is_ok() {
            did(&its, "stop");
        }
    })
}

/// One of the last so many.
fn recent<T: Clone>(world: &World, list: &[T], count: usize) -> Option<T> {
    let recent = &list[list.len().saturating_sub(count)..];
    (!recent.is_empty()).then(|| recent[world.shared.below(recent.len())].clone())
}

async fn time(world: Rc<World>) {
    let shared = &world.shared;
    if shared.strikes(Fault::ClockAhead, 6) {
        shared.clock.advance(400);
    } else if shared.strikes(Fault::ClockBack, 6) {
        shared.clock.advance(-20);
    } else {
        shared.clock.advance_micros(shared.below(1_500_000) as i64);
    }
}

async fn trouble(world: Rc<World>) {
    if !world.shared.is_faulty() {
        return;
    }
    if world.shared.chance(500) {
        let worker = world.shared.below(WORKERS);
        world.paused.borrow_mut()[worker] = 100 + world.shared.below(600) as u32;
        world.shared.count(Fault::WorkerPaused);
        return;
    }
    let Some(reference) = &world.reference else { return };
    if world.shared.chance(300) {
        let place = {
            let places = world.places.borrow();
            places[world.shared.below(places.len())].clone()
        };
        let agent = place.agents[world.shared.below(place.agents.len())].clone();
        if let Ok(Some(_)) = world.inner.head(&place.project, &agent).await {
            reference.lose_head(&place.project, &agent);
            world.shared.count(Fault::HeadLost);
        }
    }
}
