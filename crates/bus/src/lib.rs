//! The bus: what tells other processes that there may be something to do.
//!
//! Three things travel over NATS: doorbells and calls of tools on core subjects (at most once, ids only), and the durable
//! event log, relayed to JetStream for whoever wants to follow it there. None is ever the truth: a kernel is right with every message
//! lost, doubled or late, and with no bus at all (NF-07).
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
