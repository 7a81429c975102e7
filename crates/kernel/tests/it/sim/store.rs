//! The store as a process sees it: it fails, it dies with its process, it takes a while, and in a run with a planted
//! bug it tells the kernel lies.

use super::{faults::Fault, mutants, world::Shared};
use async_trait::async_trait;
use cardwire_model::*;
use cardwire_store::*;
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

pub(super) type SimStore = Intercepted<Faulty>;

/// The store of one process of the simulation.
pub(super) struct Faulty {
    shared: Arc<Shared>,
    alive: AtomicBool,
}

fn gone() -> StoreError {
    StoreError::Unavailable("simulated".to_owned())
}

impl Faulty {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, alive: AtomicBool::new(true) }
    }

    pub(super) fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Relaxed)
    }

    fn die(&self) {
        self.alive.store(false, Ordering::Relaxed);
    }

    fn check_alive(&self) -> Result<(), StoreError> {
        if self.is_alive() { Ok(()) } else { Err(gone()) }
    }

    /// Lets others run.
    async fn give_way(&self) {
        for _ in 0..self.shared.below(3) {
            pause().await;
        }
    }

    /// What happens around a read.
    async fn look<T>(&self, read: Asking<'_, T>) -> Result<T, StoreError> {
        self.give_way().await;
        self.check_alive()?;
        if self.shared.strikes(Fault::ReadFails, 2) { Err(gone()) } else { read.await }
    }

    /// What happens around a commit.
    async fn write<T>(&self, apply: impl Future<Output = Result<T, CommitError>>) -> Result<T, CommitError> {
        self.give_way().await;
        self.check_alive()?;
        if self.shared.strikes(Fault::CommitFails, 3) {
            return Err(gone().into());
        }
        if self.shared.strikes(Fault::CrashBeforeCommit, 2) {
            self.die();
            return Err(gone().into());
        }
        let outcome = apply.await;
        if self.shared.strikes(Fault::CrashAfterCommit, 2) {
            self.die();
            return Err(StoreError::Uncertain("simulated".to_owned()).into());
        }
        if self.shared.strikes(Fault::AnswerLost, 3) {
            return Err(StoreError::Uncertain("simulated".to_owned()).into());
        }
        outcome
    }
}

/// Gives way once.
pub(super) async fn pause() {
    let mut given = false;
    std::future::poll_fn(|context| {
        if given {
            return std::task::Poll::Ready(());
        }
        given = true;
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

#[async_trait]
impl Intercept for Faulty {
    fn read<T: Send>(&self, read: Asking<'_, T>) -> impl Future<Output = Result<T, StoreError>> + Send {
        self.look(read)
    }

    async fn commit(&self, inner: &Arc<dyn Store>, commit: Commit) -> Result<(), CommitError> {
        self.write(async {
            let commit = mutants::bend_commit(&self.shared, inner.as_ref(), commit).await;
            let seen = commit.clone();
            inner.commit(commit).await?;
            self.shared.observer.lock().unwrap().applied(&seen, &self.shared);
            Ok(())
        })
        .await
    }

    async fn claim(
        &self,
        inner: &Arc<dyn Store>,
        query: &ClaimQuery,
        decide: DecideClaim,
    ) -> Result<Vec<ProjectId>, CommitError> {
        self.write(async {
            let commits: Arc<Mutex<Vec<(ProjectId, Commit)>>> = Arc::default();
            let seen = Arc::clone(&commits);
            let shared = Arc::clone(&self.shared);
            let spying: DecideClaim = Arc::new(move |project: &ProjectId, rows: Vec<Claimable>| {
                let commit = mutants::bend_claim(&shared, decide(project, rows));
                seen.lock().unwrap().push((project.clone(), commit.clone()));
                commit
            });
            let applied = inner.claim(query, spying).await?;
            for (project, commit) in commits.lock().unwrap().iter() {
                if applied.contains(project) {
                    self.shared.observer.lock().unwrap().applied(commit, &self.shared);
                }
            }
            Ok(applied)
        })
        .await
    }

    /// A process that ends leaves the store to the others.
    async fn close(&self, _inner: &Arc<dyn Store>) {}

    fn loaded(&self, keys: &Keys, mut snapshot: Snapshot) -> Snapshot {
        mutants::bend_snapshot(&self.shared, keys, &mut snapshot);
        snapshot
    }

    fn calls_read(&self, calls: Vec<ToolCall>) -> Vec<ToolCall> {
        mutants::bend_calls(&self.shared, calls)
    }

    fn standing_read(&self, mut standing: Option<Standing>) -> Option<Standing> {
        if let Some(standing) = &mut standing {
            mutants::bend_standing(&self.shared, standing);
        }
        standing
    }

    fn children_read(&self, children: Vec<TurnId>) -> Vec<TurnId> {
        mutants::bend_stops(&self.shared, children)
    }

    fn branches_read(&self, branches: Vec<(BranchKey, TurnId)>) -> Vec<(BranchKey, TurnId)> {
        mutants::bend_stops(&self.shared, branches)
    }
}
