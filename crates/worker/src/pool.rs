//! A worker: claims turns and runs many of them at once, keeps them alive, drops those that are stopped, and gives back what
//! it has not finished when it is told to stop.

use crate::{
    agent::{self, Rest, Shop},
    desk::{Desk, Ending},
    lease::Lease,
    line::{Again, CLAIM, Line, read},
    mcp::{Mcp, McpServers},
    models::Models,
    port::Port,
    profile::RunLimits,
    profiles::Profiles,
    team_run,
    telemetry::AtWork,
    tool_bus::ToolBus,
    tools::external::External,
    trouble::{Logged, Trouble},
};
use cardwire_egress::Door;
use cardwire_llm::spread;
use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use serde_json::{Value, json};
use std::{collections::HashMap, future::Future, panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::{
    sync::watch,
    task::{AbortHandle, JoinSet},
};
use tracing::Instrument;

/// How often the kernel hears of a turn whose model or tools take long. A stop that another worker was told of is noticed
/// within this.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// How long one claim waits.
const CLAIM_WAIT_MS: u64 = 20_000;
/// Claims that wait at once: while the answer to one is read, turns come to the other.
const CLAIMS: usize = 2;
/// Most turns that one claim asks for.
const CLAIM_MAX: usize = 100;
/// Pause after a claim that failed.
const PAUSE: Duration = Duration::from_millis(500);
/// Pause after a claim that was refused: a token that opens nothing now seldom does a moment later.
const REFUSED_PAUSE: Duration = Duration::from_secs(10);
/// How long a worker that ends tries to give its turns back. Whatever is not is found when it is no longer heard of.
const GIVE_BACK: Duration = Duration::from_secs(10);

/// What a worker is.
#[derive(Debug, Clone)]
pub struct WorkerConfig {
    /// Which turns it claims.
    pub target: String,
    /// Its name. One that comes up under the name of one that went down goes on with that one's turns.
    pub name: String,
    /// How many turns it runs at once.
    pub turns: usize,
    /// Of these projects; of all that its token reaches when `None`.
    pub projects: Option<Vec<String>>,
    /// How long turns may go on after it was told to stop.
    pub grace: Duration,
    /// Any number that other workers do not have: the ids of spans are made of it.
    pub seed: u64,
}

/// Where tools run that do not come with a worker.
#[derive(Debug, Default)]
pub struct Elsewhere {
    /// MCP servers of this machine.
    pub mcp: McpServers,
    /// Where tools listen that have no address.
    pub bus: Option<Arc<dyn ToolBus>>,
}

/// A worker.
#[derive(Debug)]
pub struct Worker {
    config: WorkerConfig,
    line: Line,
    shop: Arc<Shop>,
}

impl Worker {
    /// A worker that speaks to the kernel through `port`, and to models and tools through `door`.
    pub fn new(config: WorkerConfig, port: Arc<dyn Port>, door: Arc<Door>, elsewhere: Elsewhere) -> Self {
        let shop = Shop {
            models: Models::new(Arc::clone(&door)),
            profiles: Profiles::default(),
            mcp: Mcp::new(elsewhere.mcp, Arc::clone(&door)),
            external: External::new(door, elsewhere.bus),
        };
        Self { config, line: Line::new(port), shop: Arc::new(shop) }
    }

    /// Works until `stop` says so.
    pub fn run(&self, stop: watch::Receiver<bool>) -> BoxFuture<'_, ()> {
        Box::pin(self.work(stop))
    }

    async fn work(&self, mut stop: watch::Receiver<bool>) {
        let mut turns = Turns::default();
        let mut claims = FuturesUnordered::new();
        let (mut asked, mut recover) = (0, true);
        while !*stop.borrow() {
            turns.sweep();
            let free = self.config.turns.saturating_sub(turns.running.len() + asked);
            // What is given back must be none of what another claim is about to bring.
            let at_once = if recover { 1 } else { CLAIMS };
            if free > 0 && claims.len() < at_once {
                let ask = free.div_ceil(at_once - claims.len()).min(CLAIM_MAX);
                let body = self.claim_body(ask, recover, &turns);
                asked += ask;
                claims.push(async move { (ask, self.claim(body).await) });
                continue;
            }
            let claimed = tokio::select! {
                Some(claimed) = claims.next() => claimed,
                Some(_) = turns.running.join_next(), if free == 0 => continue,
                _ = stop.changed() => break,
            };
            let (ask, claimed) = claimed;
            asked -= ask;
            match claimed {
                Ok(leases) => {
                    recover = false;
                    for lease in leases {
                        self.take(lease, &mut turns);
                    }
                }
                Err(trouble) => {
                    claims.clear();
                    (asked, recover) = (0, true);
                    tracing::warn!(trouble = %Logged(&trouble), "could not claim turns");
                    tokio::select! {
                        // Other workers were refused at the same moment.
                        () = tokio::time::sleep(spread(pause_after(&trouble), &self.config.name, 0)) => {}
                        _ = stop.changed() => {}
                    }
                }
            }
        }
        drop(claims);
        wind_up(turns, self.config.grace).await;
        self.shop.mcp.close().await;
    }

    /// What to ask for. What was given in an answer that never came is given back first, as is what an earlier worker of
    /// this name held.
    fn claim_body(&self, ask: usize, recover: bool, turns: &Turns) -> Value {
        let config = &self.config;
        let mut body = json!({
            "worker_target": config.target, "worker_id": config.name, "max_turns": ask,
            "wait_ms": CLAIM_WAIT_MS, "start": true, "hydrate": true,
            // Afterwards those of workers that are not heard of any more (WD-05).
            "recover": if recover { Value::Bool(true) } else { "target".into() },
        });
        if recover {
            body["holding"] = turns.by_id.keys().cloned().collect();
        }
        if let Some(projects) = &config.projects {
            body["projects"] = projects.clone().into();
        }
        body
    }

    async fn claim(&self, body: Value) -> Result<Vec<Lease>, Trouble> {
        let answer = self.line.post(CLAIM.to_owned(), None, &body, None, Again::Never).await?;
        read(answer["leases"].clone())
    }

    fn take(&self, lease: Lease, turns: &mut Turns) {
        if lease.is_stop() {
            if let Some((_, handle)) = turns.by_id.remove(&lease.agent_turn_id) {
                handle.abort();
            }
            return;
        }
        let desk = Arc::new(Desk::new(self.line.clone(), lease, self.config.seed));
        let (shop, held) = (Arc::clone(&self.shop), Arc::clone(&desk));
        let id = desk.lease.agent_turn_id.clone();
        let span = desk.span.clone();
        let handle = turns.running.spawn(async move { run_turn(&held, &shop).instrument(span).await });
        turns.by_id.insert(id, (desk, handle));
    }
}

