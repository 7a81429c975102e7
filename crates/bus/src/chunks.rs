//! Chunks of an answer while it is being written, on core NATS: seen by whoever listens at that moment, kept by nobody.
//! The card that holds the whole answer is the truth.

use crate::{Bus, subjects};
use async_nats::Client;
use cardwire_kernel::{Chunk, spawn::Stop};
use cardwire_model::limits;
use serde_json::json;
use std::sync::Arc;
use tokio::sync::broadcast::{Receiver, error::RecvError};

impl Bus {
    /// Sends a chunk. Like a ring, it may be lost; answers whether it was handed to the connection.
    pub async fn send_chunk(&self, chunk: &Chunk) -> bool {
        publish(&self.client, chunk).await
    }
}

async fn publish(client: &Client, chunk: &Chunk) -> bool {
    if chunk.text.len() > limits::CHUNK_BYTES {
        return false;
    }
    let subject = subjects::chunks(&chunk.project, &chunk.channel, &chunk.agent_id);
    let body = json!({
        "agent_turn_id": chunk.turn_id.to_string(), "turn_epoch": chunk.epoch.get(), "index": chunk.index,
        "text": chunk.text,
    });
    client.publish(subject, body.to_string().into()).await.is_ok()
}

/// Sends every chunk that a kernel passes on.
pub(crate) async fn send(client: Client, mut chunks: Receiver<Arc<Chunk>>, mut stop: Stop) {
    loop {
        tokio::select! {
            heard = chunks.recv() => match heard {
                Ok(chunk) => {
                    publish(&client, &chunk).await;
                }
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            },
            () = stop.stopped() => return,
        }
    }
}
