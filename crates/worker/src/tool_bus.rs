//! The way to tools that listen on a bus. A worker knows what it has to tell them, and nothing of how that travels.

use async_trait::async_trait;
use serde_json::Value;
use std::{fmt, time::Duration};

/// A call that a tool is told of: ids alone. What is called for stands in the card.
#[derive(Debug, Clone)]
pub struct BusCall<'a> {
    /// Which tools.
    pub target: &'a str,
    /// The card that makes the call.
    pub tool_call_card_id: &'a str,
    /// Which of its calls.
    pub tool_call_id: &'a str,
    /// In which project.
    pub project_id: &'a str,
    /// On which channel; the public one when absent.
    pub channel_id: Option<&'a str>,
    /// The agent that calls.
    pub agent_id: &'a str,
    /// Its turn.
    pub agent_turn_id: &'a str,
    /// The turn's epoch.
    pub turn_epoch: u64,
    /// What caused it, as W3C Trace Context says it.
    pub traceparent: Option<String>,
}

/// A bus. What it is told may be lost.
#[async_trait]
pub trait ToolBus: Send + Sync + fmt::Debug {
    /// Tells whoever listens. Fails, with the reason, where nobody can have heard it.
    async fn tell(&self, call: &BusCall<'_>) -> Result<(), String>;

    /// The same, and waits for a reply; `None` when none came in time.
    async fn ask(&self, call: &BusCall<'_>, wait: Duration) -> Result<Option<Value>, String>;
}
