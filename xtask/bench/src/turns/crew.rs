//! Many agents at work: each is given a turn, waits for its end, and is given the next; a few workers claim what
//! waits and end it. Nobody polls the store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use cardwire_kernel::protocol::turn::claim::Lease;
use cardwire_model::AgentId;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

use super::place::Place;
use crate::measure::Latencies;

/// Tasks that claim.
const CLAIMERS: usize = 2;
const CLAIM_WAIT: Duration = Duration::from_secs(1);
/// A turn that takes this long is lost.
const PATIENCE: Duration = Duration::from_secs(30);

/// Who waits for the end of whose turn.
type Ends = Mutex<HashMap<AgentId, oneshot::Sender<anyhow::Result<()>>>>;

struct Crew {
    place: Place,
    ends: Ends,
}

/// Keeps so many agents busy until the time is up; answers every turn's latency and how long it really took.
pub(super) async fn burst(
    place: &Place,
    agents: usize,
    time: Duration,
) -> anyhow::Result<(Latencies, Duration)> {
    let crew = Arc::new(Crew { place: place.clone(), ends: Mutex::default() });
    let (stop, stopped) = watch::channel(false);
    let mut claimers = JoinSet::new();
    for number in 0..CLAIMERS {
        claimers.spawn(work(Arc::clone(&crew), format!("worker-{number}"), stopped.clone()));
    }
    let begun = Instant::now();
    let mut clients = JoinSet::new();
    for agent in place.agents.iter().take(agents).cloned() {
        clients.spawn(ask(Arc::clone(&crew), agent, begun + time));
    }
    let mut latencies = Latencies::default();
    while let Some(done) = clients.join_next().await {
        latencies.merge(done??);
    }
    let taken = begun.elapsed();
    stop.send_replace(true);
    while let Some(ended) = claimers.join_next().await {
        ended??;
    }
    Ok((latencies, taken))
}

/// One agent: a turn after the other.
async fn ask(crew: Arc<Crew>, agent: AgentId, until: Instant) -> anyhow::Result<Latencies> {
    let mut latencies = Latencies::default();
    let mut now = Instant::now();
    while now < until {
        let (end, ended) = oneshot::channel();
        crew.ends.lock().unwrap_or_else(PoisonError::into_inner).insert(agent.clone(), end);
        crew.place.dispatch(&agent).await?;
        tokio::time::timeout(PATIENCE, ended).await.context("a turn did not end")???;
        let done = Instant::now();
        latencies.add(done - now);
        now = done;
    }
    Ok(latencies)
}

/// One worker: claims, and ends what it was given.
async fn work(crew: Arc<Crew>, name: String, mut stopped: watch::Receiver<bool>) -> anyhow::Result<()> {
    let mut turns = JoinSet::new();
    loop {
        let leases = tokio::select! {
            leases = crew.place.claim(&name, CLAIM_WAIT) => leases?,
            _ = stopped.wait_for(|stop| *stop) => break,
        };
        for lease in leases {
            turns.spawn(end(Arc::clone(&crew), lease));
        }
        while turns.try_join_next().is_some() {}
    }
    while turns.join_next().await.is_some() {}
    Ok(())
}

async fn end(crew: Arc<Crew>, lease: Lease) {
    let outcome = crew.place.finish(&lease).await;
    let waiting = crew.ends.lock().unwrap_or_else(PoisonError::into_inner).remove(&lease.agent_id);
    if let Some(waiting) = waiting {
        // A client that went away does not need to know.
        let _ = waiting.send(outcome);
    }
}
