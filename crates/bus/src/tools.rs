//! Calls of tools that listen on the bus, on core NATS: ids alone, seen by whoever listens at that moment. The card that holds
//! the call is the truth; a call that nobody hears is ended by the deadline of the turn that waits for it.

use crate::{Bus, subjects};
use async_nats::{HeaderMap, Request, client::RequestErrorKind};
use cardwire_model::{CardId, Channel, ProjectId, ToolTarget, trace::TRACEPARENT};
use serde_json::{Value, json};
use std::time::Duration;
use thiserror::Error;

/// How long a call waits for a connection.
const CONNECTS_WITHIN: Duration = Duration::from_secs(2);

/// A call that a tool is told of.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// In which project.
    pub project: ProjectId,
    /// On which channel.
    pub channel: Channel,
    /// Which tools.
    pub target: ToolTarget,
    /// The card that makes the call.
    pub card_id: CardId,
    /// Which of its calls.
    pub tool_call_id: String,
    /// The agent that calls.
    pub agent_id: String,
    /// Its turn.
    pub turn_id: String,
    /// The turn's epoch.
    pub epoch: u64,
    /// The trace it belongs to.
    pub traceparent: Option<String>,
}

/// A call that reached nobody.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ToolUnreached {
    /// The bus is away.
    #[error("the bus is away")]
    Away,
    /// Nobody listens.
    #[error("nobody listens for calls of `{0}`")]
    Nobody(ToolTarget),
    /// The bus refuses.
    #[error("the bus refuses the call: {0}")]
    Refused(String),
}

impl Bus {
    /// Tells whoever listens of a call. Like a ring, it may be lost.
    pub async fn tell_tool(&self, call: &ToolCall) -> Result<(), ToolUnreached> {
        self.reached().await?;
        let sent =
            self.client.publish_with_headers(subject(call), headers(call), body(call).to_string().into());
        sent.await.map_err(|error| ToolUnreached::Refused(error.to_string()))
    }

    /// The same, and waits for a reply; `None` when none came in time, or none that is JSON.
    pub async fn ask_tool(&self, call: &ToolCall, wait: Duration) -> Result<Option<Value>, ToolUnreached> {
        self.reached().await?;
        let request =
            Request::new().headers(headers(call)).payload(body(call).to_string().into()).timeout(Some(wait));
        match self.client.send_request(subject(call), request).await {
            Ok(reply) => Ok(serde_json::from_slice(&reply.payload).ok()),
            Err(error) if error.kind() == RequestErrorKind::TimedOut => Ok(None),
            Err(error) if error.kind() == RequestErrorKind::NoResponders => {
                Err(ToolUnreached::Nobody(call.target.clone()))
            }
            Err(error) => Err(ToolUnreached::Refused(error.to_string())),
        }
    }

    /// A connection that is about to be made, at the start or once more, is worth a moment. Nothing is sent without one: it would
    /// be kept for a while and then sent all the same, too late for whoever was told that it failed.
    async fn reached(&self) -> Result<(), ToolUnreached> {
        if self.connected(CONNECTS_WITHIN).await { Ok(()) } else { Err(ToolUnreached::Away) }
    }
}

fn subject(call: &ToolCall) -> String {
    subjects::tool_call(&call.project, &call.channel, &call.target)
}

fn body(call: &ToolCall) -> Value {
    json!({
        "tool_call_card_id": call.card_id.to_string(), "tool_call_id": call.tool_call_id,
        "project_id": call.project.as_str(), "agent_id": call.agent_id, "agent_turn_id": call.turn_id,
        "turn_epoch": call.epoch,
    })
}

/// What caused the call.
fn headers(call: &ToolCall) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some(parent) = &call.traceparent {
        headers.insert(TRACEPARENT, parent.as_str());
    }
    headers
}
