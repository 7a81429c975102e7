//! Where calls of agents may go, and with which keys: a flag of those who run agents, and the environment.

use crate::failure::Failure;
use cardwire_egress::{ALLOW, Allowed, Door, Keyring};
use clap::Args;
use std::{env, sync::Arc};

#[derive(Debug, Args)]
pub(crate) struct EgressArgs {
    /// What models and tools of projects may reach besides the public network: networks, addresses and names of hosts with
    /// commas between them, or `none`. When absent: this machine, if nobody else can reach the server; else nothing.
    #[arg(long, value_name = "NETWORK|HOST", env = ALLOW, value_delimiter = ',')]
    egress_allow: Option<Vec<String>>,
}

/// Who can reach a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Programs on this machine.
    Local,
    /// Others as well.
    Network,
}

impl EgressArgs {
    /// The door of those who run agents of a server that is reached so.
    pub(super) fn door(&self, reach: Reach) -> Result<Arc<Door>, Failure> {
        let given =
            self.egress_allow.as_ref().filter(|list| list.iter().any(|entry| !entry.trim().is_empty()));
        let allowed = match (given, reach) {
            (Some(list), _) => Allowed::parse(list.iter().map(String::as_str))?,
            (None, Reach::Local) => Allowed::loopback(),
            (None, Reach::Network) => Allowed::default(),
        };
        tracing::info!(%allowed, "what projects may reach besides the public network");
        Ok(Arc::new(Door::new(keys()?, allowed)))
    }
}

/// The door of a command that runs agents by itself. What its project keeps is the person's own; other projects of the store
/// may have been written by others.
pub(super) fn own(project: &str) -> Result<Arc<Door>, Failure> {
    Ok(Arc::new(Door::new(keys()?, Allowed::loopback()).with_own(project)))
}

/// The door of a command that goes on with what a project keeps, whoever wrote it: as that of a server that only programs on
/// this machine reach.
pub(super) fn kept() -> Result<Arc<Door>, Failure> {
    Ok(Arc::new(Door::new(keys()?, Allowed::loopback())))
}

/// The keys in the environment.
fn keys() -> Result<Keyring, Failure> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    Ok(Keyring::from_variables(env::vars_os().filter_map(text))?)
}
