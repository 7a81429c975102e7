//! Turns per second with many agents at work, and how long one turn takes alone, against plain commits.

use std::time::Duration;

use super::AREA;
use super::crew::burst;
use super::place::Place;
use crate::Plan;
use crate::costs::{Before, Total};
use crate::counting::CountingStore;
use crate::database::Database;
use crate::measure::{Latencies, median};
use crate::report::{Check, Line, Report};

/// Agents at work at once, in the case with a target.
pub(super) const MOST: usize = 64;
const RAW_CLIENTS: usize = 32;
const WARM_UP: Duration = Duration::from_secs(2);

/// What a turn may cost at most.
const COMMITS: f64 = 3.0;
const STATEMENTS: f64 = 15.0;
const LOG_BYTES: f64 = 8192.0;
/// How many plain commits long a turn may take.
const LATENCY: f64 = 10.0;

pub(super) async fn run(
    database: &dyn Database,
    counting: &CountingStore,
    place: &Place,
    plan: Plan,
    report: &mut Report,
) -> anyhow::Result<()> {
    database.settle().await?;
    let one = case(database, counting, place, plan, 1).await?;
    if let (Some(raw), Some(p50), true) = (one.raw, one.p50_ms, database.is_a_server()) {
        let times = p50 * raw / 1000.0;
        let target = format!("p50 ≤ {LATENCY} raw commits");
        report.checks.push(Check::new(&one.case, target, format!("{times:.1}"), times <= LATENCY));
    }
    report.lines.push(one);
    let many = case(database, counting, place, plan, MOST).await?;
    report.checks.push(Check::at_least(&many.case, database.turn_target(), many.ratio.unwrap_or(0.0)));
    report.checks.push(Check::at_most(&many.case, "commits", COMMITS, many.commits));
    if database.is_a_server() {
        if let Some(statements) = many.statements {
            report.checks.push(Check::at_most(&many.case, "statements", STATEMENTS, statements));
        }
        let bytes = many.wal_bytes.unwrap_or(f64::INFINITY);
        report.checks.push(Check::at_most(&many.case, "bytes of log", LOG_BYTES, bytes));
    }
    report.lines.push(many);
    Ok(())
}

async fn case(
    database: &dyn Database,
    counting: &CountingStore,
    place: &Place,
    plan: Plan,
    agents: usize,
) -> anyhow::Result<Line> {
    let case = format!("turns_w{agents}");
    let clients = agents.min(RAW_CLIENTS);
    database.raw_commits(clients, WARM_UP).await?;
    burst(place, agents, WARM_UP).await?;

    let (mut ours, mut raw, mut ratios) = (vec![], vec![], vec![]);
    let mut latencies = Latencies::default();
    let mut total = Total::default();
    let rows = database.stored_rows().await?;
    for round in 0..plan.rounds {
        let raw_first = round % 2 == 0;
        if raw_first {
            raw.push(database.raw_commits(clients, plan.time).await?);
        }
        let before = Before::now(database, counting).await?;
        let (times, taken) = burst(place, agents, plan.time).await?;
        total.add(&before, database, counting).await?;
        if !raw_first {
            raw.push(database.raw_commits(clients, plan.time).await?);
        }
        let (our_rate, raw_rate) = (times.len() as f64 / taken.as_secs_f64(), raw[raw.len() - 1]);
        eprintln!("bench: {case}: {our_rate:.0}/s of {raw_rate:.0}/s");
        ours.push(our_rate);
        ratios.push(our_rate / raw_rate);
        latencies.merge(times);
    }
    let stored = match (rows, database.stored_rows().await?) {
        (Some(before), Some(after)) => Some(after.saturating_sub(before)),
        (None, _) | (_, None) => None,
    };

    let n = latencies.len();
    let per_turn = |sum: f64| sum / n.max(1) as f64;
    Ok(Line {
        area: AREA,
        case,
        store: database.name(),
        value: median(&ours),
        unit: "turns/s",
        raw: Some(median(&raw)),
        ratio: Some(median(&ratios)),
        p50_ms: latencies.percentile_ms(0.5),
        p99_ms: latencies.percentile_ms(0.99),
        commits: per_turn(total.applied.commits as f64),
        statements: total.statements.map(|sum| per_turn(sum as f64)),
        wal_bytes: Some(per_turn(total.bytes as f64)),
        rows: Some(per_turn(stored.unwrap_or(total.applied.rows) as f64)),
        cpu_us: Some(per_turn(total.cpu_us)),
        n,
    })
}
