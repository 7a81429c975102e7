//! The area `context`: composing a large request, one more turn of a long session, and searching many passages.

mod compose;
mod search;
mod session;

use std::sync::Arc;

use cardwire_kernel::{Kernel, KernelConfig};

use crate::Plan;
use crate::counting::counting;
use crate::database::Database;
use crate::report::Report;

const AREA: &str = "context";

pub(crate) async fn run(
    database: Arc<dyn Database>,
    plan: Plan,
    only: Option<&str>,
) -> anyhow::Result<Report> {
    let mut report = Report::default();
    let database = database.as_ref();
    let counting = counting(database.store());
    let kernel = Kernel::idle(KernelConfig::new(Arc::clone(&counting) as _));
    let wanted = |case: &str| only.is_none_or(|only| case.starts_with(only) || only.starts_with(case));
    if wanted("session") {
        session::run(database, Arc::clone(&kernel), &mut report).await?;
    }
    if wanted("compose") {
        compose::run(database, Arc::clone(&kernel), plan, &mut report).await?;
    }
    if wanted("search") {
        search::run(database, kernel, &mut report).await?;
    }
    Ok(report)
}
