//! What one more child costs when it inherits much: a fork writes the same for a context of 5 cards and of 5,000 (CB-11).

use std::sync::Arc;

use anyhow::Context;
use cardwire_kernel::Kernel;
use cardwire_kernel::protocol::pmo::calls::Answered;

use super::{AREA, round};
use crate::counting::CountingStore;
use crate::database::Database;
use crate::measure::median;
use crate::report::{Check, Line, Report};
use crate::turns::place::Place;

const SHORT: usize = 5;
const LONG: usize = 5_000;
const CHILDREN: usize = 100;
const ROUNDS: usize = 5;
/// By how much the costs of a child may differ.
const TOLERANCE: f64 = 0.05;

pub(super) async fn run(
    database: &dyn Database,
    counting: &CountingStore,
    kernel: Arc<Kernel>,
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut place = Place::create(kernel, "inherit", 0).await?;
    let boss = place.add_agent("boss").await?;
    let boxes = [place.world.filled_box(SHORT).await?, place.world.filled_box(LONG).await?];
    for context in boxes {
        let forked = round::fork(&place, &boss, CHILDREN, Some(context)).await?;
        call_off(&place, &forked).await?;
    }
    database.settle().await?;
    let (mut rows, mut bytes) = ([vec![], vec![]], [vec![], vec![]]);
    for _ in 0..ROUNDS {
        for (which, context) in boxes.into_iter().enumerate() {
            let (before, written) = (counting.intercept().applied().rows, database.bytes().await?);
            let forked = round::fork(&place, &boss, CHILDREN, Some(context)).await?;
            database.store().number_events().await?;
            rows[which].push((counting.intercept().applied().rows - before) as f64 / CHILDREN as f64);
            bytes[which].push((database.bytes().await? - written) as f64 / CHILDREN as f64);
            call_off(&place, &forked).await?;
        }
    }
    eprintln!("bench: inherit: {:.0?} and {:.0?} bytes per child", bytes[0], bytes[1]);
    let case = format!("inherit_{LONG}");
    for (what, of, unit) in [("rows", &rows, 0.0), ("bytes", &bytes, database.unit_bytes() / CHILDREN as f64)]
    {
        let (short, long) = (median(&of[0]), median(&of[1]));
        let met = (short - long).abs() <= (short * TOLERANCE).max(unit);
        let target = format!("{what} per child within 5 % of {SHORT} cards");
        report.checks.push(Check::new(&case, target, format!("{short:.1} and {long:.1}"), met));
    }
    report.lines.push(Line {
        area: AREA,
        case,
        store: database.name(),
        value: median(&bytes[1]),
        unit: "bytes",
        raw: Some(median(&bytes[0])),
        ratio: Some(median(&bytes[1]) / median(&bytes[0])),
        commits: 1.0 / CHILDREN as f64,
        rows: Some(median(&rows[1])),
        n: ROUNDS,
        ..Line::default()
    });
    Ok(())
}

/// Nobody ends what was started here.
async fn call_off(place: &Place, forked: &Answered) -> anyhow::Result<()> {
    let batch = forked.batch.context("a fork without a batch")?;
    place.kernel().cancel_batch(&place.world.project, place.caller(), batch).await?;
    place.kernel().seal_audit().await?;
    Ok(())
}
