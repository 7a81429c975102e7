//! What `cardwire bench` measures: the embedded store in a directory that is thrown away, through the kernel of this process.
//! No HTTP, no model, no service. What has a target is measured by `cargo xtask bench`, against the database's own limit.

mod place;

pub(crate) use place::Place;

use crate::failure::Failure;
use serde::Serialize;
use std::{
    fmt::Display,
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

/// How many are under way at once: one, and as many as a worker holds when nobody says otherwise.
const IN_FLIGHT: [usize; 2] = [1, MOST];
pub(crate) const MOST: usize = 64;
/// Goes before each measurement and is not counted: caches fill, and the log's file grows.
const WARM_UP: Duration = Duration::from_millis(250);

/// What is done again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Case {
    /// One row, written and synced.
    Commits,
    /// Enqueue, claim, one step with one card, deliver.
    Turns,
}

impl Case {
    pub(crate) const fn rate(self) -> &'static str {
        match self {
            Self::Commits => "commits/s",
            Self::Turns => "turns/s",
        }
    }
}

/// How one case went.
#[derive(Debug, Serialize)]
pub(crate) struct Measured {
    pub(crate) case: Case,
    pub(crate) in_flight: usize,
    done: usize,
    pub(crate) per_second: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
}

/// Measures every case for so long, and tells before each what comes.
pub(crate) async fn run(
    place: &Arc<Place>,
    time: Duration,
    tell: impl Fn(Case, usize),
) -> Result<Vec<Measured>, Failure> {
    let mut measured = vec![];
    for case in [Case::Commits, Case::Turns] {
        for in_flight in IN_FLIGHT {
            tell(case, in_flight);
            measured.push(measure(place, case, in_flight, time).await?);
        }
    }
    Ok(measured)
}

async fn measure(
    place: &Arc<Place>,
    case: Case,
    in_flight: usize,
    time: Duration,
) -> Result<Measured, Failure> {
    let burst = |time: Duration| async move {
        match case {
            Case::Commits => {
                burst(place, in_flight, time, |place, _| async move { place.commit().await }).await
            }
            Case::Turns => {
                burst(place, in_flight, time, |place, client| async move { place.turn(client).await }).await
            }
        }
    };
    burst(WARM_UP).await?;
    let begun = Instant::now();
    let mut latencies = burst(time).await?;
    let seconds = begun.elapsed().as_secs_f64();
    latencies.sort_unstable();
    Ok(Measured {
        case,
        in_flight,
        done: latencies.len(),
        per_second: rounded(latencies.len() as f64 / seconds),
        p50_ms: percentile_ms(&latencies, 50),
        p99_ms: percentile_ms(&latencies, 99),
    })
}

/// Keeps so many clients busy until the time is up; each does one after the other, at least one. Gives how long each took.
async fn burst<F>(
    place: &Arc<Place>,
    clients: usize,
    time: Duration,
    one: impl Fn(Arc<Place>, usize) -> F + Copy + Send + 'static,
) -> Result<Vec<Duration>, Failure>
where
    F: Future<Output = Result<(), Failure>> + Send,
{
    let until = Instant::now() + time;
    let mut running = JoinSet::new();
    for client in 0..clients {
        let place = Arc::clone(place);
        running.spawn(async move {
            let mut latencies = vec![];
            loop {
                let begun = Instant::now();
                one(Arc::clone(&place), client).await?;
                latencies.push(begun.elapsed());
                if Instant::now() >= until {
                    return Ok::<_, Failure>(latencies);
                }
            }
        });
    }
    let mut all = vec![];
    while let Some(ended) = running.join_next().await {
        all.extend(ended.map_err(broken)??);
    }
    Ok(all)
}

/// What this percent of all stay within (nearest rank), of latencies in order.
fn percentile_ms(sorted: &[Duration], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).map_or(0.0, |latency| rounded(latency.as_secs_f64() * 1000.0))
}

/// To thousandths: more is noise.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

fn broken(why: impl Display) -> Failure {
    Failure::failed(format!("the measurement broke off: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let sorted: Vec<_> = (1..=200).map(Duration::from_millis).collect();
        assert_eq!(percentile_ms(&sorted, 50), 100.0);
        assert_eq!(percentile_ms(&sorted, 99), 198.0);
        assert_eq!(percentile_ms(&sorted[..1], 99), 1.0);
        assert_eq!(percentile_ms(&[], 50), 0.0);
    }
}
