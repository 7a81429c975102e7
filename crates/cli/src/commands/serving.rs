//! What `cardwire up` does once store and socket are there: announce itself, serve, and end in order.

use super::{
    egress::Reach,
    front::{self, Front},
    open,
    page::Page,
    unfinished::{self, RunCommands},
    worker,
};
use crate::{
    admin,
    client::{Client, Embedded, Place},
    data_dir::DataDir,
    failure::Failure,
    locate, open_files,
    output::Output,
    presence::Presence,
    replays::ByWorker,
    signals::Signals,
    telemetry::metrics,
};
use cardwire_egress::Door;
use cardwire_handoff::Files;
use cardwire_kernel::Kernel;
use cardwire_server::{Listening, Room, ServerConfig};
use cardwire_worker::Elsewhere;
use metrics_exporter_prometheus::PrometheusHandle;
use std::{fs, net::SocketAddr, num::NonZeroU32, path::PathBuf, sync::Arc, time::Duration};
use tokio::net::TcpListener;

/// How often the samples of histograms are folded; without it they pile up until somebody reads the metrics.
const FOLD_METRICS_EVERY: Duration = Duration::from_secs(5);

/// A server about to start.
pub(crate) struct Serving<'a> {
    pub(crate) output: Output,
    pub(crate) dir: &'a DataDir,
    pub(crate) kernel: &'a Arc<Kernel>,
    pub(crate) presence: &'a Presence,
    /// What it was started for, if somebody wants to look at something.
    pub(crate) page: Option<Page>,
    /// Certificate chain and key.
    pub(crate) tls: Option<(PathBuf, PathBuf)>,
    pub(crate) allow_hosts: Vec<String>,
    pub(crate) rate_limit: NonZeroU32,
    /// Where projects have their files.
    pub(crate) workspace: Arc<dyn Files>,
    /// How many turns of teams' agents run in this process.
    pub(crate) worker_turns: usize,
    /// Where their tools are.
    pub(crate) elsewhere: Elsewhere,
    /// How their calls get there.
    pub(crate) door: Arc<Door>,
    pub(crate) reach: Reach,
}

impl Serving<'_> {
    /// Serves until a signal comes.
    pub(crate) async fn run(mut self, listener: TcpListener, signals: &mut Signals) -> Result<(), Failure> {
        let token = admin::ensure(self.kernel, self.dir).await?;
        let metrics = fold_metrics(self.kernel)?;
        let elsewhere = std::mem::take(&mut self.elsewhere);
        let door = Arc::clone(&self.door);
        let _worker =
            worker::inside(self.kernel, &token, &self.workspace, self.worker_turns, None, door, elsewhere);
        let config = ServerConfig {
            allowed_hosts: self.allow_hosts.clone(),
            requests_per_second: self.rate_limit.get(),
            workspace: Some(self.workspace.clone()),
            replays: Some(Arc::new(ByWorker { files: self.workspace.clone() })),
            render_metrics: Arc::new(move || metrics.render()),
            is_tls: self.tls.is_some(),
            ..ServerConfig::new(env!("CARGO_PKG_VERSION"))
        };
        let router = cardwire_server::router(Arc::clone(self.kernel), config);
        let asked = locate::given_token()?.unwrap_or_else(|| token.clone());
        let inside = Embedded::within(&router, self.kernel, &asked, &self.workspace);
        let address = listener
            .local_addr()
            .map_err(|error| Failure::failed(format!("cannot tell the address: {error}")))?;
        let room = Room::within(open_files::raise());
        let (scheme, certificate, listening) = match &self.tls {
            None => ("http", None, Listening::plain(listener, room)),
            Some((cert, key)) => {
                let listening = Listening::tls(listener, room, cert, key)
                    .map_err(|error| Failure::failed(format!("cannot speak TLS: {error}")))?;
                let pem = fs::read_to_string(cert).map_err(|error| Failure::file("read", cert, &error))?;
                ("https", Some(pem), listening)
            }
        };
        let place = Place { url: front::address_of(scheme, address), certificate };
        let mut front = Front::open(self.presence, place, self.reach, listening, router, self.kernel)?;
        tracing::info!(%address, scheme, data_dir = %self.dir.path().display(), "listening");
        match &self.page {
            Some(page) => self.show(page, front.url(), &Client::Embedded(inside)).await?,
            None => {
                self.announce(scheme, address, front.url());
                self.tell_unfinished(inside);
            }
        }
        front.during(signals.next()).await?;
        tracing::info!("stopping; a second signal stops at once");
        front.close(signals).await
    }

    /// Nobody may be reading, which is no reason not to serve.
    fn announce(&self, scheme: &str, address: SocketAddr, url: &str) {
        let _ = self.output.line(format_args!("listening on {scheme}://{address}"));
        let _ = self.output.line(format_args!("the admin token is in {}", self.dir.token_file().display()));
        let _ = self
            .output
            .line(format_args!("look at runs in a browser: {url}/inspect (`cardwire open` signs it in)"));
    }

    async fn show(&self, page: &Page, url: &str, inside: &Client) -> Result<(), Failure> {
        open::show(&page.sign_in(url, inside).await?, self.output)?;
        if !self.output.json {
            self.output.line("the pages are served from here until Ctrl-C")?;
        }
        Ok(())
    }

    /// Names the runs that the server before this one left unfinished (F-07). Nobody waits for that.
    fn tell_unfinished(&self, inside: Embedded) {
        let works = self.worker_turns > 0;
        self.kernel.tasks().spawn("naming unfinished runs", move |mut stop| async move {
            let client = Client::Embedded(inside);
            let found = tokio::select! {
                found = unfinished::runs(&client, None) => found,
                () = stop.stopped() => return,
            };
            let (runs, more) = match found {
                Ok(found) => found,
                Err(failure) => {
                    return tracing::warn!(error = %failure.message, "could not look for unfinished runs");
                }
            };
            for run in &runs {
                let (project, session, turn) = (run.project(), run.session(), run.turn());
                let (since, RunCommands { resume, stop }) = (run.since(), run.commands(None));
                if works {
                    tracing::info!(
                        project,
                        session,
                        turn,
                        since,
                        watch = resume,
                        stop,
                        "goes on with a run that has not ended"
                    );
                } else {
                    tracing::info!(
                        project,
                        session,
                        turn,
                        since,
                        watch = resume,
                        stop,
                        "a run that has not ended waits for a worker"
                    );
                }
            }
            if more {
                tracing::info!("there are more runs that have not ended");
            }
        });
    }
}

fn fold_metrics(kernel: &Kernel) -> Result<PrometheusHandle, Failure> {
    let handle = metrics::install()?;
    let folding = handle.clone();
    kernel.tasks().spawn("metrics", |mut stop| async move {
        loop {
            tokio::select! {
                () = tokio::time::sleep(FOLD_METRICS_EVERY) => folding.run_upkeep(),
                () = stop.stopped() => return,
            }
        }
    });
    Ok(handle)
}
