//! Whether anybody still waits for a long computation. Loops of pure code look at it between two pieces of work.

use crate::Invalid;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Set by whoever asked for a computation and does not want it any more. Its copies are one flag.
#[derive(Debug, Clone, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

/// Nobody waits any more. Nobody reads this either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancelled;

impl CancelFlag {
    /// Nobody waits any more.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether nobody waits any more.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Ends a computation that nobody waits for.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_set() { Err(Cancelled) } else { Ok(()) }
    }
}

impl From<Cancelled> for Invalid {
    fn from(_: Cancelled) -> Self {
        Self::field("request", "was given up by its caller")
    }
}
