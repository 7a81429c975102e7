//! What the actors of a run share.

use super::{
    driver::Report,
    faults::Fault,
    mutants::Mutant,
    observer::Observer,
    store::{Faulty, SimStore},
};
use cardwire_kernel::{
    Caller, Kernel, KernelConfig,
    clock::Clock,
    doorbell::{Doorbell, Ring},
    ids::IdSource,
    protocol::{Actor, turn::claim::Lease},
};
use cardwire_model::{AgentId, BatchId, BoxId, ProjectId, Timestamp, TurnEpoch, TurnId, WorkerTarget};
use cardwire_store::Store;
use cardwire_testkit::{ManualClock, ReferenceStore, Rng};
use std::{
    cell::RefCell,
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};
use uuid::Uuid;

pub(super) const PROJECTS: usize = 2;
pub(super) const AGENTS: usize = 5;
pub(super) const WORKERS: usize = 4;
pub(super) const PROCESSES: usize = 2;

/// Shared by everything that runs inside the kernels, hence `Send`.
pub(super) struct Shared {
    pub(super) clock: ManualClock,
    pub(super) rng: Mutex<Rng>,
    pub(super) ids: Mutex<Rng>,
    pub(super) observer: Mutex<Observer>,
    pub(super) report: Mutex<Report>,
    pub(super) rings: Mutex<VecDeque<(u32, WorkerTarget)>>,
    /// Faults are switched off for the drain.
    pub(super) faulty: AtomicBool,
    pub(super) mutant: Option<Mutant>,
    /// The fence of the operation that is being advanced.
    pub(super) current: Mutex<Current>,
}

/// What the operation that is being advanced claims to be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Current {
    /// It writes for this turn at this epoch.
    pub(super) fence: Option<(TurnId, TurnEpoch)>,
    /// It is the watchdog's.
    pub(super) watchdog: bool,
}

impl Shared {
    pub(super) fn chance(&self, permille: usize) -> bool {
        self.rng.lock().unwrap().below(1_000) < permille
    }

    pub(super) fn below(&self, bound: usize) -> usize {
        self.rng.lock().unwrap().below(bound)
    }

    pub(super) fn is_faulty(&self) -> bool {
        self.faulty.load(Ordering::Relaxed)
    }

    /// Whether this fault happens now; counts it if so.
    pub(super) fn strikes(&self, fault: Fault, permille: usize) -> bool {
        let strikes = self.is_faulty() && self.chance(permille);
        if strikes {
            self.count(fault);
        }
        strikes
    }

    pub(super) fn count(&self, fault: Fault) {
        *self.report.lock().unwrap().faults.entry(fault).or_default() += 1;
    }
}

pub(super) struct SimClock(pub(super) Arc<Shared>);

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        self.0.clock.now()
    }
}

pub(super) struct SimIds(pub(super) Arc<Shared>);

impl IdSource for SimIds {
    fn uuid(&self) -> Uuid {
        let mut ids = self.0.ids.lock().unwrap();
        Uuid::from_u64_pair(ids.next_u64(), ids.next_u64())
    }

    fn secret(&self) -> [u8; 32] {
        let mut ids = self.0.ids.lock().unwrap();
        let mut secret = [0; 32];
        secret.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&ids.next_u64().to_be_bytes()));
        secret
    }
}

/// A doorbell that loses, doubles and delays.
pub(super) struct SimBell(pub(super) Arc<Shared>);

impl Doorbell for SimBell {
    fn ring(&self, ring: &Ring) {
        let shared = &self.0;
        if shared.strikes(Fault::RingLost, 300) {
            return;
        }
        let late = if shared.strikes(Fault::RingLate, 100) { 200 } else { 0 };
        let times = if shared.strikes(Fault::RingTwice, 200) { 2 } else { 1 };
        let mut rings = shared.rings.lock().unwrap();
        for _ in 0..times {
            rings.push_back((late, ring.target.clone()));
        }
    }
}

/// A lease in the hands of a worker.
#[derive(Debug, Clone)]
pub(super) struct Held {
    pub(super) lease: Lease,
    pub(super) running: bool,
    /// Tool calls it has made and not suspended for.
    pub(super) calls: Vec<String>,
    /// The same for forks: nobody but their batch answers those.
    pub(super) forks: Vec<String>,
    pub(super) steps: u32,
}

/// A tool call somebody will answer.
#[derive(Debug, Clone)]
pub(super) struct OpenTool {
    pub(super) project: ProjectId,
    pub(super) agent: AgentId,
    pub(super) turn: TurnId,
    pub(super) epoch: TurnEpoch,
    pub(super) call: String,
}

#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) project: ProjectId,
    pub(super) agents: Vec<AgentId>,
    pub(super) profile_box: BoxId,
    pub(super) context_box: BoxId,
}

/// A kernel process.
pub(super) struct Process {
    pub(super) kernel: Arc<Kernel>,
    pub(super) store: Arc<SimStore>,
}

/// Everything of a run.
pub(super) struct World {
    pub(super) shared: Arc<Shared>,
    pub(super) inner: Arc<dyn Store>,
    pub(super) reference: Option<Arc<ReferenceStore>>,
    pub(super) processes: RefCell<Vec<Process>>,
    pub(super) places: RefCell<Vec<Place>>,
    pub(super) workers: RefCell<Vec<Vec<Held>>>,
    pub(super) zombies: RefCell<Vec<Held>>,
    pub(super) tools: RefCell<Vec<OpenTool>>,
    /// Turn ids that clients chose, to be sent again, with the agent and the box they named.
    pub(super) sent: RefCell<Vec<(ProjectId, AgentId, TurnId)>>,
    pub(super) accepted: RefCell<Vec<(ProjectId, TurnId)>>,
    /// Turns that have started others.
    pub(super) parents: RefCell<Vec<(ProjectId, TurnId)>>,
    pub(super) batches: RefCell<Vec<(ProjectId, BatchId)>>,
    /// Agents that were given work by others.
    pub(super) spawned: RefCell<Vec<(ProjectId, AgentId)>>,
    pub(super) paused: RefCell<Vec<u32>>,
}

pub(super) fn target() -> WorkerTarget {
    "sim".parse().unwrap()
}

impl World {
    /// A kernel of one of the processes, and whose store it has.
    pub(super) fn kernel(&self) -> Arc<Kernel> {
        let place = self.shared.below(PROCESSES);
        let mut processes = self.processes.borrow_mut();
        if !processes[place].store.intercept().is_alive() {
            processes[place] = self.process();
        }
        Arc::clone(&processes[place].kernel)
    }

    pub(super) fn process(&self) -> Process {
        let store = Arc::new(SimStore::new(Arc::clone(&self.inner), Faulty::new(Arc::clone(&self.shared))));
        let kernel = Kernel::idle(KernelConfig {
            clock: Arc::new(SimClock(Arc::clone(&self.shared))),
            ids: Arc::new(SimIds(Arc::clone(&self.shared))),
            doorbell: Arc::new(SimBell(Arc::clone(&self.shared))),
            cache_bytes: 1 << 20,
            ..KernelConfig::new(Arc::clone(&store) as _)
        });
        Process { kernel, store }
    }
}

pub(super) fn caller() -> Caller {
    Caller { actor: Actor::system("sim") }
}
