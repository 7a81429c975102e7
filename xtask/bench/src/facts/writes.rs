//! Writers with a box each, committing one card after the other, against plain one-insert commits.

use std::time::{Duration, Instant};

use cardwire_model::BoxId;
use tokio::task::JoinSet;

use super::AREA;
use crate::Plan;
use crate::database::Database;
use crate::measure::{Latencies, Spent, Usage, median};
use crate::report::{Check, Line, Report};
use crate::world::World;

/// Concurrent writers; the last is the one with a target.
const WRITERS: [usize; 3] = [1, 8, 32];
const TARGET_WRITERS: usize = 32;
const WARM_UP: Duration = Duration::from_secs(1);
/// A box takes a bounded number of cards; a fast writer on a long run needs another one.
const CARDS_PER_BOX: usize = 90_000;

pub(super) async fn run(
    database: &dyn Database,
    world: &World,
    plan: Plan,
    report: &mut Report,
) -> anyhow::Result<()> {
    database.settle().await?;
    for writers in WRITERS {
        let line = case(database, world, plan, writers).await?;
        if writers == TARGET_WRITERS {
            let ratio = line.ratio.unwrap_or(0.0);
            report.checks.push(Check::at_least(&line.case, database.commit_target(), ratio));
        }
        report.lines.push(line);
    }
    Ok(())
}

async fn case(database: &dyn Database, world: &World, plan: Plan, writers: usize) -> anyhow::Result<Line> {
    let case = format!("append_w{writers}");
    database.raw_commits(writers, WARM_UP).await?;
    burst(world, &boxes(world, writers).await?, WARM_UP).await?;

    let (mut ours, mut raw, mut ratios) = (vec![], vec![], vec![]);
    let (mut latencies, mut spent) = (Latencies::default(), Spent::default());
    for round in 0..plan.rounds {
        // Neither side always comes second, with the other's dirty pages still on their way to the disk.
        let raw_first = round % 2 == 0;
        if raw_first {
            raw.push(database.raw_commits(writers, plan.time).await?);
        }
        let boxes = boxes(world, writers).await?;
        let before = Usage::now(database).await?;
        let (times, taken) = burst(world, &boxes, plan.time).await?;
        spent += before.spent(database).await?;
        if !raw_first {
            raw.push(database.raw_commits(writers, plan.time).await?);
        }
        let (our_rate, raw_rate) = (times.len() as f64 / taken.as_secs_f64(), raw[raw.len() - 1]);
        eprintln!("bench: {case}: {our_rate:.0}/s of {raw_rate:.0}/s");
        ours.push(our_rate);
        ratios.push(our_rate / raw_rate);
        latencies.merge(times);
    }

    let n = latencies.len();
    let per_commit = |total: f64| Some(total / n.max(1) as f64);
    Ok(Line {
        area: AREA,
        case,
        store: database.name(),
        value: median(&ours),
        unit: "commits/s",
        raw: Some(median(&raw)),
        ratio: Some(median(&ratios)),
        p50_ms: latencies.percentile_ms(0.5),
        p99_ms: latencies.percentile_ms(0.99),
        commits: 1.0,
        statements: None,
        wal_bytes: per_commit(spent.bytes as f64),
        rows: per_commit(spent.rows as f64),
        cpu_us: per_commit(spent.cpu_us),
        n,
    })
}

async fn boxes(world: &World, count: usize) -> anyhow::Result<Vec<BoxId>> {
    let mut boxes = Vec::with_capacity(count);
    for _ in 0..count {
        boxes.push(world.new_box().await?);
    }
    Ok(boxes)
}

/// All writers at once until the time is up; answers every commit's latency and how long it really took.
async fn burst(world: &World, boxes: &[BoxId], time: Duration) -> anyhow::Result<(Latencies, Duration)> {
    let begun = Instant::now();
    let mut writers = JoinSet::new();
    for &box_id in boxes {
        let world = world.clone();
        writers.spawn(async move { write(&world, box_id, begun + time).await });
    }
    let mut latencies = Latencies::default();
    while let Some(written) = writers.join_next().await {
        latencies.merge(written??);
    }
    Ok((latencies, begun.elapsed()))
}

async fn write(world: &World, mut box_id: BoxId, until: Instant) -> anyhow::Result<Latencies> {
    let mut latencies = Latencies::default();
    let mut now = Instant::now();
    while now < until {
        if latencies.len() % CARDS_PER_BOX == CARDS_PER_BOX - 1 {
            box_id = world.new_box().await?;
        }
        world.append(box_id).await?;
        let done = Instant::now();
        latencies.add(done - now);
        now = done;
    }
    Ok(latencies)
}
