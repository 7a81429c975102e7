//! The interface of all models.

use crate::{ModelAnswer, ModelError, Prices};
use async_trait::async_trait;
use cardwire_model::Provider;
use std::sync::Arc;

/// Something that answers requests.
#[async_trait]
pub trait ChatModel: Send + Sync + std::fmt::Debug {
    /// Sends one request. Dropping the future cancels it. If the request asks for a stream, text arrives at `sink` as
    /// it comes; all of it together is the text of the answer.
    async fn call(&self, request: &ModelRequest, sink: &dyn ChunkSink) -> Result<ModelAnswer, ModelError>;

    /// What it is.
    fn info(&self) -> &ModelInfo;
}

/// A model that is shared is the same model.
#[async_trait]
impl<M: ChatModel + ?Sized> ChatModel for Arc<M> {
    async fn call(&self, request: &ModelRequest, sink: &dyn ChunkSink) -> Result<ModelAnswer, ModelError> {
        (**self).call(request, sink).await
    }

    fn info(&self) -> &ModelInfo {
        (**self).info()
    }
}

/// What a model is.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelInfo {
    /// The format of requests and answers.
    pub provider: Provider,
    /// Its name at the provider.
    pub model: String,
    /// What it costs, if anybody said.
    pub prices: Option<Prices>,
    /// Whether requests are to ask for a stream.
    pub streams: bool,
}

/// One request, with what a script can tell calls apart by.
#[derive(Clone, PartialEq, Eq)]
pub struct ModelRequest {
    /// The exact body in the provider's format. Sent byte for byte.
    pub body: String,
    /// The agent's id: that of a member, in a team.
    pub agent_id: String,
    /// Its role in a process: planner, reflector, manager, worker, reducer, …
    pub role: Option<String>,
    /// The turn it is made in.
    pub turn_id: String,
    /// The call itself.
    pub call_id: String,
    /// The how manieth model call of its turn, from 1.
    pub step: u32,
}

/// The body is left out: it is the conversation, and what is printed ends up in logs.
impl std::fmt::Debug for ModelRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelRequest")
            .field("agent_id", &self.agent_id)
            .field("role", &self.role)
            .field("turn_id", &self.turn_id)
            .field("call_id", &self.call_id)
            .field("step", &self.step)
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

/// Where text goes while it is streamed.
pub trait ChunkSink: Send + Sync {
    /// The next piece, never empty.
    fn text(&self, delta: &str);
}

/// Nobody listens.
impl ChunkSink for () {
    fn text(&self, _delta: &str) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SEC-09
    #[test]
    fn a_printed_request_does_not_show_its_body() {
        let request = ModelRequest {
            body: "hunter2".to_owned(),
            agent_id: "a".to_owned(),
            role: None,
            turn_id: "t".to_owned(),
            call_id: "c".to_owned(),
            step: 1,
        };
        let text = format!("{request:?}");
        assert!(!text.contains("hunter2") && text.contains("body_bytes: 7"), "{text}");
    }
}
