//! `cardwire up`: one server, from the first lock to the last commit. `cardwire open` starts the same server to look at a store.

use super::{
    context_service::ComposerArgs,
    egress::{EgressArgs, Reach},
    mcp::McpArgs,
    page::Wanted,
    pmo_service::PmoArgs,
    serving::Serving,
    unfinished,
    watchdog::WatchdogArgs,
};
use crate::{
    client::{Client, Embedded},
    context::Context,
    data_dir::DataDir,
    failure::Failure,
    logging::{self, LogFormat},
    ports::BusTools,
    presence::Presence,
    private,
    signals::Signals,
    store::StoreArgs,
    telemetry::ExportArgs,
    workspace,
};
use cardwire_bus::Bus;
use cardwire_kernel::{Kernel, KernelConfig};
use cardwire_model::limits;
use cardwire_store_sqlite::Loss;
use cardwire_worker::Elsewhere;
use clap::{Args, Parser};
use secrecy::{ExposeSecret, SecretString};
use std::{net::SocketAddr, num::NonZeroU32, path::PathBuf, sync::Arc, time::Duration};
use tokio::net::{TcpListener, lookup_host};

#[derive(Debug, Args)]
pub(crate) struct UpArgs {
    /// Where to listen; port 0 picks a free one.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7117")]
    listen: String,
    #[command(flatten)]
    store: StoreArgs,
    /// Go on with an embedded store that has lost commits, without them. Without this such a store is refused.
    #[arg(long)]
    accept_loss: bool,
    /// `nats://…`: rings doorbells at other servers on the same store, and relays the event log to JetStream. The
    /// server is as right without it, only slower to hear of work that came in elsewhere. Tools with a target on the bus need
    /// it.
    #[arg(long, value_name = "URL", env = "CARDWIRE_BUS", hide_env_values = true)]
    bus: Option<SecretString>,
    /// Speak TLS with this certificate chain (PEM).
    #[arg(long, value_name = "PATH", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key of --tls-cert (PEM).
    #[arg(long, value_name = "PATH", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Listen on an address that is not loopback without TLS: a proxy in front speaks it.
    #[arg(long)]
    insecure_behind_proxy: bool,
    /// A host name, besides `localhost` and addresses, under which the server may be called. May be repeated.
    #[arg(long = "allow-host", value_name = "NAME")]
    allow_hosts: Vec<String>,
    /// Requests per second of one token.
    #[arg(long, value_name = "N", default_value_t = default_rate())]
    rate_limit: NonZeroU32,
    #[command(flatten)]
    watchdog: WatchdogArgs,
    #[command(flatten)]
    pmo: PmoArgs,
    #[command(flatten)]
    composer: ComposerArgs,
    /// Run agents of teams in this process, so many turns at once; 0 leaves them to `cardwire worker`.
    #[arg(long, value_name = "TURNS", default_value_t = 64)]
    worker_turns: usize,
    #[command(flatten)]
    mcp: McpArgs,
    #[command(flatten)]
    egress: EgressArgs,
    /// What log lines on standard error look like. CARDWIRE_LOG or RUST_LOG say what is logged.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
    #[command(flatten)]
    export: ExportArgs,
}

/// How long the store may take for the last commits after requests have ended (API-13).
const LAST_COMMITS: Duration = Duration::from_secs(limits::STOP_SECONDS - limits::STOP_REQUESTS_SECONDS);

fn default_rate() -> NonZeroU32 {
    NonZeroU32::new(limits::TOKEN_REQUESTS_PER_SECOND).unwrap_or(NonZeroU32::MIN)
}

impl UpArgs {
    /// A server that nobody configured, on a free port of this machine.
    pub(super) fn to_look(store: StoreArgs) -> Result<Self, Failure> {
        #[derive(Parser)]
        struct Defaults {
            #[command(flatten)]
            up: UpArgs,
        }
        let parsed = Defaults::try_parse_from(["cardwire", "--listen", "127.0.0.1:0"]);
        let Defaults { up } = parsed.map_err(|error| Failure::usage(error.to_string()))?;
        Ok(Self { store, ..up })
    }
}

pub(crate) async fn run(args: UpArgs, context: &Context) -> Result<(), Failure> {
    let _export = logging::start(args.log_format, logging::DEFAULT, Some(&args.export))?;
    start(args, context, None).await
}

