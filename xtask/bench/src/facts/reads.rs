//! Reading a long box, cold and from memory, against a plain select of the same rows.
//!
//! Cold means an empty cache in the kernel: a new kernel on the same store for every read. The database itself is
//! warm on both sides.

use std::time::{Duration, Instant};

use anyhow::ensure;
use cardwire_kernel::{Kernel, KernelConfig};
use cardwire_model::BoxId;

use super::AREA;
use crate::Plan;
use crate::database::Database;
use crate::measure::{Latencies, median};
use crate::report::{Check, Line, Report};
use crate::world::World;

const CARDS: usize = 5000;
const COLD_TARGET: f64 = 0.5;
const CACHED_TARGET: f64 = 20.0;
const WARM_UP_READS: usize = 5;
/// Reads from memory are so short that one between two selects would measure waking up.
const CACHED_READS: usize = 10;

/// One way of reading, over all rounds: the median latency of each round, its ratio to raw, and every latency.
#[derive(Default)]
struct Side {
    medians: Vec<f64>,
    ratios: Vec<f64>,
    all: Latencies,
}

impl Side {
    fn end_round(&mut self, round: Latencies, raw: f64) {
        let own = median_ms(&round);
        self.medians.push(own);
        self.ratios.push(raw / own);
        self.all.merge(round);
    }

    fn line(&self, case: &str, database: &dyn Database, raw: f64) -> Line {
        Line {
            area: AREA,
            case: case.to_owned(),
            store: database.name(),
            value: cards_per_second(median(&self.medians)),
            unit: "cards/s",
            raw: Some(cards_per_second(raw)),
            ratio: Some(median(&self.ratios)),
            p50_ms: self.all.percentile_ms(0.5),
            p99_ms: self.all.percentile_ms(0.99),
            n: self.all.len(),
            ..Line::default()
        }
    }
}

pub(super) async fn run(
    database: &dyn Database,
    world: &World,
    plan: Plan,
    report: &mut Report,
) -> anyhow::Result<()> {
    let box_id = world.filled_box(CARDS).await?;
    database.settle().await?;
    for _ in 0..WARM_UP_READS {
        plain(database, world, box_id).await?;
        cold(database, world, box_id).await?;
        timed(&world.kernel, world, box_id).await?;
    }

    let (mut raw, mut colds, mut cacheds) = (vec![], Side::default(), Side::default());
    for _ in 0..plan.rounds {
        let begun = Instant::now();
        let [mut plains, mut without, mut with] = [(); 3].map(|()| Latencies::default());
        // Each turn reads in every way, so that the machine's moods hit all of them alike.
        while begun.elapsed() < plan.time {
            plains.add(plain(database, world, box_id).await?);
            without.add(cold(database, world, box_id).await?);
            for _ in 0..CACHED_READS {
                with.add(timed(&world.kernel, world, box_id).await?);
            }
        }
        let plain = median_ms(&plains);
        colds.end_round(without, plain);
        cacheds.end_round(with, plain);
        raw.push(plain);
    }

    let raw = median(&raw);
    for (case, side, target) in
        [("read_cold_5000", colds, COLD_TARGET), ("read_cached_5000", cacheds, CACHED_TARGET)]
    {
        let line = side.line(case, database, raw);
        report.checks.push(Check::at_least(case, target, line.ratio.unwrap_or(0.0)));
        report.lines.push(line);
    }
    Ok(())
}

async fn plain(database: &dyn Database, world: &World, box_id: BoxId) -> anyhow::Result<Duration> {
    let (taken, cards) = database.raw_read(&world.project, box_id).await?;
    ensure!(cards == CARDS, "the plain select read {cards} cards");
    Ok(taken)
}

async fn cold(database: &dyn Database, world: &World, box_id: BoxId) -> anyhow::Result<Duration> {
    let kernel = Kernel::idle(KernelConfig::new(database.store()));
    timed(&kernel, world, box_id).await
}

async fn timed(kernel: &Kernel, world: &World, box_id: BoxId) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    let read = kernel.box_cards(&world.project, box_id).await?;
    let taken = begun.elapsed();
    ensure!(read.cards.len() == CARDS, "the kernel read {} cards", read.cards.len());
    Ok(taken)
}

fn median_ms(latencies: &Latencies) -> f64 {
    latencies.percentile_ms(0.5).unwrap_or(f64::INFINITY)
}

fn cards_per_second(ms: f64) -> f64 {
    CARDS as f64 * 1000.0 / ms
}
