//! The only place that starts tasks. They are tracked: shutting down waits for every one of them.

use std::{
    future::Future,
    sync::{Mutex, PoisonError},
};
use tokio::{sync::watch, task::JoinSet};

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
    /// Starts a task that ends when told to.
    pub fn spawn<F: Future<Output = ()> + Send + 'static>(&self, task: impl FnOnce(Stop) -> F) {
        let task = task(self.stop());
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
