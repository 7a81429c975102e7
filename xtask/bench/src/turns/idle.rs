//! What it costs to do nothing: many idle agents, some workers that wait.

use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use cardwire_kernel::protocol::Actor;
use cardwire_kernel::{Caller, Kernel, KernelConfig};
use tokio::task::JoinSet;

use super::AREA;
use super::place::claim;
use crate::database::Database;
use crate::measure::Spending;
use crate::report::{Check, Line, Report};

const FEW: usize = 100;
const MANY: usize = 10_000;
const WORKERS: usize = 10;
const TIME: Duration = Duration::from_secs(5);
/// Of processor time, over all of it.
const LIMIT_US: f64 = 500_000.0;
/// Below this a comparison says nothing.
const TINY_US: f64 = 100_000.0;

pub(super) async fn run(database: &dyn Database, report: &mut Report) -> anyhow::Result<()> {
    let (few, many) = (case(database, FEW, report).await?, case(database, MANY, report).await?);
    let name = "idle_10k";
    report.checks.push(Check::at_most(name, "µs of processor time in 5 s", LIMIT_US, many));
    let met = many <= (2.0 * few).max(TINY_US);
    let target = "about as much as 100 agents";
    report.checks.push(Check::new(name, target, format!("{few:.0} and {many:.0} µs"), met));
    Ok(())
}

async fn case(database: &dyn Database, agents: usize, report: &mut Report) -> anyhow::Result<f64> {
    let name = format!("idle_{agents}");
    database.open(&name).await?.close().await;
    database.fill(&name, agents, 0).await?;
    let kernel = Kernel::start(KernelConfig::new(database.open(&name).await?));
    // Connections and plans are made once.
    wait(&kernel, Duration::from_secs(2)).await?;
    let before = Spending::now(database).await?;
    wait(&kernel, TIME).await?;
    let spent = before.until_now(database).await?;
    kernel.shutdown().await;
    database.drop(&name).await?;

    let (cpu_us, seconds) = (spent.cpu_us, TIME.as_secs_f64());
    report.lines.push(Line {
        area: AREA,
        case: name,
        store: database.name(),
        value: cpu_us / seconds,
        unit: "cpu µs/s",
        statements: spent.statements.map(|sum| sum as f64 / seconds),
        wal_bytes: Some(spent.bytes as f64 / seconds),
        cpu_us: Some(cpu_us / seconds),
        n: 1,
        ..Line::default()
    });
    Ok(cpu_us)
}

async fn wait(kernel: &Arc<Kernel>, time: Duration) -> anyhow::Result<()> {
    let mut workers = JoinSet::new();
    for number in 0..WORKERS {
        let (kernel, request) = (Arc::clone(kernel), claim(&format!("worker-{number}"), time)?);
        let caller = Caller { actor: Actor::system("bench") };
        workers.spawn(async move { kernel.claim(&caller, &request).await });
    }
    while let Some(claimed) = workers.join_next().await {
        ensure!(claimed??.is_empty(), "an idle agent had a turn");
    }
    Ok(())
}
