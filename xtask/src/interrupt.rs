//! Ctrl-C and termination signals, turned into a request that commands look at.
//!
//! A signal must not end the process at once: the servers it started would stay behind. Every wait in this
//! crate therefore goes through [`pause`], which ends early when somebody wants to stop, and the guards
//! that stop the servers run on the way out.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;

static REQUESTED: Mutex<bool> = Mutex::new(false);
static CHANGED: Condvar = Condvar::new();

/// From here on SIGINT, SIGTERM and SIGHUP are requests instead of the end of the process.
pub(crate) fn listen() -> anyhow::Result<()> {
    ctrlc::set_handler(request).context("cannot listen for signals")
}

/// Ask the running command to stop.
pub(crate) fn request() {
    *lock() = true;
    CHANGED.notify_all();
}

/// Wait for `time`, or less when somebody asks to stop; says whether somebody did.
pub(crate) fn pause(time: Duration) -> bool {
    let waited = CHANGED.wait_timeout_while(lock(), time, |requested| !*requested);
    *waited.unwrap_or_else(PoisonError::into_inner).0
}

fn lock() -> MutexGuard<'static, bool> {
    REQUESTED.lock().unwrap_or_else(PoisonError::into_inner)
}
