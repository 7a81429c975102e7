//! The area `agents`: whole turns by the worker that runs agents, with a scripted model, in this process.
//!
//! A turn is dispatched as a client does it, claimed, composed with linter and manifest, answered by the model and
//! delivered. Client and worker speak the HTTP interface to the server's own router, so that everything but the network is
//! in it. What a model takes is not ours: it is none, or a delay that is taken off again.

mod burst;
mod delay;
mod memory;
mod port;
mod staff;
mod throughput;

use std::sync::Arc;

use cardwire_kernel::{Kernel, KernelConfig};

use crate::Plan;
use crate::counting::counting;
use crate::database::Database;
use crate::report::Report;
use staff::Staff;

const AREA: &str = "agents";

pub(crate) async fn run(
    database: Arc<dyn Database>,
    plan: Plan,
    only: Option<&str>,
) -> anyhow::Result<Report> {
    let mut report = Report::default();
    let database = database.as_ref();
    let wanted = |case: &str| only.is_none_or(|only| case.starts_with(only) || only.starts_with(case));
    let counting = counting(database.store());
    let kernel = Kernel::start(KernelConfig::new(Arc::clone(&counting) as _));
    let staff = Arc::new(Staff::create(&kernel).await?);

    // First: many turns at once leave free memory behind, in which these would not show.
    if wanted("memory_suspended") {
        memory::run(database, &staff, &mut report).await?;
    }
    if wanted("overhead_1") {
        throughput::alone(database, &counting, &staff, plan, &mut report).await?;
    }
    if wanted("agents_w128") {
        throughput::many(database, &counting, &staff, plan, &mut report).await?;
    }
    if wanted("agents_delay") || wanted("overhead_500") {
        delay::run(database, &counting, &staff, plan, &mut report).await?;
    }
    kernel.tasks().shutdown().await;
    Ok(report)
}
