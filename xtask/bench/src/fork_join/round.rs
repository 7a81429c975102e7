//! One fork from the call to the parent's result.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use cardwire_kernel::Done;
use cardwire_kernel::protocol::pmo::calls::{Answered, Call, RunOptions};
use cardwire_kernel::protocol::turn::claim::{Lease, LeaseKind};
use cardwire_kernel::protocol::turn::suspend::Suspend;
use cardwire_kernel::protocol::turn::{Command, Fence, Proof};
use cardwire_model::{AgentId, BoxId, Channel, Hash256, InheritMode, PmoSettings};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use crate::counting::CountingStore;
use crate::turns::place::Place;

/// Tasks that claim, and turns that are ended at the same time.
const CLAIMERS: usize = 4;
const AT_ONCE: usize = 128;
const CLAIM_WAIT: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(120);

/// What a fork took.
pub(super) struct Round {
    pub(super) time: Duration,
    /// Commits until the children were there.
    pub(super) creating: u64,
}

/// Calls fork_join in the name of an agent.
pub(super) async fn fork(
    place: &Place,
    boss: &AgentId,
    children: usize,
    context: Option<BoxId>,
) -> anyhow::Result<Answered> {
    let mut task = json!({ "target_strategy": "new", "target_ref": "noop", "instruction": "Do nothing." });
    if let Some(context) = context {
        task["context_box_id"] = context.to_string().into();
    }
    let Value::Object(args) = json!({ "tasks": vec![task; children] }) else { bail!("no object") };
    let call = Call {
        tool: "fork_join".to_owned(),
        caller: boss.clone(),
        by_turn: None,
        at_turn: None,
        epoch: None,
        proof: Proof::Operator,
        channel: Channel::public(),
        trace_id: "bench".to_owned(),
        is_traced: true,
        names_channel: true,
        args,
        max_depth: 20,
        acl: InheritMode::Enforce,
        pmo: PmoSettings { fork_join_max_tasks: Some(10_000), ..PmoSettings::default() },
        require_policy: false,
        carries_out: None,
        run: RunOptions::default(),
    };
    let done =
        place.kernel().pmo_call(&place.world.project, place.caller(), &call, |_| "refused", None).await?;
    match done {
        Done::Fresh(answered) if answered.is_success => Ok(answered),
        Done::Fresh(answered) => bail!("refused: {}", answered.result),
        Done::Replayed(_) => bail!("nothing was asked before"),
    }
}

/// An agent of its own at work.
pub(super) async fn boss(place: &mut Place, number: u128) -> anyhow::Result<(AgentId, Lease)> {
    let boss = place.add_agent(&format!("boss-{number}")).await?;
    place.dispatch(&boss).await?;
    let mut leases = place.claim("bench", Duration::ZERO).await?;
    ensure!(leases.len() == 1, "{} turns wait instead of one", leases.len());
    Ok((boss, leases.remove(0)))
}

/// Forks so many children, ends them all, and is done when the parent can go on.
pub(super) async fn run(
    place: &mut Place,
    counting: &CountingStore,
    children: usize,
) -> anyhow::Result<Round> {
    let number = place.kernel().ids().uuid().as_u128();
    let (boss, lease) = boss(place, number).await?;
    let shared = Arc::new(place.clone());
    let (resumed, mut parent) = mpsc::channel::<Lease>(1);
    let mut workers = JoinSet::new();
    for number in 0..CLAIMERS {
        workers.spawn(work(Arc::clone(&shared), format!("worker-{number}"), boss.clone(), resumed.clone()));
    }
    let before = counting.intercept().applied().commits;
    let begun = Instant::now();
    let forked = fork(place, &boss, children, None).await?;
    // Workers begin as soon as there is something to claim, so a few of these may be theirs.
    let creating = counting.intercept().applied().commits - before;
    suspend(place, &lease, &forked.tool_call_id).await?;
    let resumed = tokio::time::timeout(PATIENCE, parent.recv()).await.context("the parent was never told")?;
    let time = begun.elapsed();
    workers.shutdown().await;
    place.finish(&resumed.context("no parent")?).await?;
    Ok(Round { time, creating })
}

async fn suspend(place: &Place, lease: &Lease, call: &str) -> anyhow::Result<()> {
    let turn = lease.turn.as_ref().context("a lease without a turn")?;
    let suspend = Suspend {
        fence: Fence {
            turn_id: lease.turn_id,
            epoch: lease.epoch,
            proof: Proof::Lease(Hash256::of(&turn.secret)),
        },
        waiting: vec![call.to_owned()],
        resume_seconds: 600,
        calls: vec![],
    };
    let command = Command::Suspend(suspend);
    place.kernel().turn_command(&lease.project, place.caller(), command, None).await?;
    Ok(())
}

/// Claims, and ends what it was given, until the parent is to go on.
async fn work(
    place: Arc<Place>,
    name: String,
    boss: AgentId,
    resumed: mpsc::Sender<Lease>,
) -> anyhow::Result<()> {
    let room = Arc::new(Semaphore::new(AT_ONCE));
    let mut turns = JoinSet::new();
    loop {
        for lease in place.claim(&name, CLAIM_WAIT).await? {
            if lease.agent_id == boss && lease.kind == LeaseKind::Resume {
                resumed.send(lease).await?;
                return Ok(());
            }
            let (place, permit) = (Arc::clone(&place), Arc::clone(&room).acquire_owned().await?);
            turns.spawn(async move {
                let ended = place.finish(&lease).await;
                drop(permit);
                ended
            });
        }
        while let Some(ended) = turns.try_join_next() {
            ended??;
        }
    }
}
