//! What one more card, or one more inheriting box, costs when the box is long.
//!
//! Rows must be equal. Bytes are compared by the median over single operations: a database now and then splits a
//! page or writes one whole, but whatever grows with the box shows in every operation.

use std::time::Instant;

use cardwire_model::{BoxId, limits};

use super::AREA;
use crate::database::Database;
use crate::measure::{Latencies, median};
use crate::report::{Check, Line, Report};
use crate::world::World;

const SHORT: usize = 100;
const BLOCKS: usize = 10;
const OPERATIONS: usize = 10;
const WARM_UP: usize = 10;
/// A box may show so many cards and no more, hence the appends of this file must still fit.
const LONG: usize = limits::BOX_CARDS - BLOCKS * OPERATIONS - WARM_UP;
/// By how much equal work may differ in bytes.
const TOLERANCE: f64 = 0.05;

/// What is done to a box.
#[derive(Clone, Copy)]
enum Operation {
    Append,
    Fork,
}

impl Operation {
    fn case(self, len: usize) -> String {
        match self {
            Self::Append => format!("append_to_{len}"),
            Self::Fork => format!("fork_of_{len}"),
        }
    }

    async fn run(self, world: &World, box_id: BoxId) -> anyhow::Result<()> {
        match self {
            Self::Append => world.append(box_id).await,
            Self::Fork => world.fork(box_id).await,
        }
    }
}

/// What an operation cost on one box.
#[derive(Default)]
struct Cost {
    latencies: Latencies,
    bytes: Vec<f64>,
    rows: u64,
}

pub(super) async fn run(database: &dyn Database, world: &World, report: &mut Report) -> anyhow::Result<()> {
    eprintln!("bench: growth: filling a box with {LONG} cards");
    let boxes = [world.filled_box(SHORT).await?, world.filled_box(LONG).await?];
    for operation in [Operation::Append, Operation::Fork] {
        database.settle().await?;
        let [short, long] = compare(database, world, operation, boxes).await?;
        let (short_case, long_case) = (operation.case(SHORT), operation.case(limits::BOX_CARDS));
        check(database, &long_case, &short, &long, report);
        let base = median(&short.bytes);
        report.lines.push(short.line(database, short_case, None));
        report.lines.push(long.line(database, long_case, Some(base)));
    }
    Ok(())
}

/// Blocks of operations on the short and the long box in turns.
async fn compare(
    database: &dyn Database,
    world: &World,
    operation: Operation,
    boxes: [BoxId; 2],
) -> anyhow::Result<[Cost; 2]> {
    for box_id in boxes {
        for _ in 0..WARM_UP {
            operation.run(world, box_id).await?;
        }
    }
    let mut costs = [Cost::default(), Cost::default()];
    for _ in 0..BLOCKS {
        for (box_id, cost) in boxes.into_iter().zip(&mut costs) {
            block(database, world, operation, box_id, cost).await?;
        }
    }
    Ok(costs)
}

async fn block(
    database: &dyn Database,
    world: &World,
    operation: Operation,
    box_id: BoxId,
    cost: &mut Cost,
) -> anyhow::Result<()> {
    let rows = rows(database).await?;
    for _ in 0..OPERATIONS {
        let bytes = database.bytes().await?;
        let begun = Instant::now();
        operation.run(world, box_id).await?;
        cost.latencies.add(begun.elapsed());
        cost.bytes.push((database.bytes().await? - bytes) as f64);
    }
    cost.rows += rows_since(database, rows).await?;
    Ok(())
}

/// Rows so far, with every event in its place: giving places updates rows as well.
async fn rows(database: &dyn Database) -> anyhow::Result<u64> {
    database.store().number_events().await?;
    database.rows().await
}

async fn rows_since(database: &dyn Database, before: u64) -> anyhow::Result<u64> {
    Ok(rows(database).await?.saturating_sub(before))
}

fn check(database: &dyn Database, case: &str, short: &Cost, long: &Cost, report: &mut Report) {
    let measured = format!("{} and {}", short.rows, long.rows);
    report.checks.push(Check::new(case, "equal rows", measured, short.rows == long.rows));
    let (short, long) = (median(&short.bytes), median(&long.bytes));
    // Fewer are none too many: where the rows of a page end differs.
    let met = long <= short || same_bytes(short, long, database.unit_bytes());
    report.checks.push(Check::new(case, "no more bytes", format!("{short:.0} and {long:.0}"), met));
}

/// Within the tolerance, or within one unit of writing.
fn same_bytes(short: f64, long: f64, unit: f64) -> bool {
    (short - long).abs() <= (short * TOLERANCE).max(unit)
}

impl Cost {
    /// The value is bytes per operation; what the short box costs stands as the raw limit of the long one.
    fn line(&self, database: &dyn Database, case: String, base: Option<f64>) -> Line {
        let (n, bytes) = (self.latencies.len(), median(&self.bytes));
        Line {
            area: AREA,
            case,
            store: database.name(),
            value: bytes,
            unit: "bytes",
            raw: base,
            ratio: base.map(|base| bytes / base),
            p50_ms: self.latencies.percentile_ms(0.5),
            p99_ms: self.latencies.percentile_ms(0.99),
            commits: 1.0,
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
    fn bytes_may_differ_by_five_percent_or_one_unit_and_no_more() {
        assert!(same_bytes(1000.0, 1050.0, 0.0));
        assert!(!same_bytes(1000.0, 1051.0, 0.0));
        assert!(!same_bytes(1000.0, 949.0, 0.0));
        assert!(same_bytes(1000.0, 1060.0, 60.0));
        assert!(!same_bytes(1000.0, 2000.0, 60.0));
    }
}
