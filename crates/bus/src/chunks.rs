//! Chunks of an answer while it is being written, on core NATS: seen by whoever listens at that moment, kept by nobody.
//! The card that holds the whole answer is the truth.

use crate::subjects;
use async_nats::Client;
use cardwire_kernel::{Chunk, spawn::Stop};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::sync::broadcast::{Receiver, error::RecvError};

/// How long a chunk may wait for its place in what the client sends.
const WAIT: Duration = Duration::from_secs(1);

/// Sends every chunk that a kernel passes on. Like a ring, a chunk may be lost.
pub(crate) async fn send(client: Client, mut chunks: Receiver<Arc<Chunk>>, mut stop: Stop) {
    loop {
        let heard = tokio::select! {
            heard = chunks.recv() => heard,
            () = stop.stopped() => return,
        };
        let chunk = match heard {
            Ok(chunk) => chunk,
            Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        let subject = subjects::chunks(&chunk.project, &chunk.channel, &chunk.agent_id);
        // While the bus is away the client keeps a few and then makes us wait; a chunk is not worth that.
        tokio::select! {
            sent = client.publish(subject, body(&chunk).into()) => {
                if let Err(error) = sent {
                    tracing::debug!(%error, "a chunk was not sent");
                }
            }
            () = tokio::time::sleep(WAIT) => tracing::debug!("a chunk was not sent in time"),
            () = stop.stopped() => return,
        }
    }
}

fn body(chunk: &Chunk) -> String {
    let body = json!({
        "agent_turn_id": chunk.turn_id.to_string(), "turn_epoch": chunk.epoch.get(), "index": chunk.index,
        "text": chunk.text,
    });
    body.to_string()
}
