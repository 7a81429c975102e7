//! What is to be done after a commit: batches to look at, descendants to stop. All of it is found again by the watchdog, so
//! that losing it costs time and nothing else.

use crate::{Kernel, KernelError};
use cardwire_model::{AgentId, BatchId, Commit, ProjectId, Sweep, Timestamp, Write};
use std::{
    collections::HashMap,
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// What follows from a commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FollowUp {
    /// Batches with a branch that has ended.
    pub(crate) batches: Vec<BatchId>,
    /// Descendants to stop.
    pub(crate) sweeps: Vec<Sweep>,
    /// Agents whose next turn may be leased.
    pub(crate) wake: Vec<AgentId>,
}

impl FollowUp {
    pub(crate) fn of(commit: &Commit) -> Self {
        let mut follow_up = Self::default();
        for write in &commit.writes {
            if let Write::EndBranch(end) = write
                && !follow_up.batches.contains(&end.key.batch_id)
            {
                follow_up.batches.push(end.key.batch_id);
            }
            if let Write::AddSweep(sweep) = write {
                follow_up.sweeps.push(*sweep);
            }
        }
        follow_up
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.batches.is_empty() && self.sweeps.is_empty() && self.wake.is_empty()
    }

    pub(crate) fn extend(&mut self, more: Self) {
        self.batches.extend(more.batches);
        self.sweeps.extend(more.sweeps);
        self.wake.extend(more.wake);
    }
}

/// Many branches of a batch end at the same time: one look at the batch serves all that ended before it.
#[derive(Default)]
pub(crate) struct Looks {
    /// With how many are there.
    places: Mutex<HashMap<Key, (usize, Arc<Place>)>>,
}

type Key = (ProjectId, BatchId);

#[derive(Default)]
struct Place {
    asked: AtomicU64,
    /// The highest number asked for before a look that has ended well.
    served: tokio::sync::Mutex<u64>,
}

impl Looks {
    fn visit(&self, key: Key) -> Visit<'_> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let (visitors, place) = places.entry(key.clone()).or_default();
        *visitors += 1;
        let place = Arc::clone(place);
        Visit { looks: self, key, place }
    }
}

/// Somebody who looks, or waits to. Also one that goes away half way leaves nothing behind.
struct Visit<'a> {
    looks: &'a Looks,
    key: Key,
    place: Arc<Place>,
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        let mut places = self.looks.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((visitors, _)) = places.get_mut(&self.key) {
            *visitors -= 1;
            if *visitors == 0 {
                places.remove(&self.key);
            }
        }
    }
}

impl Kernel {
    /// Does what follows from a commit, and what follows from that.
    pub(crate) fn follow<'a>(
        &'a self,
        project: &'a ProjectId,
        mut todo: FollowUp,
        now: Option<Timestamp>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(async move {
            loop {
                let done = if let Some(batch) = todo.batches.pop() {
                    self.look_once(project, batch, now).await
                } else if let Some(sweep) = todo.sweeps.pop() {
                    self.sweep(project, sweep, now).await
                } else if let Some(agent) = todo.wake.pop() {
                    self.wake_agent(project, &agent, now).await
                } else {
                    return;
                };
                match done {
                    Ok(more) => todo.extend(more),
                    Err(error) => tracing::warn!(%error, %project, "left to the watchdog"),
                }
            }
        })
    }

    /// Looks after a batch, unless somebody does so who began after this was asked for.
    async fn look_once(
        &self,
        project: &ProjectId,
        batch: BatchId,
        now: Option<Timestamp>,
    ) -> Result<FollowUp, KernelError> {
        let visit = self.batch_looks.visit((project.clone(), batch));
        let place = &visit.place;
        let asked = place.asked.fetch_add(1, Ordering::SeqCst) + 1;
        let mut served = place.served.lock().await;
        if *served >= asked {
            return Ok(FollowUp::default());
        }
        let serves = place.asked.load(Ordering::SeqCst);
        let looked = self.look_after(project, batch, now, false).await?;
        *served = serves;
        Ok(looked.follow_up)
    }

    async fn wake_agent(
        &self,
        project: &ProjectId,
        agent: &AgentId,
        now: Option<Timestamp>,
    ) -> Result<FollowUp, KernelError> {
        self.dispatch_next_at(project, &super::look::caller(), agent, now).await?;
        Ok(FollowUp::default())
    }
}