fn pause_after(trouble: &Trouble) -> Duration {
    match trouble {
        Trouble::Refused { status: 401 | 403, .. } => REFUSED_PAUSE,
        Trouble::Refused { .. } | Trouble::Gone | Trouble::Unreachable(_) => PAUSE,
    }
}

/// The turns that are being run.
#[derive(Debug, Default)]
struct Turns {
    running: JoinSet<()>,
    by_id: HashMap<String, (Arc<Desk>, AbortHandle)>,
}

impl Turns {
    /// Forgets those that have come to rest.
    fn sweep(&mut self) {
        while self.running.try_join_next().is_some() {}
        self.by_id.retain(|_, (_, handle)| !handle.is_finished());
    }
}

/// Runs one turn as far as it goes, within its time, and keeps it alive meanwhile.
async fn run_turn(desk: &Desk, shop: &Shop) {
    let _at_work = AtWork::begin();
    let seconds = RunLimits::of(&desk.lease.runtime_config).turn_seconds;
    let outcome = within(desk, seconds, alive(desk, work(desk, shop))).await;
    match outcome {
        Ok(Rest::Ended | Rest::Waits) | Err(Trouble::Gone) => {}
        Err(trouble) => {
            let turn = &desk.lease.agent_turn_id;
            tracing::warn!(turn, trouble = %Logged(&trouble), "a turn was left where it is");
            give_up(desk, &trouble).await;
        }
    }
}

/// Ends the turn if its work takes too long or panics: nobody else knows that it does not go on.
async fn within(
    desk: &Desk,
    seconds: u64,
    work: impl Future<Output = Result<Rest, Trouble>>,
) -> Result<Rest, Trouble> {
    let work = AssertUnwindSafe(work).catch_unwind();
    let ending = match tokio::time::timeout(Duration::from_secs(seconds), work).await {
        Ok(Ok(outcome)) => return outcome,
        Ok(Err(_)) => {
            // What it panicked with may be content, which belongs in no log; the panic hook says where it was.
            tracing::error!(turn = %desk.lease.agent_turn_id, "the work on a turn panicked");
            Ending::failed(
                "agent_panicked",
                "the worker failed while it worked on this turn; its log says where",
            )
        }
        Err(_) => {
            let message = format!("the agent was at work for {seconds} s without a pause");
            Ending { status: "timeout", ..Ending::failed("agent_timeout", message) }
        }
    };
    desk.finish(&ending, vec![], None).await.map(|()| Rest::Ended)
}

/// Lets turns end for a while, then gives back what is left.
async fn wind_up(mut turns: Turns, grace: Duration) {
    let all = async { while turns.running.join_next().await.is_some() {} };
    if tokio::time::timeout(grace, all).await.is_ok() {
        return;
    }
    // A turn that has come to rest is nobody's to give back.
    turns.sweep();
    turns.running.abort_all();
    while turns.running.join_next().await.is_some() {}
    let given_back = turns.by_id.values().map(|(desk, _)| give_back(desk));
    let all = given_back.collect::<FuturesUnordered<_>>().collect::<()>();
    if tokio::time::timeout(GIVE_BACK, all).await.is_err() {
        tracing::warn!("not every turn could be given back");
    }
}

