//! Many turns whose model takes its time: how close they come to the rate of the model alone, and what each takes beyond.

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

const CASE: &str = "agents_delay";
const DELAY: Duration = Duration::from_millis(200);
const IN_FLIGHT: usize = 500;
const WARM_UP: Duration = Duration::from_secs(1);
/// Of the model's own rate, or of what the processors allow, whichever is lower.
const TARGET: f64 = 0.9;

/// What the processors allow is the rate of as many turns, of as many agents, whose model takes no time. It is measured in
/// turns with the other, because a machine is not equally fast all the time.
pub(super) async fn run(
    database: &dyn Database,
    counting: &CountingStore,
    staff: &Arc<Staff>,
    plan: Plan,
    report: &mut Report,
) -> anyhow::Result<()> {
    let reply = "All boats are in.";
    let slow = json!({ "reply": reply, "delay_ms": DELAY.as_millis() as u64 });
    let crew = Arc::new(staff.hire(CASE, slow, IN_FLIGHT).await?);
    let at_once = Arc::new(staff.hire("agents_bound", json!({ "reply": reply }), IN_FLIGHT).await?);
    burst(staff, &crew, IN_FLIGHT, DELAY, WARM_UP).await?;
    let ideal = IN_FLIGHT as f64 / DELAY.as_secs_f64();
    let (mut rates, mut limits, mut ratios, mut latencies) = (vec![], vec![], vec![], Latencies::default());
    let (mut total, mut n) = (Total::default(), 0);
    for _ in 0..plan.rounds {
        let bound = burst(staff, &at_once, IN_FLIGHT, Duration::ZERO, plan.time).await?;
        let limit = (bound.latencies.len() as f64 / plan.time.as_secs_f64()).min(ideal);
        let before = Before::now(database, counting).await?;
        let Burst { latencies: times, all, requests } =
            burst(staff, &crew, IN_FLIGHT, DELAY, plan.time).await?;
        total.add(&before, database, counting).await?;
        let (rate, requests) =
            (times.len() as f64 / plan.time.as_secs_f64(), requests as f64 / all.max(1) as f64);
        eprintln!("bench: {CASE}: {rate:.0}/s of {limit:.0}/s, {requests:.1} requests per turn");
        rates.push(rate);
        limits.push(limit);
        ratios.push(rate / limit);
        latencies.merge(times);
        n += all;
    }

    let (rate, ratio) = (median(&rates), median(&ratios));
    let words = format!("≥ {TARGET} of {ideal:.0}/s or of the rate without delay, whichever is lower");
    report.checks.push(Check::new(CASE, words, format!("{ratio:.2}"), ratio >= TARGET));
    let per_turn = |sum: f64| sum / n.max(1) as f64;
    report.lines.push(Line {
        area: AREA,
        case: CASE.to_owned(),
        store: database.name(),
        value: rate,
        unit: "turns/s",
        raw: Some(median(&limits)),
        ratio: Some(ratio),
        p50_ms: latencies.percentile_ms(0.5),
        p99_ms: latencies.percentile_ms(0.99),
        commits: per_turn(total.applied.commits as f64),
        statements: total.statements.map(|sum| per_turn(sum as f64)),
        wal_bytes: Some(per_turn(total.bytes as f64)),
        rows: Some(per_turn(total.applied.rows as f64)),
        cpu_us: Some(per_turn(total.cpu_us)),
        n: latencies.len(),
    });
    let beyond = latencies.less(DELAY);
    report.lines.push(Line {
        area: AREA,
        case: "overhead_500".to_owned(),
        store: database.name(),
        value: beyond.percentile_ms(0.5).unwrap_or_default() * 1000.0,
        unit: "µs/turn",
        p50_ms: beyond.percentile_ms(0.5),
        p99_ms: beyond.percentile_ms(0.99),
        n: beyond.len(),
        ..Line::default()
    });
    Ok(())
}
