//! The area `turns`: from enqueue to task event, with a worker that does nothing in between.
//!
//! A turn is two commits: it is dispatched to a worker that waits for it, and it ends with its only card, its only step
//! and its deliverable. (A worker that comes later claims it, which is a third.) What needs a quiet database comes first; then come those who share it with background work.

mod crew;
mod delay;
mod history;
mod idle;
pub(crate) mod place;
mod restart;
mod rows;
mod throughput;

use std::sync::Arc;

use cardwire_kernel::{Kernel, KernelConfig};

use crate::Plan;
use crate::counting::counting;
use crate::database::Database;
use crate::report::Report;
use place::Place;

const AREA: &str = "turns";

pub(crate) async fn run(
    database: Arc<dyn Database>,
    plan: Plan,
    only: Option<&str>,
) -> anyhow::Result<Report> {
    let mut report = Report::default();
    let database = database.as_ref();
    let wanted = |case: &str| only.is_none_or(|only| case.starts_with(only) || only.starts_with(case));
    let counting = counting(database.store());

    if wanted("turns_h") {
        let kernel = Kernel::idle(KernelConfig::new(Arc::clone(&counting) as _));
        history::run(database, &counting, kernel, &mut report).await?;
    }
    if wanted("turns_w") {
        let kernel = Kernel::start(KernelConfig::new(Arc::clone(&counting) as _));
        let place = Place::create(Arc::clone(&kernel), "turns", throughput::MOST).await?;
        throughput::run(database, &counting, &place, plan, &mut report).await?;
        kernel.tasks().shutdown().await;
    }
    if wanted(rows::CASE) {
        rows::run(database, plan, &mut report).await?;
    }
    if wanted("turns_delay3ms") {
        delay::run(database, plan, &mut report).await?;
    }
    if wanted("idle_10k") {
        idle::run(database, &mut report).await?;
    }
    if wanted("restart_1m") {
        restart::run(database, &mut report).await?;
    }
    Ok(report)
}
