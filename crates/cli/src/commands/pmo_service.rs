//! How many calls a server works on at once (PM-17): flags of `cardwire up`.

use cardwire_kernel::PmoConfig;
use clap::Args;
use std::num::NonZeroUsize;

const HEADING: &str = "Orchestration";

#[derive(Debug, Args)]
pub(crate) struct PmoArgs {
    /// Calls of PMO tools worked on at once.
    #[arg(long, value_name = "N", default_value_t = default_concurrency(), help_heading = HEADING)]
    pmo_max_concurrency: NonZeroUsize,
    /// Calls that may wait; one more is answered with 503. 0 means any number.
    #[arg(long, value_name = "N", default_value_t = PmoConfig::default().queue_maxsize, help_heading = HEADING)]
    pmo_queue_maxsize: usize,
}

fn default_concurrency() -> NonZeroUsize {
    NonZeroUsize::new(PmoConfig::default().max_concurrency).unwrap_or(NonZeroUsize::MIN)
}

impl PmoArgs {
    pub(crate) const fn config(&self) -> PmoConfig {
        PmoConfig { max_concurrency: self.pmo_max_concurrency.get(), queue_maxsize: self.pmo_queue_maxsize }
    }
}
