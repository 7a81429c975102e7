//! The pools: connections that act as the app, and connections that act as the system.
//!
//! Must not know SQL beyond settings. Invariant: a connection takes its role before its first statement and keeps it.

use crate::{PostgresConfig, error::unavailable, pulse::Lifeline, tls::Tls};
use cardwire_store::StoreError;
use deadpool_postgres::{ClientWrapper, Hook, HookError, Pool, QueueMode, Runtime};
use secrecy::ExposeSecret;
use std::time::Duration;
use tokio_postgres::Config;

/// Long values, groups of events above all, are compressed by lz4 where the server was built with it: in a fraction of the
/// time of what it does by default.
const COMPRESSION: &str = "SELECT set_config(name, 'lz4', false) FROM pg_settings
WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)";

/// A connection that was silent for so long is asked whether it still stands; so often, so many times.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(5);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(2);
const KEEPALIVE_RETRIES: u32 = 3;
/// A connection ends when nothing of what was sent has been acknowledged for so long.
const UNACKNOWLEDGED: Duration = Duration::from_secs(10);

/// For the work of tenants: their statements look up rows by key, one after the other, and in the order of an index: a bitmap
/// has none, so that a page of a list would be sorted out of all of it.
const ONE_BY_ONE: &str =
    "-c enable_hashjoin=off -c enable_mergejoin=off -c enable_memoize=off -c enable_bitmapscan=off";

/// Connections that read logs at once. More would only take more of the server from those who write.
const LOG_CONNECTIONS: usize = 2;

/// What connects to the server in one way.
pub(crate) struct Pools {
    config: Config,
    tls: Tls,
    settings: PostgresConfig,
    line: Lifeline,
}

impl Pools {
    pub(crate) fn new(settings: PostgresConfig) -> Result<Self, StoreError> {
        // The parser's message quotes parts of the URL, which may hold the password.
        let bad_url = |_| StoreError::Internal("the PostgreSQL URL cannot be read".to_owned());
        let mut config: Config = settings.url.expose_secret().parse().map_err(bad_url)?;
        config.connect_timeout(settings.connect_timeout);
        // A server that went away without a word (a fail-over, a router that forgot the connection) is noticed by TCP itself.
        config.keepalives(true).keepalives_idle(KEEPALIVE_IDLE).keepalives_interval(KEEPALIVE_INTERVAL);
        config.keepalives_retries(KEEPALIVE_RETRIES).tcp_user_timeout(UNACKNOWLEDGED);
        if config.get_application_name().is_none() {
            config.application_name("cardwire");
        }
        let tls = Tls::choose(&config, settings.root_cert.as_deref())?;
        Ok(Self { config, tls, settings, line: Lifeline::default() })
    }

    /// Connections as the user of the URL, for migrations: few, and without limits on time.
    pub(crate) fn login(&self) -> Result<Pool, StoreError> {
        self.build(self.options(&["-c search_path=public".to_owned()]), 1)
    }

    /// Connections for the work of tenants.
    pub(crate) fn app(&self, role: &str) -> Result<Pool, StoreError> {
        self.of_role(role, ONE_BY_ONE, self.settings.app_connections)
    }

    /// Connections for those who read logs of events: there may be thousands, and nobody else waits behind them (F-25).
    pub(crate) fn log(&self, role: &str) -> Result<Pool, StoreError> {
        self.of_role(role, ONE_BY_ONE, LOG_CONNECTIONS)
    }

    /// Connections for the work across tenants.
    pub(crate) fn system(&self, role: &str) -> Result<Pool, StoreError> {
        self.of_role(role, "", self.settings.system_connections)
    }

    /// One connection that asks whether the server answers, and what all connections hang on.
    pub(crate) fn pulse(&self, role: &str) -> Result<(Pool, Lifeline), StoreError> {
        Ok((self.of_role(role, "", 1)?, self.line.clone()))
    }

    /// All of them read by index only: every statement names a key or an index, and a plan that was made while a table
    /// was small would otherwise read all of it when it has grown. A statement is planned once, because planning it
    /// for each value costs several times as much as running it; and run by one process, because starting others costs
    /// more than what there is to read. What a commit checks after it has a lock must be seen as it is then, whatever the
    /// database has for its default.
    fn of_role(&self, role: &str, more: &str, size: usize) -> Result<Pool, StoreError> {
        let timeout = self.settings.statement_timeout.as_millis();
        let options = self.options(&[
            format!("-c role={role}"),
            "-c search_path=public".to_owned(),
            format!("-c statement_timeout={timeout} -c idle_in_transaction_session_timeout={timeout}"),
            "-c jit=off -c enable_seqscan=off -c plan_cache_mode=force_generic_plan".to_owned(),
            "-c max_parallel_workers_per_gather=0".to_owned(),
            r"-c default_transaction_isolation=read\ committed".to_owned(),
            more.to_owned(),
        ]);
        self.build(options, size)
    }

    fn options(&self, ours: &[String]) -> Config {
        let mut config = self.config.clone();
        let given = config.get_options().unwrap_or_default().to_owned();
        // Ours come last, so that they win.
        config.options(format!("{given} {}", ours.join(" ")).trim());
        config
    }

    fn build(&self, config: Config, size: usize) -> Result<Pool, StoreError> {
        let timeout = Some(self.settings.connect_timeout);
        let compression = Hook::async_fn(|client: &mut ClientWrapper, _| {
            Box::pin(async move { client.batch_execute(COMPRESSION).await.map_err(HookError::Backend) })
        });
        Pool::builder(self.tls.manager(config, &self.line))
            .post_create(compression)
            .max_size(size.max(1))
            // The one used last has its plans and caches warm.
            .queue_mode(QueueMode::Lifo)
            .runtime(Runtime::Tokio1)
            .create_timeout(timeout)
            .wait_timeout(timeout)
            .build()
            .map_err(|error| unavailable(&error))
    }
}
