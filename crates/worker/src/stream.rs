//! Passes on what a model writes while it writes it: a few times a second, and not at all what was written at once.

use crate::{desk::Desk, trouble::Logged};
use cardwire_llm::{ChatModel, ChunkSink, ModelAnswer, ModelError, ModelRequest};
use std::{
    convert::Infallible,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
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

/// Calls a model and lets others watch. `chunks` counts what was passed on.
pub(crate) async fn call(
    desk: &Desk,
    model: &dyn ChatModel,
    request: &ModelRequest,
    chunks: &AtomicU64,
) -> Result<ModelAnswer, ModelError> {
    let waiting = Waiting::default();
    tokio::select! {
        answer = model.call(request, &waiting) => answer,
        never = pass_on(desk, &waiting, chunks) => match never {},
    }
}

/// Sends what is waiting, beside the call: a model is not kept from writing by who watches it.
async fn pass_on(desk: &Desk, waiting: &Waiting, chunks: &AtomicU64) -> Infallible {
    loop {
        tokio::time::sleep(EVERY).await;
        let text = waiting.take();
        if !text.is_empty() {
            // Like a ring, a chunk may be lost. Its number is used up, so that who listens knows of it.
            let index = chunks.fetch_add(1, Ordering::Relaxed);
            if let Err(trouble) = desk.chunk(index, &text).await {
                tracing::debug!(index, trouble = %Logged(&trouble), "a chunk was lost");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Asked, Said};
    use async_trait::async_trait;
    use cardwire_llm::{ModelInfo, StopReason, Usage};
    use cardwire_model::Provider;
    use serde_json::json;
    use std::sync::Arc;
    use tokio::time::timeout;

    /// Writes a word every quarter of a second.
    #[derive(Debug)]
    struct Writes(ModelInfo);

    const WORDS: [&str; 3] = ["one ", "two ", "three"];

    #[async_trait]
    impl ChatModel for Writes {
        async fn call(&self, _: &ModelRequest, sink: &dyn ChunkSink) -> Result<ModelAnswer, ModelError> {
            for word in WORDS {
                sink.text(word);
                tokio::time::sleep(Duration::from_millis(250)).await;
            }
            Ok(ModelAnswer {
                text: WORDS.concat(),
                tool_calls: vec![],
                stop: StopReason::End,
                usage: Usage::default(),
                model: "m".to_owned(),
                id: None,
            })
        }

        fn info(&self) -> &ModelInfo {
            &self.0
        }
    }

    /// What the model said in the end, and how many chunks there were.
    async fn said(kernel: &Arc<Asked>) -> (String, u64) {
        let model = Writes(ModelInfo {
            provider: Provider::OpenAiChat,
            model: "m".to_owned(),
            prices: None,
            streams: true,
        });
        let request = ModelRequest {
            body: "{}".to_owned(),
            agent_id: "a".to_owned(),
            role: None,
            turn_id: "t".to_owned(),
            call_id: "c".to_owned(),
            step: 1,
        };
        let (desk, chunks) = (kernel.desk(), AtomicU64::new(0));
        let answer = timeout(Duration::from_secs(10), call(&desk, &model, &request, &chunks)).await;
        (answer.expect("the model is kept from writing").unwrap().text, chunks.into_inner())
    }

    /// The number and the text of each chunk.
    fn sent(kernel: &Asked) -> Vec<(u64, String)> {
        let chunk = |chunk: crate::fixtures::Request| {
            (chunk.body["index"].as_u64().unwrap(), chunk.body["text"].as_str().unwrap().to_owned())
        };
        kernel.requests("/chunks").into_iter().map(chunk).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_chunk_that_was_lost_leaves_a_gap() {
        let kernel = Asked::new(|request| match request.body["index"].as_u64() {
            Some(1) => Said::Lost,
            Some(_) | None => Said::Answer(204, json!(null)),
        });
        assert_eq!(said(&kernel).await, ("one two three".to_owned(), 3));
        let expected: Vec<_> = (0..).zip(WORDS.map(str::to_owned)).collect();
        assert_eq!(sent(&kernel), expected, "whoever hears 0 and 2 knows that something is missing");
    }

    #[tokio::test(start_paused = true)]
    async fn a_model_does_not_wait_for_a_chunk() {
        let kernel = Asked::new(|_| Said::Never);
        assert_eq!(said(&kernel).await, ("one two three".to_owned(), 1));
        assert_eq!(sent(&kernel), [(0, "one ".to_owned())]);
    }
}
