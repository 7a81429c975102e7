//! Turns per second when the model takes no time, against plain commits, and how long one turn takes alone.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::AREA;
use super::burst::{Burst, burst};
use super::staff::Staff;
use crate::Plan;
use crate::costs::{Before, Total};
use crate::counting::CountingStore;
use crate::database::Database;
use crate::measure::{Latencies, median};
use crate::report::{Check, Line, Report};

const IN_FLIGHT: usize = 128;
const AGENTS: usize = 256;
const RAW_CLIENTS: usize = 32;
const WARM_UP: Duration = Duration::from_secs(2);
/// The least share of the raw commit rate.
const TARGET: f64 = 0.10;

/// One turn at a time.
pub(super) async fn alone(
    database: &dyn Database,
    counting: &CountingStore,
    staff: &Arc<Staff>,
    plan: Plan,
    report: &mut Report,
) -> anyhow::Result<()> {
    let line = case(database, counting, staff, plan, ("overhead_1", 1)).await?;
    let p50_us = line.p50_ms.unwrap_or_default() * 1000.0;
    report.lines.push(Line { value: p50_us, unit: "µs/turn", raw: None, ratio: None, ..line });
    Ok(())
}

/// Many at a time.
pub(super) async fn many(
    database: &dyn Database,
    counting: &CountingStore,
    staff: &Arc<Staff>,
    plan: Plan,
    report: &mut Report,
) -> anyhow::Result<()> {
    let line = case(database, counting, staff, plan, ("agents_w128", IN_FLIGHT)).await?;
    report.checks.push(Check::at_least(&line.case, TARGET, line.ratio.unwrap_or(0.0)));
    report.lines.push(line);
    Ok(())
}

async fn case(
    database: &dyn Database,
    counting: &CountingStore,
    staff: &Arc<Staff>,
    plan: Plan,
    (case, in_flight): (&str, usize),
) -> anyhow::Result<Line> {
    let agents = if in_flight == 1 { 1 } else { AGENTS };
    let crew = Arc::new(staff.hire(case, json!({ "reply": "All boats are in." }), agents).await?);
    database.settle().await?;
    let clients = in_flight.min(RAW_CLIENTS);
    database.raw_commits(clients, WARM_UP).await?;
    burst(staff, &crew, in_flight, Duration::ZERO, WARM_UP).await?;

    let (mut ours, mut raw, mut ratios) = (vec![], vec![], vec![]);
    let (mut latencies, mut total, mut n) = (Latencies::default(), Total::default(), 0);
    let rows = database.stored_rows().await?;
    for round in 0..plan.rounds {
        let raw_first = round % 2 == 0;
        if raw_first {
            raw.push(database.raw_commits(clients, plan.time).await?);
        }
        let before = Before::now(database, counting).await?;
        let Burst { latencies: times, all, requests } =
            burst(staff, &crew, in_flight, Duration::ZERO, plan.time).await?;
        total.add(&before, database, counting).await?;
        if !raw_first {
            raw.push(database.raw_commits(clients, plan.time).await?);
        }
        let (our_rate, raw_rate) = (times.len() as f64 / plan.time.as_secs_f64(), raw[raw.len() - 1]);
        let requests = requests as f64 / all.max(1) as f64;
        eprintln!("bench: {case}: {our_rate:.0}/s of {raw_rate:.0}/s, {requests:.1} requests per turn");
        ours.push(our_rate);
        ratios.push(our_rate / raw_rate);
        latencies.merge(times);
        n += all;
    }
    let stored = match (rows, database.stored_rows().await?) {
        (Some(before), Some(after)) => Some(after.saturating_sub(before)),
        (None, _) | (_, None) => None,
    };

    let per_turn = |sum: f64| sum / n.max(1) as f64;
    Ok(Line {
        area: AREA,
        case: case.to_owned(),
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
        n: latencies.len(),
    })
}