/// Gives a turn back that was cut off.
async fn give_back(desk: &Desk) {
    if let Err(trouble) = desk.release().await {
        tracing::debug!(trouble = %Logged(&trouble), "a turn was not given back");
    }
}

/// What cannot be gone on with ends, so that nobody waits for it in vain.
async fn give_up(desk: &Desk, trouble: &Trouble) {
    let ending = Ending::failed(trouble.code(), trouble.to_string());
    if let Err(trouble) = desk.finish(&ending, vec![], None).await {
        tracing::debug!(trouble = %Logged(&trouble), "the turn could not be ended either");
    }
}

async fn work(desk: &Desk, shop: &Shop) -> Result<Rest, Trouble> {
    if desk.lease.setting("team_card_id").is_some() {
        return Box::pin(team_run::run(desk)).await;
    }
    let profile = shop.profiles.of(desk).await?;
    // On the heap, because a turn's future is large and whoever polls it has only so much of a stack.
    Box::pin(agent::run(desk, &profile, shop)).await
}

/// Lets the kernel hear of the turn while it is worked on. Who learns that the turn is gone drops what is under way: a call
/// of a model is cut off, so that nothing is paid for after a stop.
async fn alive(desk: &Desk, work: impl Future<Output = Result<Rest, Trouble>>) -> Result<Rest, Trouble> {
    tokio::select! {
        done = work => done,
        () = beat(desk) => Err(Trouble::Gone),
    }
}

/// Sends heartbeats beside the work, which does not wait for them. Ends when the turn is gone.
async fn beat(desk: &Desk) {
    loop {
        tokio::time::sleep(HEARTBEAT).await;
        match desk.heartbeat().await {
            Ok(()) => {}
            Err(Trouble::Gone) => return,
            // The next one may arrive; a turn whose heartbeats are lost for long is taken away, and this says why.
            Err(trouble) => {
                let turn = &desk.lease.agent_turn_id;
                tracing::warn!(turn, trouble = %Logged(&trouble), "a heartbeat was lost");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Asked, Said};
    use tokio::time::timeout;

    const PATIENCE: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn work_does_not_wait_for_a_heartbeat() {
        let kernel = Asked::new(|_| Said::Never);
        let desk = kernel.desk();
        let work = async {
            tokio::time::sleep(HEARTBEAT * 3).await;
            Ok(Rest::Ended)
        };
        assert_eq!(timeout(PATIENCE, alive(&desk, work)).await, Ok(Ok(Rest::Ended)));
        assert_eq!(kernel.requests(":heartbeat").len(), 1);
    }

    /// F-24: it is ended at once and says so, instead of being taken away when it was silent for long.
    #[tokio::test(start_paused = true)]
    async fn a_turn_whose_work_panics_is_ended() {
        let kernel = Asked::content();
        let ended = within(&kernel.desk(), 60, async { panic!("the content") }).await;
        assert_eq!(ended, Ok(Rest::Ended));
        let finish = &kernel.requests(":finish")[0].body;
        assert_eq!((&finish["status"], &finish["error_code"]), (&json!("failed"), &json!("agent_panicked")));
        assert!(!finish.to_string().contains("the content"), "{finish}");
    }

    /// WK-09
    #[tokio::test(start_paused = true)]
    async fn work_on_a_turn_that_is_gone_is_dropped() {
        let kernel = Asked::new(|_| Said::Answer(409, json!({ "error": { "code": "stale_turn" } })));
        let desk = kernel.desk();
        let gone = timeout(PATIENCE, alive(&desk, std::future::pending())).await;
        assert_eq!(gone, Ok(Err(Trouble::Gone)));
    }

    /// A server that is gone keeps no worker from ending.
    #[tokio::test(start_paused = true)]
    async fn what_is_at_work_is_given_back_at_once_and_for_a_while() {
        let (kernel, mut turns) = (Asked::new(|_| Said::Never), Turns::default());
        for (turn, rests) in [("turn_a", true), ("turn_b", false), ("turn_c", false)] {
            let work = async move {
                if !rests {
                    std::future::pending().await
                }
            };
            let handle = turns.running.spawn(work);
            turns.by_id.insert(turn.to_owned(), (Arc::new(kernel.desk_of(turn)), handle));
        }
        timeout(PATIENCE, wind_up(turns, HEARTBEAT)).await.expect("the worker does not end");
        let mut released: Vec<_> = kernel.requests(":release").into_iter().map(|one| one.path).collect();
        released.sort_unstable();
        let left = ["turn_b", "turn_c"].map(|turn| format!("/projects/p/l0/turns/{turn}:release"));
        assert_eq!(released, left, "and not what has come to rest");
    }
}
