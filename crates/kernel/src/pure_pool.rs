//! Where long pure work is done: composing, counting, reading and checking what is large. On the threads that serve requests
//! it would hold up everybody (F-45).
//!
//! The pool must not know what it computes.
//! Invariants: no more jobs run at once than there are places; projects whose jobs wait take turns, and each has a bounded
//! number of them; a job that nobody waits for does not begin, and one that has begun is told by its flag.

use crate::{Kernel, KernelError};
use cardwire_model::{CancelFlag, ProjectId, limits};
use std::{
    collections::{HashMap, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{runtime::Handle, sync::oneshot, task::spawn_blocking};

/// The jobs of all projects, and how many run.
#[derive(Default, Clone)]
pub(crate) struct PurePool(Arc<Mutex<Queues>>);

#[derive(Default)]
struct Queues {
    /// Jobs that wait. Who belongs to no project waits under no name.
    waiting: HashMap<Option<ProjectId>, VecDeque<Job>>,
    /// Whose turn it is: everybody who has jobs waiting, once.
    turns: VecDeque<Option<ProjectId>>,
    running: usize,
    next: u64,
}

struct Job {
    number: u64,
    work: Box<dyn FnOnce() + Send>,
}

impl Kernel {
    /// Does pure work on so many bytes for a project: what is short at once, what is long in the pool. It ends with whoever
    /// waits for it.
    pub async fn compute<T: Send + 'static>(
        &self,
        project: Option<&ProjectId>,
        bytes: usize,
        work: impl FnOnce(&CancelFlag) -> T + Send + 'static,
    ) -> Result<T, KernelError> {
        if bytes <= limits::AT_ONCE_BYTES {
            return Ok(work(&CancelFlag::default()));
        }
        self.pure_pool.run(project.cloned(), work).await
    }
}

impl PurePool {
    /// Runs a job when it is its turn. A panic in it is one of whoever waits for it.
    async fn run<T: Send + 'static>(
        &self,
        project: Option<ProjectId>,
        work: impl FnOnce(&CancelFlag) -> T + Send + 'static,
    ) -> Result<T, KernelError> {
        let cancel = CancelFlag::default();
        let (send, done) = oneshot::channel();
        let (flag, span) = (cancel.clone(), tracing::Span::current());
        let work = Box::new(move || {
            // What a job shares with others is for reading, or behind locks that are taken again after a panic.
            let outcome = catch_unwind(AssertUnwindSafe(|| span.in_scope(|| work(&flag))));
            // Nobody listens any more: then nobody is told.
            drop(send.send(outcome));
        });
        let number = self.enqueue(project.clone(), work)?;
        let _waits = Waits { pool: self, project, number, cancel };
        match done.await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(panic)) => resume_unwind(panic),
            // The runtime ends, and nothing is begun any more.
            Err(_) => Err(KernelError::Crowded(limits::WAITING_JOBS)),
        }
    }

    fn enqueue(
        &self,
        project: Option<ProjectId>,
        work: Box<dyn FnOnce() + Send>,
    ) -> Result<u64, KernelError> {
        let mut queues = self.queues();
        let own = queues.waiting.get(&project).map_or(0, VecDeque::len);
        if own >= limits::WAITING_JOBS {
            metrics::counter!("cardwire_jobs_refused_total").increment(1);
            return Err(KernelError::Crowded(limits::WAITING_JOBS));
        }
        let number = queues.next;
        queues.next += 1;
        if own == 0 {
            queues.turns.push_back(project.clone());
        }
        queues.waiting.entry(project).or_default().push_back(Job { number, work });
        if queues.running < places() {
            queues.running += 1;
            let pool = self.clone();
            spawn_blocking(move || pool.work_off());
        }
        Ok(number)
    }

    /// Runs jobs until none waits.
    fn work_off(&self) {
        loop {
            let job = self.queues().pop();
            let Some(job) = job else { break };
            (job.work)();
        }
    }

    fn queues(&self) -> MutexGuard<'_, Queues> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Half of the threads that serve requests, so that the other half of the processors is theirs.
fn places() -> usize {
    (Handle::current().metrics().num_workers() / 2).max(1)
}

impl Queues {
    /// The next job of whoever is next. Without one, whoever asks stops working.
    fn pop(&mut self) -> Option<Job> {
        let Some(project) = self.turns.pop_front() else {
            self.running -= 1;
            return None;
        };
        let jobs = self.waiting.get_mut(&project)?;
        let job = jobs.pop_front();
        if jobs.is_empty() {
            self.waiting.remove(&project);
        } else {
            self.turns.push_back(project);
        }
        job
    }

    /// Takes a job away that has not begun.
    fn remove(&mut self, project: &Option<ProjectId>, number: u64) -> Option<Job> {
        let jobs = self.waiting.get_mut(project)?;
        let place = jobs.iter().position(|job| job.number == number)?;
        let job = jobs.remove(place);
        if jobs.is_empty() {
            self.waiting.remove(project);
            self.turns.retain(|next| next != project);
        }
        job
    }
}

/// Somebody who waits for a job. When he goes away, the job does not begin, or is told.
struct Waits<'a> {
    pool: &'a PurePool,
    project: Option<ProjectId>,
    number: u64,
    cancel: CancelFlag,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.cancel.set();
        let job = self.pool.queues().remove(&self.project, self.number);
        // What it holds is let go of without the lock.
        drop(job);
    }
}

#[cfg(test)]
mod tests;
