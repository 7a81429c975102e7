//! How long a new process takes until it serves, when a million turns lie behind it.

use std::time::{Duration, Instant};

use cardwire_kernel::protocol::Actor;
use cardwire_kernel::{Caller, Kernel, KernelConfig};

use super::AREA;
use super::place::claim;
use crate::database::Database;
use crate::report::{Check, Line, Report};

const CASE: &str = "restart_1m";
const TURNS: usize = 1_000_000;
const AGENTS: usize = 10_000;
const LIMIT: Duration = Duration::from_secs(5);

pub(super) async fn run(database: &dyn Database, report: &mut Report) -> anyhow::Result<()> {
    eprintln!("bench: {CASE}: filling a database with {TURNS} turns");
    database.open(CASE).await?.close().await;
    database.fill(CASE, AGENTS, TURNS).await?;

    let begun = Instant::now();
    let kernel = Kernel::start(KernelConfig::new(database.open(CASE).await?));
    kernel.health().await?;
    let caller = Caller { actor: Actor::system("bench") };
    let leases = kernel.claim_now(&caller, &claim("worker", Duration::ZERO)?).await?;
    let tick = kernel.tick(None).await?;
    let taken = begun.elapsed();
    kernel.shutdown().await;
    database.drop(CASE).await?;

    let idle = leases.is_empty() && tick.actions.is_empty();
    report.checks.push(Check::new(CASE, "nothing to do", if idle { "nothing" } else { "something" }, idle));
    let target = format!("≤ {} s", LIMIT.as_secs());
    report.checks.push(Check::new(CASE, target, format!("{:.2} s", taken.as_secs_f64()), taken <= LIMIT));
    report.lines.push(Line {
        area: AREA,
        case: CASE.to_owned(),
        store: database.name(),
        value: taken.as_secs_f64() * 1000.0,
        unit: "ms",
        n: 1,
        ..Line::default()
    });
    Ok(())
}
