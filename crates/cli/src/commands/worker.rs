//! `cardwire worker`: runs agents of a server, and the same inside `cardwire up` and `cardwire run`.

use super::{
    egress::{EgressArgs, Reach},
    mcp::McpArgs,
    up::open_bus,
};
use crate::{
    client::Client,
    context::Context,
    failure::Failure,
    locate,
    logging::{self, LogFormat},
    ports::{BusTools, HttpPort, RouterPort},
    presence::{self, Found},
    signals::Signals,
    telemetry::ExportArgs,
};
use cardwire_egress::Door;
use cardwire_handoff::Files;
use cardwire_kernel::{
    Kernel,
    ids::{IdSource, SystemIds},
};
use cardwire_model::{Hash256, TokenSecret};
use cardwire_team::WORKER_TARGET;
use cardwire_worker::{Elsewhere, McpServers, Worker, WorkerConfig};
use clap::Args;
use secrecy::SecretString;
use std::{sync::Arc, time::Duration};
use tokio::sync::watch;

/// How long turns may go on after the worker was told to stop.
const GRACE: Duration = Duration::from_secs(5);

/// How many turns a command runs at once.
const TURNS: usize = 64;

#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    /// Which turns to claim: those of profiles with this `worker_target`.
    #[arg(long, value_name = "TARGET", default_value = WORKER_TARGET)]
    target: String,
    /// The worker's name. One that is started again under its name goes on with the turns it held; no two may run under the
    /// same name at once.
    #[arg(long, value_name = "NAME")]
    name: String,
    /// How many turns to run at once.
    #[arg(long, value_name = "N", default_value_t = 64)]
    turns: usize,
    /// Only turns of this project. May be repeated.
    #[arg(long = "project", short = 'p', value_name = "PROJECT")]
    projects: Vec<String>,
    #[command(flatten)]
    mcp: McpArgs,
    #[command(flatten)]
    egress: EgressArgs,
    /// `nats://…`: where tools with a target on the bus listen.
    #[arg(long, value_name = "URL", env = "CARDWIRE_BUS", hide_env_values = true)]
    bus: Option<SecretString>,
    /// What log lines on standard error look like. CARDWIRE_LOG or RUST_LOG say what is logged.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
    #[command(flatten)]
    export: ExportArgs,
}

pub(crate) async fn run(args: WorkerArgs, context: &Context) -> Result<(), Failure> {
    let _export = logging::start(args.log_format, logging::DEFAULT, Some(&args.export))?;
    let Some((place, token)) = locate::place(context).await? else {
        return Err(Failure::not_found("no server is given, and none is running for the data directory")
            .hint("give `--server URL`, or start one with `cardwire up`"));
    };
    if args.turns == 0 {
        return Err(Failure::usage("`--turns` must be at least 1"));
    }
    let door = args.egress.door(reach(&place.url, context))?;
    let bus = match &args.bus {
        Some(url) => Some(Arc::new(BusTools(open_bus(url).await?)) as _),
        None => None,
    };
    let elsewhere = Elsewhere { mcp: args.mcp.servers()?, bus };
    let mut signals = Signals::listen()?;
    let port = Arc::new(HttpPort::new(&place, token)?);
    let config = WorkerConfig {
        target: args.target,
        name: args.name,
        turns: args.turns,
        projects: (!args.projects.is_empty()).then_some(args.projects),
        grace: GRACE,
        seed: seed(),
    };
    tracing::info!(server = place.url, target = config.target, name = config.name, "working");
    let worker = Worker::new(config, port, door, elsewhere);
    let (stop, stopped) = watch::channel(false);
    let working = worker.run(stopped);
    tokio::pin!(working);
    tokio::select! {
        () = &mut working => return Ok(()),
        () = signals.next() => tracing::info!("stopping; a second signal stops at once"),
    }
    let _ = stop.send(true);
    tokio::select! {
        () = working => Ok(()),
        () = signals.next() => Err(Failure::failed("stopped before every turn was given back")
            .hint("a worker that is started again under this name goes on with them")),
    }
}

/// Who can reach a server. Only one that lives here says so; of others it is not known.
fn reach(url: &str, context: &Context) -> Reach {
    match presence::find(&context.dir) {
        Found::Live(address) if address.url == url && !address.open => Reach::Local,
        Found::Live(_) | Found::Stale(_) | Found::Nothing => Reach::Network,
    }
}

/// Of this process.
fn seed() -> u64 {
    let secret = SystemIds.secret();
    u64::from_be_bytes(std::array::from_fn(|place| secret[place]))
}

/// A worker for a command that has nobody else to run agents; a server has its own.
/// It works in the project of the command and in no other: what others have left unfinished, and what that costs, is theirs.
pub(super) fn beside(
    client: &Client,
    project: &str,
    door: Arc<Door>,
    mcp: McpServers,
) -> Option<watch::Sender<bool>> {
    match client {
        Client::Embedded(embedded) => {
            let (kernel, token, files) = embedded.inside();
            let elsewhere = Elsewhere { mcp, bus: None };
            inside(kernel, token, files, TURNS, Some(vec![project.to_owned()]), door, elsewhere)
        }
        Client::Http(_) => None,
    }
}

/// A worker inside this process, let in as a part of it: what becomes of tokens is nothing to it. It is told to stop when
/// what this gives is dropped, or when the kernel shuts down. `token` is that of the data directory.
pub(super) fn inside(
    kernel: &Arc<Kernel>,
    token: &TokenSecret,
    files: &Arc<dyn Files>,
    turns: usize,
    projects: Option<Vec<String>>,
    door: Arc<Door>,
    elsewhere: Elsewhere,
) -> Option<watch::Sender<bool>> {
    if turns == 0 {
        return None;
    }
    let port = Arc::new(RouterPort::new(kernel, kernel.worker_secret(), Arc::clone(files)));
    // The same data directory has the same name, and no two processes have the same directory.
    let name = format!("in-{}", &Hash256::of(token.expose().as_bytes()).to_string()[..16]);
    let config =
        WorkerConfig { target: WORKER_TARGET.to_owned(), name, turns, projects, grace: GRACE, seed: seed() };
    let worker = Worker::new(config, port, door, elsewhere);
    let (stop, stopped) = watch::channel(false);
    kernel.tasks().spawn("the worker", |mut ends| async move {
        let (end, ended) = watch::channel(false);
        let mut stopped = stopped;
        let working = worker.run(ended);
        tokio::pin!(working);
        tokio::select! {
            () = &mut working => return,
            () = ends.stopped() => {}
            _ = stopped.changed() => {}
        }
        let _ = end.send(true);
        working.await;
    });
    Some(stop)
}
