//! The area `inspector`: how long pages take, how large they are, what they hold in the server's memory, and how they feel in a
//! browser (the budgets of the inspector).
//!
//! The server is a process of its own, this program again, so that its memory is that of a server and nothing else. Budgets are
//! absolute: people wait in milliseconds, not in ratios.

mod browser;
mod facts;
mod pages;
mod rows;
pub(crate) mod server;
mod visitor;

use std::sync::Arc;

use anyhow::Context;
use cardwire_kernel::{Kernel, KernelConfig};

use crate::database::Database;
use crate::report::Report;
pub(crate) use browser::Browser;
use pages::Case;
use server::Memory;

const AREA: &str = "inspector";
/// The database that is looked at.
const NAME: &str = "inspected";

/// What the area is told besides.
pub(crate) struct Surroundings {
    /// Names the backend to the server's process.
    pub(crate) store: &'static str,
    /// Where pages are opened, if there is one.
    pub(crate) browser: Option<Browser>,
}

pub(crate) async fn run(
    database: &dyn Database,
    around: Surroundings,
    only: Option<&str>,
) -> anyhow::Result<Report> {
    let wanted = |case: &str| only.is_none_or(|only| case.starts_with(only) || only.starts_with(case));
    let store = database.open(NAME).await?;
    let mut cases = vec![];
    if wanted("runs_of_1m") {
        let path = rows::many(Arc::clone(&store)).await.context("cannot write a million turns")?;
        cases.push(Case::new("runs_of_1m", path).within_ms(20.0));
    }
    if wanted("runs_of_10k_turns") {
        let path = rows::large(Arc::clone(&store)).await.context("cannot write large runs")?;
        cases.push(Case::new("runs_of_10k_turns", path).within_ms(20.0));
    }
    if wanted("run_of_10k") {
        let path = rows::tree(Arc::clone(&store)).await.context("cannot write a run")?;
        cases.push(
            Case::new("run_of_10k", path)
                .within_ms(200.0)
                .within_bytes(2.2e6)
                .ready_within(1_000.0)
                .scrolls(),
        );
    }
    let kernel = Kernel::idle(KernelConfig::new(store));
    let token = kernel.ensure_admin(None).await.context("cannot make a token")?;
    if wanted("box_of_5k") {
        let path = facts::a_box(&kernel).await?;
        cases.push(Case::new("box_of_5k", path).within_ms(100.0).ready_within(800.0).scrolls());
    }
    if wanted("call_of_1m") {
        for path in facts::call(&kernel).await? {
            let name = if path.contains('?') { "call_of_1m_bytes" } else { "call_of_1m" };
            cases.push(Case::new(name, path).within_ms(250.0).ready_within(800.0).scrolls());
        }
    }
    let live = if wanted("event_to_pixel") { Some(facts::live(&kernel).await?) } else { None };
    kernel.seal_audit().await?;
    kernel.shutdown().await;
    database.settle_other(NAME).await?;

    let mut report = Report::default();
    let place = database.location(NAME)?;
    let open = |memory| server::Server::start(around.store, &place, token.expose(), memory);
    for case in &cases {
        // New servers for each, which have nothing of other pages in their memory.
        case.measure_time(&open(Memory::Kept)?, database.name(), &mut report)?;
        case.measure_memory(&open(Memory::GivenBack)?, database.name(), &mut report)?;
    }
    match &around.browser {
        Some(browser) => {
            browser.measure(&open(Memory::Kept)?, &cases, live.as_ref(), database.name(), &mut report)?;
        }
        None => eprintln!("bench: no browser: no directory `node_modules` was given"),
    }
    database.drop(NAME).await?;
    Ok(report)
}
