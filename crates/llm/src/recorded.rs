//! A model that says again what another one said, for replays.

use crate::{ChatModel, ChunkSink, ModelAnswer, ModelError, ModelInfo, ModelRequest};
use async_trait::async_trait;
use cardwire_model::Provider;

/// The answers of one turn, by step.
#[derive(Debug, Clone)]
pub struct Recorded {
    info: ModelInfo,
    answers: Vec<Result<ModelAnswer, ModelError>>,
}

impl Recorded {
    /// A model that answers the n-th step with the n-th of these, or fails as it did.
    pub fn new(answers: Vec<Result<ModelAnswer, ModelError>>) -> Self {
        let model = "recorded".to_owned();
        Self {
            info: ModelInfo { provider: Provider::OpenAiChat, model, prices: None, streams: false },
            answers,
        }
    }
}

#[async_trait]
impl ChatModel for Recorded {
    async fn call(&self, request: &ModelRequest, _sink: &dyn ChunkSink) -> Result<ModelAnswer, ModelError> {
        let index = request.step.checked_sub(1).map(|index| index as usize);
        index.and_then(|index| self.answers.get(index)).cloned().unwrap_or_else(|| {
            let message = format!("no recorded answer for step {}", request.step);
            Err(ModelError::NoRule { message })
        })
    }

    fn info(&self) -> &ModelInfo {
        &self.info
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{StopReason, Usage};

    #[tokio::test]
    async fn each_step_gets_its_own_answer_however_often_it_is_asked() {
        let answer = |text: &str| ModelAnswer {
            text: text.to_owned(),
            tool_calls: vec![],
            stop: StopReason::End,
            usage: Usage::default(),
            model: "m".to_owned(),
            id: None,
        };
        let model = Recorded::new(vec![Ok(answer("one")), Ok(answer("two"))]);
        let mut request = ModelRequest {
            body: String::new(),
            agent_id: "a".to_owned(),
            role: None,
            turn_id: "t".to_owned(),
            call_id: "c".to_owned(),
            step: 0,
        };
        for (step, text) in [(2, "two"), (1, "one"), (1, "one")] {
            request.step = step;
            assert_eq!(model.call(&request, &()).await.unwrap().text, text);
        }
        for step in [0, 3] {
            request.step = step;
            let error = model.call(&request, &()).await.unwrap_err();
            assert_eq!(error.to_string(), format!("no rule: no recorded answer for step {step}"));
        }
    }
}
