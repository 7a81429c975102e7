//! What one more turn costs when much has been said before: with a long context and a long output box.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use cardwire_kernel::Kernel;
use cardwire_model::{AgentId, BoxId};

use super::AREA;
use super::place::Place;
use crate::counting::CountingStore;
use crate::database::Database;
use crate::measure::{Latencies, median};
use crate::report::{Check, Line, Report};

const SHORT: usize = 50;
const LONG: usize = 5000;
const BLOCKS: usize = 10;
const TURNS: usize = 10;
const WARM_UP: usize = 10;
/// By how much equal work may differ.
const TOLERANCE: f64 = 0.1;

/// An agent with a past.
struct Agent {
    id: AgentId,
    context_box: BoxId,
    output_box: BoxId,
}

/// What turns cost one agent.
#[derive(Default)]
struct Cost {
    latencies: Latencies,
    bytes: Vec<f64>,
    rows: u64,
    commits: u64,
}

pub(super) async fn run(
    database: &dyn Database,
    counting: &CountingStore,
    kernel: Arc<Kernel>,
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut place = Place::create(kernel, "history", 0).await?;
    let agents = [agent(&mut place, SHORT).await?, agent(&mut place, LONG).await?];
    database.settle().await?;
    for agent in &agents {
        for _ in 0..WARM_UP {
            turn(&place, agent).await?;
        }
    }
    database.store().number_events().await?;
    let mut costs = [Cost::default(), Cost::default()];
    for _ in 0..BLOCKS {
        for (agent, cost) in agents.iter().zip(&mut costs) {
            let before = counting.intercept().applied();
            for _ in 0..TURNS {
                measured(database, &place, agent, cost).await?;
            }
            let after = counting.intercept().applied();
            cost.rows += after.rows - before.rows;
            cost.commits += after.commits - before.commits;
        }
    }
    let stored = stored(database, &place, &agents).await?;
    check(database, &costs, stored, report);
    let base = median(&costs[0].bytes);
    for ((cost, cards), base) in costs.iter().zip([SHORT, LONG]).zip([None, Some(base)]) {
        report.lines.push(cost.line(database, cards, base));
    }
    Ok(())
}

async fn agent(place: &mut Place, cards: usize) -> anyhow::Result<Agent> {
    let id = place.add_agent(&format!("old-{cards}")).await?;
    let (context_box, output_box) =
        (place.world.filled_box(cards).await?, place.world.filled_box(cards).await?);
    Ok(Agent { id, context_box, output_box })
}

async fn turn(place: &Place, agent: &Agent) -> anyhow::Result<()> {
    place.dispatch_with(&agent.id, agent.context_box, Some(agent.output_box)).await?;
    let leases = place.claim("worker", Duration::ZERO).await?;
    ensure!(leases.len() == 1, "{} leases instead of one", leases.len());
    place.finish(&leases[0]).await
}

async fn measured(
    database: &dyn Database,
    place: &Place,
    agent: &Agent,
    cost: &mut Cost,
) -> anyhow::Result<()> {
    let bytes = database.bytes().await?;
    let begun = Instant::now();
    turn(place, agent).await?;
    cost.latencies.add(begun.elapsed());
    database.store().number_events().await?;
    cost.bytes.push((database.bytes().await? - bytes) as f64);
    Ok(())
}

/// Rows as the database itself counts them, for as many turns of each agent; it takes a while to count.
async fn stored(
    database: &dyn Database,
    place: &Place,
    agents: &[Agent; 2],
) -> anyhow::Result<Option<[u64; 2]>> {
    let Some(mut before) = database.stored_rows().await? else { return Ok(None) };
    let mut rows = [0; 2];
    for (agent, rows) in agents.iter().zip(&mut rows) {
        for _ in 0..TURNS {
            turn(place, agent).await?;
        }
        database.store().number_events().await?;
        let Some(after) = database.stored_rows().await? else { return Ok(None) };
        *rows = after.saturating_sub(before);
        before = after;
    }
    Ok(Some(rows))
}

fn check(database: &dyn Database, [short, long]: &[Cost; 2], stored: Option<[u64; 2]>, report: &mut Report) {
    let case = format!("turns_h{LONG}");
    for [short, long] in [Some([short.rows, long.rows]), stored].into_iter().flatten() {
        let met = same(short as f64, long as f64, 0.0);
        report.checks.push(Check::new(&case, "equal rows", format!("{short} and {long}"), met));
    }
    let (short, long) = (median(&short.bytes), median(&long.bytes));
    let met = same(short, long, database.unit_bytes());
    report.checks.push(Check::new(&case, "equal bytes", format!("{short:.0} and {long:.0}"), met));
}

/// Within the tolerance, or within one unit of writing.
fn same(short: f64, long: f64, unit: f64) -> bool {
    (short - long).abs() <= (short * TOLERANCE).max(unit)
}

impl Cost {
    /// The value is bytes per turn; what the short history costs stands as the raw limit of the long one.
    fn line(&self, database: &dyn Database, cards: usize, base: Option<f64>) -> Line {
        let (n, bytes) = (self.latencies.len(), median(&self.bytes));
        Line {
            area: AREA,
            case: format!("turns_h{cards}"),
            store: database.name(),
            value: bytes,
            unit: "bytes",
            raw: base,
            ratio: base.map(|base| bytes / base),
            p50_ms: self.latencies.percentile_ms(0.5),
            p99_ms: self.latencies.percentile_ms(0.99),
            commits: self.commits as f64 / n as f64,
            wal_bytes: Some(bytes),
            rows: Some(self.rows as f64 / n as f64),
            n,
            ..Line::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_may_differ_by_ten_percent_or_one_unit_and_no_more() {
        assert!(same(1000.0, 1100.0, 0.0));
        assert!(!same(1000.0, 1101.0, 0.0));
        assert!(!same(1000.0, 899.0, 0.0));
        assert!(same(1000.0, 1200.0, 200.0));
    }
}
