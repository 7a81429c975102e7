//! The bus: what tells other processes that there may be something to do.
//!
//! Four things travel over NATS. On core subjects, at most once: doorbells and calls of tools, which are ids only, and chunks of
//! answers, which are text. On JetStream: the durable event log, relayed for whoever wants to follow it there. None is ever the
//! truth: a kernel is right with every message lost, doubled or late, and with no bus at all (NF-07).
//! This crate must not decide anything and must not write to the store.

mod chunks;
mod doorbell;
mod nats;
mod relay;
mod subjects;
mod tools;

pub use nats::{Bus, BusError};
pub use relay::STREAM;
pub use tools::{ToolCall, ToolUnreached};
