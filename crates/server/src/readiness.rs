//! What callers without a token are told of the server's readiness (SEC-01, F-14): only whether it is ready, from a look at the
//! store that they share. It must not know who they are.
//!
//! Invariant: however many ask, the store is looked at once in [`limits::READY_SHARED_MS`], and by one request at a time.

use cardwire_kernel::Kernel;
use cardwire_model::{Timestamp, limits};
use tokio::sync::Mutex;

/// The last look.
#[derive(Default)]
pub(crate) struct Readiness(Mutex<Option<Look>>);

#[derive(Clone, Copy)]
struct Look {
    at: Timestamp,
    is_ready: bool,
}

impl Look {
    fn is_fresh(self, now: Timestamp) -> bool {
        (0..limits::READY_SHARED_MS * 1_000).contains(&(now.micros() - self.at.micros()))
    }
}

impl Readiness {
    /// Whether the server can do its work.
    pub(crate) async fn is_ready(&self, kernel: &Kernel) -> bool {
        let mut last = self.0.lock().await;
        if let Some(look) = last.filter(|look| look.is_fresh(kernel.now())) {
            return look.is_ready;
        }
        let is_ready = kernel.takes_writes().await.is_ok();
        *last = Some(Look { at: kernel.now(), is_ready });
        is_ready
    }
}
