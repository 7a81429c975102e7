//! The lanes: tasks that take waiting commits to the server.
//!
//! A commit that need not wait is sent by its caller. What has to wait is sent by a lane, together with what waits
//! beside it: lanes are tasks of their own, tracked by the store, because a caller that goes away must not take its
//! neighbours' commits with it. Must not know what is in a commit.
//! Invariant: every commit gets its own outcome. When commits that travel together are refused, each is tried alone.

use super::{
    batch::{Together, apply_one, apply_together},
    payload::{Payload, Touched},
    queue::{Queue, Waiting},
};
use crate::error::{closed, pool_error};
use cardwire_model::{Commit, Realm};
use cardwire_store::{CommitError, StoreError};
use deadpool_postgres::{Client, Pool};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};
use tokio::{
    sync::{AcquireError, Notify, OwnedSemaphorePermit, Semaphore, SemaphorePermit, oneshot},
    task::JoinSet,
};

type Outcome = Result<(), CommitError>;

/// Most commits that wait or are under way; further callers wait for a place.
const PLACES: usize = 4_096;
/// Most of them that one realm has, so that none can take the places of all.
const REALM_PLACES: usize = PLACES / 4;

/// Takes commits to the server.
pub(crate) struct Lanes {
    shared: Arc<Shared>,
    places: Places,
    tasks: tokio::sync::Mutex<JoinSet<()>>,
}

struct Shared {
    pool: Pool,
    /// New rows in one statement.
    statement_rows: usize,
    state: Mutex<State>,
    /// Something to do: a commit came, or a row became free.
    work: Notify,
}

#[derive(Default)]
struct State {
    queue: Queue<Job>,
    closed: bool,
}

struct Job {
    payload: Payload,
    reply: oneshot::Sender<Outcome>,
}

impl Waiting for Job {
    fn payload(&self) -> &Payload {
        &self.payload
    }

    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }
}

impl Lanes {
    /// As many lanes as commits may be under way at once.
    pub(crate) fn start(pool: Pool, lanes: usize, statement_rows: usize) -> Self {
        let (state, work) = (Mutex::default(), Notify::new());
        let shared = Arc::new(Shared { pool, statement_rows, state, work });
        let mut tasks = JoinSet::new();
        for _ in 0..lanes.max(1) {
            tasks.spawn(run(Arc::clone(&shared)));
        }
        Self { shared, places: Places::default(), tasks: tokio::sync::Mutex::new(tasks) }
    }

    pub(crate) async fn commit(&self, commit: Commit) -> Outcome {
        let payload = Payload::new(commit);
        // Held until the outcome is known, so that what waits here is bounded.
        let _place = self.places.acquire(&payload.realm).await.map_err(|_| closed())?;
        let (reply, outcome) = oneshot::channel();
        let (at_once, may_go) = {
            let mut state = self.shared.state();
            if state.closed {
                return Err(closed().into());
            }
            if payload.is_empty() {
                return Ok(());
            }
            if let Some(conflict) = payload.contradiction {
                return Err(conflict.into());
            }
            if state.queue.start(&payload) {
                (Some(payload), false)
            } else {
                (None, state.queue.push(Job { payload, reply }))
            }
        };
        if let Some(payload) = at_once {
            let _under_way = UnderWay::new(&self.shared, [&payload]);
            let client = self.shared.pool.get().await.map_err(pool_error)?;
            return apply_one(&client, &payload, self.shared.statement_rows).await;
        }
        if may_go {
            self.shared.work.notify_one();
        }
        // A lane that ended without an answer had the commit in its hands.
        let lost = || StoreError::Uncertain("the task that applied the commit has ended".to_owned()).into();
        outcome.await.unwrap_or_else(|_| Err(lost()))
    }

    /// Lets what waits finish, and takes nothing new.
    pub(crate) async fn close(&self) {
        self.shared.state().closed = true;
        let mut tasks = self.tasks.lock().await;
        self.shared.work.notify_waiters();
        self.shared.work.notify_one();
        while let Some(ended) = tasks.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a commit lane failed");
            }
            // A lane that was about to wait when the others were woken.
            self.shared.work.notify_waiters();
            self.shared.work.notify_one();
        }
    }
}

