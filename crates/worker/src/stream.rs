//! Passes on what a model writes while it writes it: a few times a second, and not at all what was written at once.

use crate::desk::Desk;
use cardwire_llm::{ChatModel, ChunkSink, ModelAnswer, ModelError, ModelRequest};
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// Pause between two chunks.
const EVERY: Duration = Duration::from_millis(100);

/// What was written since the last chunk.
#[derive(Debug, Default)]
struct Waiting(Mutex<String>);

impl ChunkSink for Waiting {
    fn text(&self, delta: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_str(delta);
    }
}

impl Waiting {
    fn take(&self) -> String {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Calls a model and lets others watch. `first` is the number of the first chunk; gives that of the next one as well.
pub(crate) async fn call(
    desk: &Desk,
    model: &dyn ChatModel,
    request: &ModelRequest,
    first: u64,
) -> (Result<ModelAnswer, ModelError>, u64) {
    let (waiting, mut index) = (Waiting::default(), first);
    let answer = model.call(request, &waiting);
    tokio::pin!(answer);
    loop {
        tokio::select! {
            answer = &mut answer => return (answer, index),
            () = tokio::time::sleep(EVERY) => {
                let text = waiting.take();
                // Like a ring, a chunk may be lost.
                if !text.is_empty() && desk.chunk(index, &text).await.is_ok() {
                    index += 1;
                }
            }
        }
    }
}
