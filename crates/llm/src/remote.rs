//! A model at a provider, asked over HTTP. What differs between providers is in `openai` and `anthropic`.

use crate::{
    ChatModel, ChunkSink, ConfigError, ModelAnswer, ModelError, ModelInfo, ModelRequest, anthropic,
    http::{self, Endpoint},
    ids, openai,
    sse::{Event, Parser},
};
use async_trait::async_trait;
use cardwire_egress::Destination;
use cardwire_model::Provider;
use futures_util::StreamExt;
use reqwest::Response;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use std::time::Duration;

/// A model of a provider that speaks as OpenAI or as Anthropic does.
#[derive(Debug)]
pub struct Remote {
    info: ModelInfo,
    endpoint: Endpoint,
    key: Option<SecretString>,
    timeout: Duration,
}

impl Remote {
    /// A model at this address. The timeout is that of a whole answer.
    pub fn new(
        info: ModelInfo,
        destination: Destination,
        key: Option<SecretString>,
        timeout: Duration,
    ) -> Result<Self, ConfigError> {
        let endpoint = Endpoint::new(info.provider, destination, key.as_ref())?;
        Ok(Self { info, endpoint, key, timeout })
    }

    async fn ask(&self, request: &ModelRequest, sink: &dyn ChunkSink) -> Result<ModelAnswer, ModelError> {
        let response = self.endpoint.post(request.body.clone()).await?;
        let mut answer = if http::is_stream(&response) {
            self.follow(response, sink).await?
        } else {
            let text = self.endpoint.read(response).await?;
            // Not everybody who is asked for a stream has one.
            let sink = if asks_for_stream(&request.body) { sink } else { &() };
            match self.info.provider {
                Provider::OpenAiChat => openai::read(&text, sink)?,
                Provider::AnthropicMessages => anthropic::read(&text, sink)?,
            }
        };
        // Some leave the ids of calls out, but results must refer to something.
        for (index, call) in answer.tool_calls.iter_mut().enumerate().filter(|(_, call)| call.id.is_empty()) {
            call.id = ids::call_id(request, index);
        }
        if answer.model.is_empty() {
            answer.model.clone_from(&self.info.model);
        }
        Ok(answer)
    }

    async fn follow(&self, response: Response, sink: &dyn ChunkSink) -> Result<ModelAnswer, ModelError> {
        let (mut parser, mut assembler) = (Parser::default(), Assembler::new(self.info.provider));
        let mut bytes = response.bytes_stream();
        while let Some(chunk) = bytes.next().await {
            let chunk = chunk.map_err(|error| self.endpoint.broken(&error))?;
            for event in parser.push(&chunk)? {
                if assembler.take(&event, sink)? {
                    return assembler.finish();
                }
            }
        }
        Err(self.endpoint.cut_off())
    }

    /// An error without our key, in case a provider made it a part of what it says (SEC-09).
    fn without_key(&self, error: ModelError) -> ModelError {
        let holds_key = |key: &&SecretString| {
            !key.expose_secret().is_empty() && error.to_string().contains(key.expose_secret())
        };
        match self.key.as_ref().filter(holds_key) {
            Some(_) => {
                let message = "what the provider says holds the key".to_owned();
                ModelError::named(error.kind(), message).unwrap_or(error)
            }
            None => error,
        }
    }
}

#[async_trait]
impl ChatModel for Remote {
    async fn call(&self, request: &ModelRequest, sink: &dyn ChunkSink) -> Result<ModelAnswer, ModelError> {
        let answer = tokio::time::timeout(self.timeout, self.ask(request, sink)).await.unwrap_or_else(|_| {
            let message = format!("no whole answer in {} s", self.timeout.as_secs_f64());
            Err(ModelError::Timeout { message })
        });
        answer.map_err(|error| self.without_key(error))
    }

    fn info(&self) -> &ModelInfo {
        &self.info
    }
}

/// Where an answer cannot be read; what it says there is not repeated.
pub(crate) fn unreadable(error: &serde_json::Error) -> ModelError {
    let (line, column) = (error.line(), error.column());
    ModelError::malformed(format!("the answer makes no sense at line {line}, column {column}"))
}

/// Puts together the pieces of an answer, as its provider cuts it.
enum Assembler {
    OpenAi(openai::Assembler),
    Anthropic(anthropic::Assembler),
}

impl Assembler {
    fn new(provider: Provider) -> Self {
        match provider {
            Provider::OpenAiChat => Self::OpenAi(openai::Assembler::default()),
            Provider::AnthropicMessages => Self::Anthropic(anthropic::Assembler::default()),
        }
    }

    fn take(&mut self, event: &Event, sink: &dyn ChunkSink) -> Result<bool, ModelError> {
        match self {
            Self::OpenAi(assembler) => assembler.take(event, sink),
            Self::Anthropic(assembler) => assembler.take(event, sink),
        }
    }

    fn finish(self) -> Result<ModelAnswer, ModelError> {
        match self {
            Self::OpenAi(assembler) => assembler.finish(),
            Self::Anthropic(assembler) => assembler.finish(),
        }
    }
}

fn asks_for_stream(body: &str) -> bool {
    #[derive(Deserialize)]
    struct Asked {
        #[serde(default)]
        stream: bool,
    }
    serde_json::from_str::<Asked>(body).is_ok_and(|asked| asked.stream)
}
