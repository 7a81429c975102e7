//! The worker: claim → collect → compose → call → write cards → tools → wait or deliver (WK-01).
//!
//! It knows the kernel only through the HTTP interface that workers in any language speak ([`Port`]), in this process or
//! over a network. It must not know stores, the kernel's types or the environment. Invariant: what a turn has written is
//! all that its holder knows of it, so that any worker can go on with any turn.

mod agent;
mod apart;
mod card;
mod compact;
mod desk;
#[cfg(test)]
mod fixtures;
mod lease;
mod line;
mod mcp;
mod models;
mod pool;
mod port;
mod profile;
mod profiles;
mod replay;
mod replies;
mod stream;
mod team_run;
mod telemetry;
mod tool_bus;
mod tools;
mod trace;
mod transcript;
mod trouble;

pub use mcp::McpServers;
pub use pool::{Elsewhere, Worker, WorkerConfig};
pub use port::{Ask, Key, Method, Port, Reply, Unreachable};
pub use replay::{CannotReplay, Replay, replay};
pub use tool_bus::{BusCall, ToolBus};
