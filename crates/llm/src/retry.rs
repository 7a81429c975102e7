//! A model that asks another one again when it may help.
//!
//! Invariants: nobody hears a text twice: once a piece of an answer was passed on, its failure is final; a provider that says
//! how long it wants to be left alone is not asked earlier.

use crate::{ChatModel, ChunkSink, ModelAnswer, ModelError, ModelInfo, ModelRequest};
use async_trait::async_trait;
use cardwire_model::Hash256;
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
    /// The longest of these waits.
    pub max: Duration,
    /// The longest wait that a provider may ask for. One that asks for more is not asked again.
    pub asked: Duration,
}

impl Retry {
    /// How long to wait after this many failures of a call, the last of which was this; `None` if nobody waits that long.
    fn delay(&self, call_id: &str, failures: u32, error: &ModelError) -> Option<Duration> {
        let doubled = || self.base.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1)));
        let wait = match error.retry_after() {
            Some(asked) if asked > self.asked => return None,
            Some(asked) => asked,
            None => doubled().min(self.max),
        };
        Some(spread(wait, call_id, failures))
    }
}

/// A wait and up to half of it more, so that those who failed together do not come back together. How much more is told by
/// the id of whoever waits, which came from the one source of randomness there is.
pub fn spread(wait: Duration, id: &str, failures: u32) -> Duration {
    let [byte, next, ..] = *Hash256::of(format!("{failures} {id}").as_bytes()).as_bytes();
    wait + wait / 2 * u32::from(u16::from_be_bytes([byte, next])) / (u32::from(u16::MAX))
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
            let Some(delay) = self.retry.delay(&request.call_id, failures, &error) else {
                return Err(error.not_waited_for(self.retry.asked));
            };
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

    /// The kind of the error, if it came to one, and the time until then.
    async fn outcome(errors: &[ModelError], speaks: bool) -> (Option<&'static str>, Duration) {
        let (ended, waited) = outcome_of("c", errors, speaks).await;
        (ended.err().map(|error| error.kind()), waited)
    }

    async fn outcome_of(
        call: &str,
        errors: &[ModelError],
        speaks: bool,
    ) -> (Result<ModelAnswer, ModelError>, Duration) {
        let seconds = Duration::from_secs;
        let retry = Retry { attempts: 4, base: seconds(2), max: seconds(5), asked: seconds(60) };
        let model = with_retry(failing(errors, speaks), retry);
        let request = ModelRequest {
            body: String::new(),
            agent_id: "a".to_owned(),
            role: None,
            turn_id: "t".to_owned(),
            call_id: call.to_owned(),
            step: 1,
        };
        let begun = Instant::now();
        let answer = model.call(&request, &()).await;
        (answer, begun.elapsed())
    }

    /// It ended so, after waits of so many seconds and up to half as much more.
    #[track_caller]
    fn ended(outcome: (Option<&'static str>, Duration), kind: Option<&'static str>, seconds: u64) {
        let least = Duration::from_secs(seconds);
        // The clock of tests counts whole milliseconds, and rounds each wait up.
        let most = least * 3 / 2 + Duration::from_millis(10);
        assert_eq!(outcome.0, kind);
        assert!((least..=most).contains(&outcome.1), "{:?} of {seconds} s", outcome.1);
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_pass_is_tried_again_ever_more_slowly() {
        ended(outcome(&[], false).await, None, 0);
        ended(outcome(&[error("server")], false).await, None, 2);
        ended(outcome(&[error("server"), error("network")], false).await, None, 2 + 4);
        let three = [error("overloaded"), error("timeout"), error("network")];
        ended(outcome(&three, false).await, None, 2 + 4 + 5);
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_failure_is_the_answer() {
        let errors = [error("server"), error("server"), error("server"), error("network"), error("timeout")];
        ended(outcome(&errors, false).await, Some("network"), 2 + 4 + 5);
    }

    /// F-27
    #[tokio::test(start_paused = true)]
    async fn a_provider_that_says_when_is_not_asked_earlier_and_one_that_says_too_late_not_at_all() {
        let busy =
            ModelError::Overloaded { message: "x".to_owned(), retry_after: Some(Duration::from_secs(7)) };
        ended(outcome(&[limited(1)], false).await, None, 1);
        ended(outcome(&[busy], false).await, None, 7);
        ended(outcome(&[limited(60)], false).await, None, 60);
        let (answer, waited) = outcome_of("c", &[limited(61)], false).await;
        let message = "rate limited: x; it asks to wait 61 s, and no call waits longer than 60 s";
        assert_eq!((answer.unwrap_err().to_string().as_str(), waited), (message, Duration::ZERO));
    }

    /// F-27: a hundred calls that fail at once come back one after another.
    #[tokio::test(start_paused = true)]
    async fn calls_that_fail_together_do_not_come_back_together() {
        let mut waits = vec![];
        for call in 0..100 {
            waits.push(outcome_of(&format!("call_{call}"), &[limited(2)], false).await.1);
        }
        assert_eq!(
            outcome_of("call_7", &[limited(2)], false).await.1,
            waits[7],
            "the same call waits as long"
        );
        waits.sort();
        let (first, last) = (waits[0], waits[99]);
        assert!(
            first >= Duration::from_secs(2) && last - first > Duration::from_millis(900),
            "{first:?}, {last:?}"
        );
        waits.dedup();
        assert!(waits.len() > 80, "{} different waits", waits.len());
    }

    #[tokio::test(start_paused = true)]
    async fn what_will_not_pass_is_not_tried_again() {
        for kind in ["authentication", "context_length", "bad_request", "filtered", "malformed", "no_rule"] {
            ended(outcome(&[error(kind)], false).await, Some(kind), 0);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_tried_again_once_text_was_heard() {
        ended(outcome(&[error("network")], true).await, Some("network"), 0);
    }
}
