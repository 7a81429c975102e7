//! How many files, and so connections, this process may have open.

use cardwire_model::limits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit as far as a server can use it and the system lets us; answers what it is then. Systems begin with a low one
/// for the sake of old programs, which 1,000 connections would fill.
pub(crate) fn raise() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let (current, maximum) = (limit.current.unwrap_or(u64::MAX), limit.maximum.unwrap_or(u64::MAX));
    let wanted = ((limits::CONNECTIONS + limits::OWN_FILES) as u64).min(maximum);
    if wanted <= current {
        return current;
    }
    match setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum }) {
        Ok(()) => wanted,
        Err(error) => {
            tracing::warn!(%error, files = current, "could not raise the limit of open files");
            current
        }
    }
}