/// Starts a server, and serves until a signal comes. One that was started to look at something shows that first, and goes on
/// with no run that would cost money: nobody asked for that.
pub(super) async fn start(
    mut args: UpArgs,
    context: &Context,
    wanted: Option<&Wanted>,
) -> Result<(), Failure> {
    let addresses = resolve(&args).await?;
    let composer = args.composer.config()?;
    let mcp = args.mcp.servers()?;
    let reach = reach(&args, &addresses);
    let door = args.egress.door(reach)?;
    let dir = &context.dir;
    dir.create()?;
    warn(&args, dir);
    let files = workspace::open(context)?;
    // From here on a signal ends the server in order, also one that comes while it still starts.
    let mut signals = Signals::listen()?;
    let presence = Presence::claim(dir).await?;
    let loss = if args.accept_loss { Loss::Accepted } else { Loss::Refused };
    let store = args.store.store.open(dir, loss).await?;
    let page = match wanted {
        Some(wanted) => {
            let looking = Embedded::looking(Arc::clone(&store), dir, Arc::clone(&files)).await?;
            let looking = Client::Embedded(looking);
            if unfinished::tell_held(&looking).await? {
                args.worker_turns = 0;
                args.watchdog.switch_off();
            }
            Some(wanted.page(&looking).await?)
        }
        None => None,
    };
    let listener =
        TcpListener::bind(&addresses[..]).await.map_err(|error| cannot_listen(&args.listen, &error))?;
    let bus = match &args.bus {
        Some(url) => Some(open_bus(url).await?),
        None => None,
    };
    let mut config = KernelConfig {
        watchdog: args.watchdog.policy(),
        pmo: args.pmo.config(),
        context: composer,
        ..KernelConfig::new(store)
    };
    if let Some(bus) = &bus {
        config.doorbell = Arc::clone(bus) as _;
    }
    let kernel = Kernel::start(config);
    if let Some(bus) = &bus {
        bus.serve(&kernel);
    }
    let served = Serving {
        output: context.output,
        dir,
        kernel: &kernel,
        presence: &presence,
        page,
        tls: args.tls_cert.zip(args.tls_key),
        allow_hosts: args.allow_hosts,
        rate_limit: args.rate_limit,
        workspace: files,
        worker_turns: args.worker_turns,
        elsewhere: Elsewhere { mcp, bus: bus.map(|bus| Arc::new(BusTools(bus)) as _) },
        door,
        reach,
    }
    .run(listener, &mut signals)
    .await;
    match tokio::time::timeout(LAST_COMMITS, end(&kernel)).await {
        Ok(()) => tracing::info!("stopped"),
        Err(_) => {
            tracing::warn!("stopped without waiting any longer for the store; what was answered is kept")
        }
    }
    served
}

async fn end(kernel: &Kernel) {
    // Nothing is written any more, so a stopped store is a sealed one.
    if let Err(error) = kernel.seal_audit().await {
        tracing::warn!(%error, "could not seal the last audit rows");
    }
    kernel.shutdown().await;
}

pub(super) async fn open_bus(url: &SecretString) -> Result<Arc<Bus>, Failure> {
    Bus::open(url.expose_secret()).await.map_err(|error| {
        Failure::usage(error.to_string()).hint("an address looks like `nats://127.0.0.1:4222`")
    })
}

/// The addresses to listen on. SEC-01: off this machine only behind something that speaks TLS.
async fn resolve(args: &UpArgs) -> Result<Vec<SocketAddr>, Failure> {
    let listen = &args.listen;
    let wrong = |reason: String| {
        Failure::usage(format!("`--listen {listen}` is not an address: {reason}"))
            .hint("an address looks like `127.0.0.1:7117` or `[::1]:7117`")
    };
    let addresses: Vec<_> = lookup_host(listen).await.map_err(|error| wrong(error.to_string()))?.collect();
    if addresses.is_empty() {
        return Err(wrong("the name has no address".to_owned()));
    }
    let protected = args.tls_cert.is_some() || args.insecure_behind_proxy;
    if !protected && !addresses.iter().all(|address| address.ip().is_loopback()) {
        return Err(Failure::usage(format!(
            "`--listen {listen}` can be reached from other machines, and tokens would cross the network in clear text"
        ))
        .hint("listen on 127.0.0.1, give `--tls-cert` and `--tls-key`, or add `--insecure-behind-proxy` behind a proxy that speaks TLS"));
    }
    Ok(addresses)
}

/// Who can reach the server, as far as its flags tell: another name for it, or a proxy, brings others here.
fn reach(args: &UpArgs, addresses: &[SocketAddr]) -> Reach {
    let is_local = addresses.iter().all(|address| address.ip().is_loopback())
        && args.allow_hosts.is_empty()
        && !args.insecure_behind_proxy;
    if is_local { Reach::Local } else { Reach::Network }
}

fn cannot_listen(listen: &str, error: &std::io::Error) -> Failure {
    let failure = Failure::failed(format!("cannot listen on {listen}: {error}"));
    if error.kind() == std::io::ErrorKind::AddrInUse {
        failure.hint("choose another port, or 0 for a free one")
    } else {
        failure
    }
}

/// What an operator should hear once.
fn warn(args: &UpArgs, dir: &DataDir) {
    if args.store.store.shows_password(std::env::args()) {
        tracing::warn!(
            "the password in --store can be read by every user of this machine; use CARDWIRE_STORE"
        );
    }
    if let Ok(Some(mode)) = private::open_to_others(dir.path()) {
        let mode = format!("{mode:o}");
        tracing::warn!(mode, "other users can look into the data directory; `chmod 700` it");
    }
}
