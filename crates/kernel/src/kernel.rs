//! [`Kernel`]: what everything above talks to.

use crate::{
    background,
    batches::Looks,
    boxes::BoxCache,
    cache::Recent,
    clock::{Clock, SystemClock},
    context::{ContextConfig, Records, TokenCache},
    doorbell::{Bells, Doorbell, InProcess, Ring},
    events::Changes,
    ids::{IdSource, SystemIds},
    inside::Inside,
    patience,
    pmo::{PmoConfig, Slots},
    pure_pool::PurePool,
    sessions::Pointed,
    spawn::Tasks,
    turns::{AskedTargets, Chunk, Line, Listening, Recall, SilentTurns, Turnstile, WAITING_CHUNKS},
    unasked::UnaskedWork,
};
use cardwire_model::{
    BoxHead, BoxId, CardId, Hash256, Project, ProjectId, Timestamp, Token, TokenId, TurnId, WorkerTarget,
};
use cardwire_protocol::watchdog::Policy;
use cardwire_store::{Health, Store, StoreError};
use std::sync::{Arc, OnceLock};

/// What a kernel is made of.
pub struct KernelConfig {
    /// Where facts are kept.
    pub store: Arc<dyn Store>,
    /// What tells the time.
    pub clock: Arc<dyn Clock>,
    /// What makes ids and secrets.
    pub ids: Arc<dyn IdSource>,
    /// Bytes of cards kept in memory.
    pub cache_bytes: u64,
    /// What carries rings to other processes.
    pub doorbell: Arc<dyn Doorbell>,
    /// When the watchdog acts.
    pub watchdog: Policy,
    /// How many calls of PMO tools are worked on at once.
    pub pmo: PmoConfig,
    /// What is added to the composer.
    pub context: ContextConfig,
}

impl KernelConfig {
    /// The machine's clock and randomness, and a cache of 256 MiB.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
            cache_bytes: 256 << 20,
            doorbell: Arc::new(InProcess),
            watchdog: Policy::default(),
            pmo: PmoConfig::default(),
            context: ContextConfig::default(),
        }
    }
}

/// Loads, decides, commits and tells.
pub struct Kernel {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn IdSource>,
    pub(crate) boxes: BoxCache,
    /// Heads as last seen, for appends that need nothing else of the box: the commit expects them again.
    pub(crate) heads: quick_cache::sync::Cache<(ProjectId, BoxId), BoxHead>,
    pub(crate) tokens: Recent<Hash256, Token>,
    /// The token that this process was started with.
    pub(crate) own_token: OnceLock<TokenId>,
    pub(crate) inside: Inside,
    pub(crate) projects: Recent<ProjectId, Project>,
    /// Turns that were opened with their tokens a moment ago.
    pub(crate) leases: Recent<(ProjectId, TurnId, Hash256), ()>,
    pub(crate) changes: Changes,
    pub(crate) turnstile: Turnstile,
    pub(crate) session_stile: Turnstile,
    pub(crate) context: ContextConfig,
    pub(crate) counts: Arc<TokenCache>,
    pub(crate) records: Records,
    /// What checkpoints come to; they are cards, so that this never changes.
    pub(crate) checkpoints: quick_cache::sync::Cache<(ProjectId, CardId), Arc<Pointed>>,
    pub(crate) batch_looks: Looks,
    pub(crate) pmo_slots: Slots,
    pub(crate) pure_pool: PurePool,
    pub(crate) bells: Bells,
    pub(crate) line: Line,
    pub(crate) asked_targets: AskedTargets,
    pub(crate) silent_turns: SilentTurns,
    pub(crate) unasked: UnaskedWork,
    pub(crate) started_at: Timestamp,
    pub(crate) listening: Listening,
    pub(crate) recall: Recall,
    pub(crate) chunks: tokio::sync::broadcast::Sender<Arc<Chunk>>,
    pub(crate) watchdog: Policy,
    doorbell: Arc<dyn Doorbell>,
    tasks: Tasks,
}

/// Box heads remembered at most.
const HEADS: usize = 100_000;
/// Checkpoints of sessions remembered at most.
const CHECKPOINTS: usize = 1_000;

impl Kernel {
    /// A kernel without background work: events are numbered and audit rows sealed only by hand.
    pub fn idle(config: KernelConfig) -> Arc<Self> {
        Arc::new(Self {
            store: config.store,
            started_at: config.clock.now(),
            listening: Listening::since(config.clock.now()),
            clock: config.clock,
            ids: config.ids,
            boxes: BoxCache::new(config.cache_bytes),
            heads: quick_cache::sync::Cache::new(HEADS),
            tokens: Recent::default(),
            own_token: OnceLock::new(),
            inside: Inside::default(),
            projects: Recent::default(),
            leases: Recent::default(),
            changes: Changes::default(),
            turnstile: Turnstile::default(),
            session_stile: Turnstile::default(),
            context: config.context,
            counts: Arc::default(),
            records: Records::default(),
            checkpoints: quick_cache::sync::Cache::new(CHECKPOINTS),
            batch_looks: Looks::default(),
            pmo_slots: Slots::new(&config.pmo),
            pure_pool: PurePool::default(),
            bells: Bells::default(),
            line: Line::default(),
            asked_targets: AskedTargets::default(),
            silent_turns: SilentTurns::default(),
            unasked: UnaskedWork::default(),
            recall: Recall::default(),
            chunks: tokio::sync::broadcast::Sender::new(WAITING_CHUNKS),
            watchdog: config.watchdog,
            doorbell: config.doorbell,
            tasks: Tasks::default(),
        })
    }

    /// A kernel with its background work running.
    pub fn start(config: KernelConfig) -> Arc<Self> {
        let kernel = Self::idle(KernelConfig { store: patience::bounded(config.store), ..config });
        background::start(&kernel);
        kernel
    }

    /// The moment now.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// How long ago that was. A clock that was set back makes it nothing.
    pub(crate) fn seconds_since(&self, begun: Timestamp) -> f64 {
        (self.now().micros() - begun.micros()).max(0) as f64 / 1e6
    }

    /// A fresh card id.
    pub fn card_id(&self) -> CardId {
        CardId::from_uuid(self.ids.uuid())
    }

    /// What makes ids.
    pub fn ids(&self) -> &dyn IdSource {
        self.ids.as_ref()
    }

    /// Rings here and elsewhere.
    pub(crate) fn ring(&self, ring: &Ring) {
        self.bells.ring(&ring.target);
        self.doorbell.ring(ring);
        metrics::counter!("cardwire_doorbells_total", "reason" => ring.reason).increment(1);
    }

    /// Somebody elsewhere rang for these workers.
    pub fn wake(&self, target: &WorkerTarget) {
        self.bells.ring(target);
    }

    /// Background tasks; streams to clients end with them.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Whether a write would go through now, and why not.
    pub async fn takes_writes(&self) -> Result<(), StoreError> {
        self.store.ready().await
    }

    /// The store's word on itself.
    pub async fn health(&self) -> Result<Health, StoreError> {
        self.store.health().await
    }

    /// Where layers go in every request of this deployment (OB-05).
    pub fn placement(&self) -> cardwire_model::Placement {
        self.context.placement()
    }

    /// How often a text was really counted by a tokenizer.
    pub fn texts_counted(&self) -> u64 {
        self.counts.counted()
    }

    /// Ends background work and closes the store.
    pub async fn shutdown(&self) {
        self.tasks.shutdown().await;
        self.store.close().await;
    }
}
