//! The only place that reads the time.

use cardwire_model::Timestamp;

/// Tells the time.
pub trait Clock: Send + Sync {
    /// The moment now.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(jiff::Timestamp::now().as_microsecond())
    }
}
