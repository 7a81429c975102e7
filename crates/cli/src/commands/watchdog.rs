//! When the watchdog of a server acts: flags of `cardwire up`.

use cardwire_kernel::protocol::watchdog::Policy;
use clap::Args;

const HEADING: &str = "Watchdog";

/// Seconds; 0 or less switches a rule off.
#[derive(Debug, Args)]
pub(crate) struct WatchdogArgs {
    /// Between two looks.
    #[arg(long, value_name = "N", default_value_t = Policy::default().tick, allow_negative_numbers = true, help_heading = HEADING)]
    watchdog_tick_seconds: i64,
    /// Ring again for a turn that no worker has claimed.
    #[arg(long, value_name = "N", default_value_t = Policy::default().dispatched_retry, allow_negative_numbers = true, help_heading = HEADING)]
    watchdog_dispatched_retry_seconds: i64,
    /// End a turn that no worker has claimed. Off unless it is set: work that nobody serves yet waits.
    #[arg(long, value_name = "N", default_value_t = Policy::default().dispatched_timeout, allow_negative_numbers = true, help_heading = HEADING)]
    watchdog_dispatched_timeout_seconds: i64,
    /// Take a turn back from a worker that has claimed it and not started it.
    #[arg(long, value_name = "N", default_value_t = Policy::default().claim_start_timeout, allow_negative_numbers = true, help_heading = HEADING)]
    watchdog_claim_start_timeout_seconds: i64,
    /// Take away a turn whose worker is silent.
    #[arg(long, value_name = "N", default_value_t = Policy::default().active_reap, allow_negative_numbers = true, help_heading = HEADING)]
    watchdog_active_reap_seconds: i64,
    /// Give a turn whose worker is silent to a worker that asks for such turns (`recover: "target"`).
    #[arg(long, value_name = "N", default_value_t = Policy::default().worker_lost, allow_negative_numbers = true, help_heading = HEADING)]
    watchdog_worker_lost_seconds: i64,
    /// Ring again for a row that nobody has claimed.
    #[arg(long, value_name = "N", default_value_t = Policy::default().pending_wakeup, allow_negative_numbers = true, help_heading = HEADING)]
    watchdog_pending_wakeup_seconds: i64,
    /// Put back a row that was claimed and not used.
    #[arg(long, value_name = "N", default_value_t = Policy::default().processing_timeout, allow_negative_numbers = true, help_heading = HEADING)]
    watchdog_processing_timeout_seconds: i64,
}

impl WatchdogArgs {
    /// Leaves every turn as it is.
    pub(crate) const fn switch_off(&mut self) {
        self.watchdog_tick_seconds = 0;
    }

    pub(crate) const fn policy(&self) -> Policy {
        Policy {
            tick: self.watchdog_tick_seconds,
            dispatched_retry: self.watchdog_dispatched_retry_seconds,
            dispatched_timeout: self.watchdog_dispatched_timeout_seconds,
            claim_start_timeout: self.watchdog_claim_start_timeout_seconds,
            active_reap: self.watchdog_active_reap_seconds,
            worker_lost: self.watchdog_worker_lost_seconds,
            pending_wakeup: self.watchdog_pending_wakeup_seconds,
            processing_timeout: self.watchdog_processing_timeout_seconds,
        }
    }
}
