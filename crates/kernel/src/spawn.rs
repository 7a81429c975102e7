//! Starts the tasks of a kernel. They are tracked: shutting down waits for every one of them.
//! Invariant: a task that panics is told of when it does, and no task takes another with it.

use futures_util::FutureExt;
use std::{
    future::Future,
    panic::AssertUnwindSafe,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::{sync::watch, task::JoinSet};

/// Pause before a task that panicked is begun again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Background tasks of one kernel.
pub struct Tasks {
    running: Mutex<JoinSet<()>>,
    stop: watch::Sender<bool>,
}

/// Told to a task when it is time to end.
#[derive(Clone)]
pub struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Completes when the task should end.
    pub async fn stopped(&mut self) {
        // An error means that the sender is gone, which ends tasks as well.
        let _ = self.0.wait_for(|stop| *stop).await;
    }
}

impl Default for Tasks {
    fn default() -> Self {
        Self { running: Mutex::default(), stop: watch::Sender::new(false) }
    }
}

impl Tasks {
    /// Starts a task that ends when told to. One that panics stays away.
    pub fn spawn<F>(&self, name: &'static str, task: impl FnOnce(Stop) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let task = task(self.stop());
        self.run(async move {
            survived(name, task).await;
        });
    }

    /// The same for a task that keeps nothing and finds its work by looking: one that panics is begun again.
    pub fn keep<F>(&self, name: &'static str, task: impl Fn(Stop) -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut stop = self.stop();
        self.run(async move {
            while !survived(name, task(stop.clone())).await {
                tokio::select! {
                    () = tokio::time::sleep(AGAIN_AFTER) => {}
                    () = stop.stopped() => return,
                }
            }
        });
    }

    fn run(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).spawn(task);
    }

    /// Something to wait on for the end.
    pub fn stop(&self) -> Stop {
        Stop(self.stop.subscribe())
    }

    /// Tells every task to end.
    pub fn begin_shutdown(&self) {
        self.stop.send_replace(true);
    }

    /// Waits until every task has ended.
    pub async fn shutdown(&self) {
        self.begin_shutdown();
        let mut running = std::mem::take(&mut *self.running.lock().unwrap_or_else(PoisonError::into_inner));
        while running.join_next().await.is_some() {}
    }
}

/// Tasks that come and go in great numbers, such as connections. Dropping it ends them all.
#[derive(Default)]
pub struct Crowd(JoinSet<()>);

impl Crowd {
    /// Starts a task. Those that have ended are forgotten.
    pub fn spawn(&mut self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        while self.0.try_join_next().is_some() {}
        self.0.spawn(async move {
            survived(name, task).await;
        });
    }

    /// Waits for all of them, but not for longer than that; answers how many had to be ended.
    pub async fn end_within(mut self, limit: Duration) -> usize {
        let all = async { while self.0.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(limit, all).await;
        self.0.len()
    }
}

/// Runs a task; answers whether it came to its end. What it panicked with may be content, and is not told here.
async fn survived(name: &'static str, task: impl Future<Output = ()>) -> bool {
    // What tasks share is either behind locks that are taken again after a panic, or checked by the commit that relies on it.
    let survived = AssertUnwindSafe(task).catch_unwind().await.is_ok();
    if !survived {
        metrics::counter!("cardwire_tasks_panicked_total").increment(1);
        tracing::error!(task = name, "a background task panicked");
    }
    survived
}

#[cfg(test)]
mod tests;
