//! Chunks of an answer while it is being written, on core NATS: seen by whoever listens at that moment, kept by nobody.
//! The card that holds the whole answer is the truth.

use crate::{Bus, subjects};
use cardwire_model::{AgentId, Channel, ProjectId, TurnEpoch, TurnId};
use serde_json::json;

/// A piece of text that a turn is writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// In which project.
    pub project: ProjectId,
    /// On which channel.
    pub channel: Channel,
    /// By which agent.
    pub agent_id: AgentId,
    /// In which turn.
    pub turn_id: TurnId,
    /// At which epoch.
    pub epoch: TurnEpoch,
    /// 0, 1, 2, …: a listener that misses one knows it.
    pub index: u64,
    /// The text.
    pub text: String,
}

/// Largest text of a chunk; a longer one is not sent. NATS takes a megabyte, with room for the rest of the message.
const CHUNK_BYTES: usize = 512 * 1024;

impl Bus {
    /// Sends a chunk. Like a ring, it may be lost; answers whether it was handed to the connection.
    pub async fn send_chunk(&self, chunk: &Chunk) -> bool {
        if chunk.text.len() > CHUNK_BYTES {
            return false;
        }
        let subject = subjects::chunks(&chunk.project, &chunk.channel, &chunk.agent_id);
        let body = json!({
            "agent_turn_id": chunk.turn_id.to_string(), "turn_epoch": chunk.epoch.get(), "index": chunk.index,
            "text": chunk.text,
        });
        self.client.publish(subject, body.to_string().into()).await.is_ok()
    }
}
