//! How much there is to do: gauges that are read from the store when somebody asks for them (OB-06).
//!
//! Counting what commits do would go wrong with every restart, so the rows are looked at instead. What is looked at has a limit;
//! beyond it a gauge says at least so many.

use crate::Kernel;
use cardwire_model::{Status, Timestamp, limits};
use cardwire_store::{Horizon, StoreError};

/// All there are, however young.
pub(crate) const EVERYTHING: Horizon = {
    let end = Timestamp::from_micros(i64::MAX);
    Horizon { dispatched: end, running: end, resume: end, pending: end, processing: end, given: end }
};

/// What was counted.
#[derive(Debug, Default)]
struct Work {
    dispatched: u64,
    running: u64,
    suspended: u64,
    queued: u64,
    batches: u64,
}

impl Kernel {
    /// Sets the gauges.
    pub async fn measure(&self) -> Result<(), StoreError> {
        let work = self.count_work().await?;
        let states = [
            (Status::Dispatched, work.dispatched),
            (Status::Running, work.running),
            (Status::Suspended, work.suspended),
        ];
        for (state, count) in states {
            metrics::gauge!("cardwire_turns", "state" => state.as_str()).set(count as f64);
        }
        metrics::gauge!("cardwire_inbox_queued").set(work.queued as f64);
        metrics::gauge!("cardwire_batches_open").set(work.batches as f64);
        metrics::gauge!("cardwire_pmo_waiting").set(self.pmo_slots.waiting() as f64);
        Ok(())
    }

    async fn count_work(&self) -> Result<Work, StoreError> {
        let mut work = Work::default();
        let mut after = None;
        for _ in 0..limits::MEASURED_PAGES {
            let page = self.store.due_heads(&EVERYTHING, after.as_ref(), limits::WATCHDOG_PAGE).await?;
            let heads = page.iter().filter_map(|watched| watched.head.as_ref());
            for head in heads {
                work.queued += u64::from(head.queued);
                match head.status() {
                    Status::Idle => {}
                    Status::Dispatched => work.dispatched += 1,
                    Status::Running => work.running += 1,
                    Status::Suspended => work.suspended += 1,
                }
            }
            let last = page.last().and_then(|last| Some((last.project.clone(), last.head.clone()?.agent_id)));
            if page.len() < limits::WATCHDOG_PAGE || last.is_none() {
                break;
            }
            after = last;
        }
        let mut after = None;
        for _ in 0..limits::MEASURED_PAGES {
            let page = self.store.running_batches(after.as_ref(), limits::WATCHDOG_PAGE).await?;
            work.batches += page.len() as u64;
            if page.len() < limits::WATCHDOG_PAGE {
                break;
            }
            after = page.last().cloned();
        }
        Ok(work)
    }
}
