//! What a deployment may plug in: blocks of its own, meanings of texts, and a better order of what was found.

use crate::KernelError;
use async_trait::async_trait;
use cardwire_model::{AgentId, Embedding, Invalid, ProjectId, SessionKey};
use cardwire_store::StoreError;
use serde_json::{Map, Value};

/// For whom a block is made.
#[derive(Debug, Clone)]
pub struct ProviderRequest<'a> {
    /// In which project.
    pub project: &'a ProjectId,
    /// Of which session, if any.
    pub session: Option<&'a SessionKey>,
    /// Its ordinary fields.
    pub fields: &'a Map<String, Value>,
    /// For which agent.
    pub agent_id: Option<&'a AgentId>,
    /// What is asked.
    pub query: Option<&'a str>,
}

/// Why a provider or a retriever gave nothing.
#[derive(Debug, Clone)]
pub enum ProviderError {
    /// It is set up wrongly: whoever asks is told (CC-07).
    Configuration(Invalid),
    /// It failed: the call goes on without the block.
    Failed(String),
    /// What it reads could not be read.
    Store(StoreError),
}

impl From<KernelError> for ProviderError {
    fn from(error: KernelError) -> Self {
        let KernelError::Store(error) = error else { return Self::Failed(error.to_string()) };
        Self::Store(error)
    }
}

/// Makes one block.
#[async_trait]
pub trait ContextProvider: Send + Sync {
    /// What the block is called; must end with `__context`.
    fn key(&self) -> &str;

    /// The block. Blank means none.
    async fn collect(&self, request: &ProviderRequest<'_>) -> Result<String, ProviderError>;
}

/// Places texts among meanings.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// One embedding for each text, in order.
    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, String>;
}

/// Judges what was found by reading it beside the question.
#[async_trait]
pub trait Reranker: Send + Sync {
    /// How well each text fits, in order; more is better.
    async fn rerank(&self, query: &str, texts: &[String]) -> Result<Vec<f64>, String>;
}
