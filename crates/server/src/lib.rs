//! HTTP over one kernel: routing, access, errors, server-sent events. Each handler parses, makes one kernel call
//! and answers.
//!
//! This crate must not know a concrete store, and decides nothing about facts or access.
//! Invariant: every response, whatever went wrong, is JSON with a stable code and carries `traceparent`.

mod addresses;
mod chunks;
mod error;
mod gate;
mod http;
mod inspect;
mod limit;
mod lookups;
mod readiness;
mod replays;
mod request;
mod respond;
mod router;
mod seldom;
mod serve;
mod sse;
mod state;
mod team;
mod tls;
mod trace;
mod unread;
mod workspace;

pub use replays::{CannotReplay, Replays};
pub use router::router;
pub use serve::{Listening, Room, serve};
pub use state::ServerConfig;
pub use team::check_team;
pub use tls::TlsError;
