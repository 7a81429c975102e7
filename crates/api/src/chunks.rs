//! Chunks of an answer on the wire: text as a model writes it, for those who watch.

use cardwire_kernel::Chunk;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A piece of text that a turn is writing.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChunkIn {
    /// The epoch of the lease.
    #[schema(minimum = 0)]
    pub turn_epoch: u64,
    /// 0, 1, 2, …
    #[schema(minimum = 0)]
    pub index: u64,
    /// The text.
    pub text: String,
}

/// A piece of text that a turn is writing.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChunkOut {
    /// By which agent.
    pub agent_id: String,
    /// In which turn.
    pub agent_turn_id: String,
    /// At which epoch.
    pub turn_epoch: u64,
    /// 0, 1, 2, …: who misses one knows it.
    pub index: u64,
    /// The text.
    pub text: String,
}

impl From<&Chunk> for ChunkOut {
    fn from(chunk: &Chunk) -> Self {
        Self {
            agent_id: chunk.agent_id.to_string(),
            agent_turn_id: chunk.turn_id.to_string(),
            turn_epoch: chunk.epoch.get(),
            index: chunk.index,
            text: chunk.text.clone(),
        }
    }
}
