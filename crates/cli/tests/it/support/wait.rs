//! Waiting for conditions, never for time alone.

use std::{
    sync::mpsc,
    time::{Duration, Instant},
};

/// How long a condition may take before the test fails. Far more than any should need, also on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// Asks again and again until there is an answer; `what` names the condition in the failure.
pub(crate) fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    // Nobody ever sends: this yields the processor between two questions.
    let (_sender, pause) = mpsc::channel::<()>();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "{what}: not within {DEADLINE:?}");
        let _ = pause.recv_timeout(Duration::from_millis(10));
    }
}
