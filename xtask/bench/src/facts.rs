//! The area `facts`: cards and boxes.
//!
//! Order matters: what needs a quiet, small database comes first, and only the writers run with background work.

mod growth;
mod reads;
mod writes;

use std::sync::Arc;

use cardwire_kernel::{Kernel, KernelConfig};

use crate::Plan;
use crate::database::Database;
use crate::report::Report;
use crate::world::World;

const AREA: &str = "facts";

pub(crate) async fn run(database: Arc<dyn Database>, plan: Plan) -> anyhow::Result<Report> {
    let mut report = Report::default();
    let idle = || Kernel::idle(KernelConfig::new(database.store()));

    let world = World::create(idle(), "reads").await?;
    reads::run(database.as_ref(), &world, plan, &mut report).await?;
    let world = World::create(idle(), "growth").await?;
    growth::run(database.as_ref(), &world, &mut report).await?;

    let kernel = Kernel::start(KernelConfig::new(database.store()));
    let world = World::create(Arc::clone(&kernel), "writes").await?;
    let outcome = writes::run(database.as_ref(), &world, plan, &mut report).await;
    kernel.shutdown().await;
    outcome.map(|()| report)
}
