//! What every handler shares.

use crate::{
    addresses::Addresses, inspect::Codes, limit::RateLimit, lookups::Lookups, readiness::Readiness,
    replays::Replays, workspace::Workspace,
};
use axum::body::Bytes;
use cardwire_api::openapi;
use cardwire_handoff::Files;
use cardwire_kernel::Kernel;
use cardwire_model::limits;
use std::sync::{Arc, Mutex, OnceLock};

/// How a server is set up.
pub struct ServerConfig {
    /// This program's version.
    pub version: &'static str,
    /// Host names, besides `localhost` and IP addresses, under which the server may be called.
    pub allowed_hosts: Vec<String>,
    /// Requests per second of one token.
    pub requests_per_second: u32,
    /// It is reached by TLS, so that the cookies of the inspector are for TLS alone.
    pub is_tls: bool,
    /// Where projects have their files; without it they have none.
    pub workspace: Option<Arc<dyn Files>>,
    /// Who runs turns again; without it none are (RP-05).
    pub replays: Option<Arc<dyn Replays>>,
    /// The text of `/metrics`.
    pub render_metrics: Arc<dyn Fn() -> String + Send + Sync>,
}

impl ServerConfig {
    /// No extra hosts, the default rate, no files, no metrics.
    pub fn new(version: &'static str) -> Self {
        Self {
            version,
            allowed_hosts: vec![],
            requests_per_second: limits::TOKEN_REQUESTS_PER_SECOND,
            is_tls: false,
            workspace: None,
            replays: None,
            render_metrics: Arc::new(String::new),
        }
    }
}

pub(crate) struct State {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) config: ServerConfig,
    pub(crate) rate: RateLimit,
    pub(crate) lookups: Lookups,
    /// Requests of callers without a token.
    pub(crate) strangers: Mutex<Addresses>,
    pub(crate) readiness: Readiness,
    pub(crate) codes: Codes,
    pub(crate) workspace: Workspace,
    document: OnceLock<Bytes>,
}

impl State {
    pub(crate) fn new(kernel: Arc<Kernel>, mut config: ServerConfig) -> Self {
        let rate = RateLimit::new(config.requests_per_second);
        let workspace = Workspace::new(config.workspace.take());
        Self {
            kernel,
            config,
            rate,
            lookups: Lookups::default(),
            strangers: Mutex::new(Addresses::new(limits::OPEN_REQUESTS, limits::OPEN_REQUESTS_PER_SECOND)),
            readiness: Readiness::default(),
            codes: Codes::default(),
            workspace,
            document: OnceLock::new(),
        }
    }

    /// The OpenAPI document. Most programs with a router never ask for it, and it takes longer to make than the rest.
    pub(crate) fn document(&self) -> Bytes {
        self.document.get_or_init(|| openapi::document(self.config.version).to_string().into()).clone()
    }
}
