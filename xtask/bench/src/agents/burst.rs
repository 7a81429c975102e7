//! A number of turns kept in flight for a while, and what ended meanwhile.
//!
//! Only turns that end while all are in flight count: neither the start, when nothing has ended yet, nor the end, when no
//! more is begun, says how fast it is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::bail;
use tokio::task::JoinSet;

use super::port::Rest;
use super::staff::{Crew, Staff};
use crate::measure::Latencies;

/// From the first turn to the first that counts.
const RAMP: Duration = Duration::from_secs(1);

/// What became of it.
#[derive(Default)]
pub(super) struct Burst {
    /// Of the turns that count.
    pub(super) latencies: Latencies,
    /// All turns, for what they cost.
    pub(super) all: usize,
    pub(super) requests: u64,
}

/// Keeps so many turns in flight. Agents take turns, each has one at a time. The first turns begin one after the other
/// within `spread`: begun at once, turns that all wait equally long would come and go as one crowd, with nothing to do in
/// between.
pub(super) async fn burst(
    staff: &Arc<Staff>,
    crew: &Arc<Crew>,
    in_flight: usize,
    spread: Duration,
    time: Duration,
) -> anyhow::Result<Burst> {
    let before = staff.port.asked();
    // With room for more: a worker that is full claims only what turns that have ended make room for.
    let worker = staff.start_worker(2 * in_flight);
    let from = Instant::now() + RAMP;
    let mut clients = JoinSet::new();
    for number in 0..in_flight {
        let (staff, crew) = (Arc::clone(staff), Arc::clone(crew));
        let wait = spread.mul_f64(number as f64 / in_flight as f64);
        clients.spawn(async move {
            tokio::time::sleep(wait).await;
            ask(staff, crew, number, in_flight, (from, from + time)).await
        });
    }
    let mut burst = Burst::default();
    while let Some(done) = clients.join_next().await {
        let (latencies, all) = done??;
        burst.latencies.merge(latencies);
        burst.all += all;
    }
    worker.stop().await?;
    burst.requests = staff.port.asked() - before;
    Ok(burst)
}

/// One client: a turn after the other, each of the next of its agents.
async fn ask(
    staff: Arc<Staff>,
    crew: Arc<Crew>,
    number: usize,
    clients: usize,
    (from, until): (Instant, Instant),
) -> anyhow::Result<(Latencies, usize)> {
    let (mut latencies, mut all) = (Latencies::default(), 0);
    let mut now = Instant::now();
    for agent in crew.agents.iter().skip(number).step_by(clients).cycle() {
        if now >= until {
            break;
        }
        match staff.turn(&crew, agent).await? {
            Rest::Delivered => {}
            Rest::Failed(said) => bail!("a turn failed: {said}"),
            Rest::Waits => bail!("a turn waits"),
        }
        let done = Instant::now();
        if (from..until).contains(&done) {
            latencies.add(done - now);
        }
        all += 1;
        now = done;
    }
    Ok((latencies, all))
}
