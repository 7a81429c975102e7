//! The area `fork_join`: from the call to the parent's result, with workers that do nothing in between.
//!
//! One agent forks N children and waits; a few workers claim what waits, end it, and in the end are given the parent to
//! go on with. What a fork inherits is measured by itself: it must not matter how much that is.

mod inherit;
mod round;

use std::sync::Arc;
use std::time::Duration;

use cardwire_kernel::{Kernel, KernelConfig};

use crate::Plan;
use crate::counting::{CountingStore, counting};
use crate::database::Database;
use crate::measure::{Latencies, Spending, median};
use crate::report::{Check, Line, Report};
use crate::turns::place::Place;
use round::Round;

const AREA: &str = "fork_join";
/// How many children, and how often it is done in each round.
const SIZES: [(usize, u32); 4] = [(10, 20), (100, 5), (1_000, 2), (10_000, 1)];
const RAW_CLIENTS: usize = 32;
const RAW_TIME: Duration = Duration::from_secs(2);
/// What forking 1,000 children may cost.
const COMMITS: f64 = 20.0;
/// How much longer 1,000 children may take than 100.
const GROWTH: f64 = 12.0;

pub(crate) async fn run(
    database: Arc<dyn Database>,
    plan: Plan,
    only: Option<&str>,
) -> anyhow::Result<Report> {
    let mut report = Report::default();
    let database = database.as_ref();
    let counting = counting(database.store());
    let wanted = |case: &str| only.is_none_or(|only| case.starts_with(only) || only.starts_with(case));
    // First, while no checkpoint is under way: that would write whole pages.
    if wanted("inherit") {
        let kernel = Kernel::idle(KernelConfig::new(Arc::clone(&counting) as _));
        inherit::run(database, &counting, kernel, &mut report).await?;
    }
    let kernel = Kernel::start(KernelConfig::new(Arc::clone(&counting) as _));
    let mut place = Place::create(Arc::clone(&kernel), "fork", 0).await?;
    round::run(&mut place, &counting, 100).await?;
    let mut times = vec![];
    for (children, forks) in SIZES {
        if wanted(&format!("fork_{children}")) {
            let time = case(database, &counting, &mut place, (children, forks), plan, &mut report).await?;
            times.push((children, time));
        }
    }
    let time_of =
        |wanted: usize| times.iter().find(|(children, _)| *children == wanted).map(|(_, time)| *time);
    if let (Some(hundred), Some(thousand)) = (time_of(100), time_of(1_000)) {
        let growth = thousand / hundred;
        let target = format!("time(1,000) ≤ {GROWTH} × time(100)");
        report.checks.push(Check::new("fork_1000", target, format!("{growth:.1}"), growth <= GROWTH));
    }
    kernel.tasks().shutdown().await;
    Ok(report)
}

/// Answers the median time of a fork in seconds.
async fn case(
    database: &dyn Database,
    counting: &CountingStore,
    place: &mut Place,
    (children, forks): (usize, u32),
    plan: Plan,
    report: &mut Report,
) -> anyhow::Result<f64> {
    let case = format!("fork_{children}");
    database.settle().await?;
    let (mut rates, mut raws, mut ratios, mut times) = (vec![], vec![], vec![], vec![]);
    let (mut latencies, mut made, mut commits, mut bytes, mut cpu) =
        (Latencies::default(), 0.0_f64, 0, 0, 0.0);
    let rounds = if children >= 10_000 { 1 } else { plan.rounds };
    for _ in 0..rounds {
        let raw = database.raw_commits(RAW_CLIENTS, RAW_TIME).await?;
        let spending = Spending::now(database).await?;
        let before = counting.intercept().applied().commits;
        let mut round = vec![];
        for _ in 0..forks {
            let Round { time, creating } = round::run(place, counting, children).await?;
            latencies.add(time);
            round.push(time.as_secs_f64());
            made = made.max(creating as f64);
        }
        database.store().number_events().await?;
        let spent = spending.until_now(database).await?;
        (bytes, cpu) = (bytes + spent.bytes, cpu + spent.cpu_us);
        commits += counting.intercept().applied().commits - before;
        let rate = children as f64 / median(&round);
        eprintln!("bench: {case}: {:.0} ms, {rate:.0} children/s of {raw:.0}/s", median(&round) * 1000.0);
        times.extend(round);
        rates.push(rate);
        raws.push(raw);
        ratios.push(rate / raw);
    }
    let ratio = median(&ratios);
    report.checks.push(Check::at_least(&case, database.turn_target(), ratio));
    if children == 1_000 {
        report.checks.push(Check::at_most(&case, "commits to fork", COMMITS, made));
    }
    let ended = f64::from(rounds) * f64::from(forks) * children as f64;
    report.lines.push(Line {
        area: AREA,
        case,
        store: database.name(),
        value: median(&rates),
        unit: "children/s",
        raw: Some(median(&raws)),
        ratio: Some(ratio),
        p50_ms: latencies.percentile_ms(0.5),
        p99_ms: latencies.percentile_ms(0.99),
        commits: commits as f64 / ended,
        wal_bytes: Some(bytes as f64 / ended),
        cpu_us: Some(cpu / ended),
        n: latencies.len(),
        ..Line::default()
    });
    Ok(median(&times))
}