/// Bounds what waits, of each realm and of all.
struct Places {
    all: Semaphore,
    /// Kept by those who hold a place or wait for one.
    realms: Mutex<HashMap<Realm, Weak<Semaphore>>>,
}

impl Default for Places {
    fn default() -> Self {
        Self { all: Semaphore::new(PLACES), realms: Mutex::default() }
    }
}

impl Places {
    async fn acquire(
        &self,
        realm: &Realm,
    ) -> Result<(OwnedSemaphorePermit, SemaphorePermit<'_>), AcquireError> {
        let of_realm = self.of(realm).acquire_owned().await?;
        Ok((of_realm, self.all.acquire().await?))
    }

    fn of(&self, realm: &Realm) -> Arc<Semaphore> {
        let mut realms = self.realms.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(places) = realms.get(realm).and_then(Weak::upgrade) {
            return places;
        }
        // Realms that have nothing under way are forgotten when there are as many of them as there are places.
        if realms.len() >= PLACES {
            realms.retain(|_, places| places.strong_count() > 0);
        }
        let places = Arc::new(Semaphore::new(REALM_PLACES));
        realms.insert(realm.clone(), Arc::downgrade(&places));
        places
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn run(shared: Arc<Shared>) {
    loop {
        let (batch, is_done) = {
            let mut state = shared.state();
            let batch = state.queue.take();
            if !batch.is_empty() && state.queue.is_ready() {
                // There may be work for another lane.
                shared.work.notify_one();
            }
            (batch, state.closed && state.queue.is_empty())
        };
        if !batch.is_empty() {
            let _under_way = UnderWay::new(&shared, batch.iter().map(|job| &job.payload));
            apply(&shared, batch).await;
        } else if is_done {
            // The next one may be waiting too.
            shared.work.notify_one();
            return;
        } else {
            shared.work.notified().await;
        }
    }
}

/// Releases the rows of a batch, whatever happens to whoever sends it, and lets a lane look for more.
struct UnderWay<'a> {
    shared: &'a Shared,
    realm: Option<Realm>,
    rows: Vec<Touched>,
}

impl<'a> UnderWay<'a> {
    fn new<'b>(shared: &'a Shared, payloads: impl IntoIterator<Item = &'b Payload>) -> Self {
        let (mut realm, mut rows) = (None, vec![]);
        for payload in payloads {
            realm.get_or_insert_with(|| payload.realm.clone());
            rows.extend(&payload.rows);
        }
        Self { shared, realm, rows }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let Some(realm) = &self.realm else { return };
        let mut state = self.shared.state();
        state.queue.release(realm, &self.rows);
        if state.queue.is_ready() {
            self.shared.work.notify_one();
        }
    }
}

async fn apply(shared: &Shared, batch: Vec<Job>) {
    let client = match shared.pool.get().await.map_err(pool_error) {
        Ok(client) => client,
        Err(error) => return batch.into_iter().for_each(|job| job.answer(Err(error.clone().into()))),
    };
    if batch.len() > 1 {
        let payloads: Vec<_> = batch.iter().map(|job| &job.payload).collect();
        match apply_together(&client, &payloads, shared.statement_rows).await {
            Together::Applied => return batch.into_iter().for_each(|job| job.answer(Ok(()))),
            Together::Lost(error) => return batch.into_iter().for_each(|job| job.answer(Err(error.clone()))),
            Together::Refused => {}
        }
    }
    apply_each(&client, batch, shared.statement_rows).await;
}

async fn apply_each(client: &Client, batch: Vec<Job>, statement_rows: usize) {
    for job in batch {
        let outcome = apply_one(client, &job.payload, statement_rows).await;
        job.answer(outcome);
    }
}

impl Job {
    fn answer(self, outcome: Outcome) {
        // Nobody listens when the caller has gone away.
        let _ = self.reply.send(outcome);
    }
}
