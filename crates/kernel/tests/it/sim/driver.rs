//! Advances many operations at once, one step of a random one at a time.

use super::{
    actions,
    faults::Fault,
    finale,
    mutants::Mutant,
    observer::Observer,
    world::{AGENTS, Current, PROCESSES, PROJECTS, Shared, WORKERS, World},
};
use cardwire_store::Store;
use cardwire_testkit::{ManualClock, ReferenceStore, Rng};
use std::{
    cell::RefCell,
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    rc::Rc,
    sync::{Arc, Mutex, atomic::AtomicBool},
    task::{Context, Poll, Waker},
};

pub(super) struct Config {
    pub(super) seed: u64,
    pub(super) turns: u64,
    pub(super) mutant: Option<Mutant>,
}

/// What a run saw.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) turns: u64,
    pub(super) stale_attempts: u64,
    pub(super) faults: BTreeMap<Fault, u64>,
    pub(super) verbs: BTreeMap<&'static str, u64>,
    pub(super) stale_verbs: BTreeMap<&'static str, u64>,
    pub(super) polls: u64,
}

impl Report {
    pub(super) fn absorb(&mut self, other: &Self) {
        self.turns += other.turns;
        self.stale_attempts += other.stale_attempts;
        self.polls += other.polls;
        for (fault, count) in &other.faults {
            *self.faults.entry(*fault).or_default() += count;
        }
        for (verb, count) in &other.verbs {
            *self.verbs.entry(verb).or_default() += count;
        }
        for (verb, count) in &other.stale_verbs {
            *self.stale_verbs.entry(verb).or_default() += count;
        }
    }
}

/// Operations under way at once.
const AT_ONCE: usize = 10;

/// Steps after which a run that makes no progress is given up; a turn takes a few dozen.
const PATIENCE: u64 = 100_000;

pub(super) struct Operation {
    pub(super) current: Current,
    pub(super) future: Pin<Box<dyn Future<Output = ()>>>,
}

/// Runs until so many turns were accepted, drains, checks. Answers the first violation.
pub(super) fn run(
    inner: Arc<dyn Store>,
    reference: Option<Arc<ReferenceStore>>,
    config: &Config,
) -> Result<Report, String> {
    let mut observer = Observer::default();
    observer.ordered = reference.is_some();
    let shared = Arc::new(Shared {
        clock: ManualClock::default(),
        rng: Mutex::new(Rng::new(config.seed)),
        ids: Mutex::new(Rng::new(config.seed ^ 0x1d5)),
        observer: Mutex::new(observer),
        report: Mutex::default(),
        rings: Mutex::default(),
        faulty: AtomicBool::new(false),
        mutant: config.mutant,
        current: Mutex::default(),
    });
    let world = Rc::new(World {
        shared: Arc::clone(&shared),
        inner,
        reference,
        processes: RefCell::new(vec![]),
        places: RefCell::new(vec![]),
        workers: RefCell::new(vec![vec![]; WORKERS]),
        zombies: RefCell::default(),
        tools: RefCell::default(),
        sent: RefCell::default(),
        accepted: RefCell::default(),
        parents: RefCell::default(),
        batches: RefCell::default(),
        spawned: RefCell::default(),
        paused: RefCell::new(vec![0; WORKERS]),
    });
    *world.processes.borrow_mut() = (0..PROCESSES).map(|_| world.process()).collect();
    block_on(&world, actions::set_up(Rc::clone(&world), PROJECTS, AGENTS));
    shared.faulty.store(true, std::sync::atomic::Ordering::Relaxed);
    advance(&world, config.turns)?;
    shared.faulty.store(false, std::sync::atomic::Ordering::Relaxed);
    block_on_result(&world, finale::drain(Rc::clone(&world)))?;
    shared.observer.lock().unwrap().invariant_4_nobody_writes_for_unknown_turns();
    violation(&shared)?;
    block_on_result(&world, finale::check(Rc::clone(&world)))?;
    let mut report = shared.report.lock().unwrap().clone();
    let observer = shared.observer.lock().unwrap();
    report.turns = observer.ended;
    for (verb, count) in &observer.seen {
        *report.verbs.entry(verb).or_default() += count;
    }
    Ok(report)
}

fn advance(world: &Rc<World>, turns: u64) -> Result<(), String> {
    let mut operations: Vec<Operation> = vec![];
    let mut context = Context::from_waker(Waker::noop());
    let mut polls = 0_u64;
    loop {
        while operations.len() < AT_ONCE && world.shared.observer.lock().unwrap().enqueued < turns {
            operations.push(actions::any(world));
        }
        if operations.is_empty() {
            world.shared.report.lock().unwrap().polls = polls;
            return Ok(());
        }
        polls += 1;
        // A store with threads of its own is polled while it works, which says nothing about progress.
        if world.reference.is_some() && polls > PATIENCE + turns * 400 {
            return Err("invariant 11: the run does not come to an end".to_owned());
        }
        let place = world.shared.below(operations.len());
        let operation = &mut operations[place];
        *world.shared.current.lock().unwrap() = operation.current.clone();
        let done = operation.future.as_mut().poll(&mut context);
        *world.shared.current.lock().unwrap() = Current::default();
        match done {
            Poll::Ready(()) => drop(operations.swap_remove(place)),
            Poll::Pending if world.reference.is_none() => std::thread::yield_now(),
            Poll::Pending => {}
        }
        violation(&world.shared)?;
    }
}

fn violation(shared: &Shared) -> Result<(), String> {
    shared.observer.lock().unwrap().violation.clone().map_or(Ok(()), Err)
}

fn block_on(world: &Rc<World>, future: impl Future<Output = ()>) {
    let done = block_on_result(world, async {
        future.await;
        Ok(())
    });
    done.expect("no fault yet");
}

fn block_on_result(
    world: &Rc<World>,
    future: impl Future<Output = Result<(), String>>,
) -> Result<(), String> {
    let mut future = std::pin::pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(done) => return done,
            Poll::Pending if world.reference.is_none() => std::thread::yield_now(),
            Poll::Pending => {}
        }
    }
}
