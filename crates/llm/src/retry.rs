//! A model that asks another one again when it may help.
//!
//! Invariant: nobody hears a text twice. Once a piece of an answer was passed on, its failure is final.

use crate::{ChatModel, ChunkSink, ModelAnswer, ModelError, ModelInfo, ModelRequest};
use async_trait::async_trait;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// How often and how fast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// Calls in all, the first included; 0 counts as 1.
    pub attempts: u32,
    /// The wait before the second call. Each further wait is twice as long.
    pub base: Duration,
    /// The longest wait, whatever the provider asks for.
    pub max: Duration,
}

impl Retry {
    /// How long to wait after this many failures, the last of which was this.
    fn delay(&self, failures: u32, error: &ModelError) -> Duration {
        let asked = if let ModelError::RateLimited { retry_after, .. } = error { *retry_after } else { None };
        let doubled = || self.base.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1)));
        asked.unwrap_or_else(doubled).min(self.max)
    }
}

/// The model that retries.
#[derive(Debug)]
pub struct Retrying<M> {
    model: M,
    retry: Retry,
}

impl<M> Retrying<M> {
    /// Wraps a model.
    pub fn new(model: M, retry: Retry) -> Self {
        Self { model, retry }
    }
}

/// The same model, but patient.
pub fn with_retry(model: Arc<dyn ChatModel>, retry: Retry) -> Arc<dyn ChatModel> {
    Arc::new(Retrying::new(model, retry))
}

#[async_trait]
impl<M: ChatModel> ChatModel for Retrying<M> {
    async fn call(&self, request: &ModelRequest, sink: &dyn ChunkSink) -> Result<ModelAnswer, ModelError> {
        let heard = Heard { sink, anything: AtomicBool::new(false) };
        let mut failures = 0;
        loop {
            let error = match self.model.call(request, &heard).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            failures += 1;
            let final_one = failures >= self.retry.attempts || heard.anything.load(Ordering::Acquire);
            if final_one || !error.is_retryable() {
                return Err(error);
            }
            let delay = self.retry.delay(failures, &error);
            tracing::info!(kind = error.kind(), failures, ?delay, "the model failed and is asked again");
            tokio::time::sleep(delay).await;
        }
    }

    fn info(&self) -> &ModelInfo {
        self.model.info()
    }
}

/// Passes text on and remembers that it did.
struct Heard<'a> {
    sink: &'a dyn ChunkSink,
    anything: AtomicBool,
}

impl ChunkSink for Heard<'_> {
    fn text(&self, delta: &str) {
        self.anything.store(true, Ordering::Release);
        self.sink.text(delta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{StopReason, Usage};
    use cardwire_model::Provider;
    use std::sync::Mutex;
    use tokio::time::Instant;

    /// Fails with these errors, first to last, then answers; says something before each failure if it is told to.
    #[derive(Debug)]
    struct Failing {
        info: ModelInfo,
        errors: Mutex<Vec<ModelError>>,
        speaks: bool,
    }

    fn failing(errors: &[ModelError], speaks: bool) -> Arc<dyn ChatModel> {
        let info =
            ModelInfo { provider: Provider::OpenAiChat, model: "m".to_owned(), prices: None, streams: true };
        Arc::new(Failing { info, errors: Mutex::new(errors.iter().rev().cloned().collect()), speaks })
    }

    #[async_trait]
    impl ChatModel for Failing {
        async fn call(&self, _: &ModelRequest, sink: &dyn ChunkSink) -> Result<ModelAnswer, ModelError> {
            if self.speaks {
                sink.text("well");
            }
            let error = self.errors.lock().unwrap().pop();
            error.map_or_else(
                || {
                    Ok(ModelAnswer {
                        text: "well".to_owned(),
                        tool_calls: vec![],
                        stop: StopReason::End,
                        usage: Usage::default(),
                        model: "m".to_owned(),
                        id: None,
                    })
                },
                Err,
            )
        }

        fn info(&self) -> &ModelInfo {
            &self.info
        }
    }

    fn error(kind: &str) -> ModelError {
        ModelError::named(kind, "x".to_owned()).unwrap()
    }

    fn limited(seconds: u64) -> ModelError {
        let retry_after = Some(Duration::from_secs(seconds));
        ModelError::RateLimited { message: "x".to_owned(), retry_after }
    }

    /// The kind of the error, if it came to one, and the seconds until then.
    async fn outcome(errors: &[ModelError], speaks: bool) -> (Option<&'static str>, u64) {
        let retry = Retry { attempts: 4, base: Duration::from_secs(2), max: Duration::from_secs(5) };
        let model = with_retry(failing(errors, speaks), retry);
        let request = ModelRequest {
            body: String::new(),
            agent_id: "a".to_owned(),
            role: None,
            turn_id: "t".to_owned(),
            call_id: "c".to_owned(),
            step: 1,
        };
        let begun = Instant::now();
        let answer = model.call(&request, &()).await;
        (answer.err().map(|error| error.kind()), begun.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_pass_is_tried_again_ever_more_slowly() {
        assert_eq!(outcome(&[], false).await, (None, 0));
        assert_eq!(outcome(&[error("server")], false).await, (None, 2));
        assert_eq!(outcome(&[error("server"), error("network")], false).await, (None, 2 + 4));
        let three = [error("overloaded"), error("timeout"), error("network")];
        assert_eq!(outcome(&three, false).await, (None, 2 + 4 + 5), "no wait is longer than the longest");
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_failure_is_the_answer() {
        let errors = [error("server"), error("server"), error("server"), error("network"), error("timeout")];
        assert_eq!(outcome(&errors, false).await, (Some("network"), 2 + 4 + 5));
    }

    #[tokio::test(start_paused = true)]
    async fn a_provider_that_says_when_is_heeded_within_reason() {
        assert_eq!(outcome(&[limited(1)], false).await, (None, 1));
        assert_eq!(outcome(&[limited(3_600)], false).await, (None, 5));
    }

    #[tokio::test(start_paused = true)]
    async fn what_will_not_pass_is_not_tried_again() {
        for kind in ["authentication", "context_length", "bad_request", "filtered", "malformed", "no_rule"] {
            assert_eq!(outcome(&[error(kind)], false).await, (Some(kind), 0));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_tried_again_once_text_was_heard() {
        assert_eq!(outcome(&[error("network")], true).await, (Some("network"), 0));
    }
}
