//! Sessions for tests, and what a deployment may plug into the composer.

use super::{Api, Reply};
use async_trait::async_trait;
use cardwire_kernel::{Embedder, Summariser, SummaryAnswer, SummaryRequest};
use cardwire_model::Embedding;
use serde_json::{Value, json};
use std::sync::Mutex;

impl Api {
    /// Changes a session of `p1`.
    pub(crate) async fn patch(&self, session: &str, body: Value) -> Reply {
        self.post(&format!("/projects/p1/sessions/{session}/patches"), body).await
    }

    /// Adds messages: `(id, role, content)`.
    pub(crate) async fn say(&self, session: &str, said: &[(&str, &str, &str)]) -> Value {
        let message =
            |(id, role, text): &(&str, &str, &str)| json!({ "id": id, "role": role, "content": text });
        let said: Vec<_> = said.iter().map(message).collect();
        self.patch(session, json!({ "messages": { "append": said } })).await.expect(200)
    }

    /// A session of `p1`.
    pub(crate) async fn session(&self, session: &str) -> Value {
        self.get(&format!("/projects/p1/sessions/{session}")).await.expect(200)
    }

    /// Collects for a session of `p1`.
    pub(crate) async fn collect(&self, session: &str, body: Value) -> Reply {
        self.post(&format!("/projects/p1/sessions/{session}/context:collect"), body).await
    }

    /// The blocks of a session of `p1`.
    pub(crate) async fn contexts(&self, session: &str) -> Value {
        self.collect(session, json!({})).await.expect(200)["contexts"].clone()
    }

    /// Settings of `p1` for the composer.
    pub(crate) async fn settle(&self, context: Value) {
        let body = json!({ "settings": { "context": context } }).to_string();
        self.with(&self.admin, "PATCH", "/projects/p1", &body).await.expect(200);
    }

    /// Takes a document into the default namespace of `p1`.
    pub(crate) async fn document(&self, source_id: &str, text: &str) -> Value {
        self.post("/projects/p1/knowledge", json!({ "source_id": source_id, "text": text })).await.expect(201)
    }
}

/// A refusal with this code that names this field.
#[track_caller]
pub(crate) fn names(reply: &Reply, code: &str, field: &str) {
    reply.expect_error(400, code);
    let body = reply.json();
    assert_eq!(body["error"]["detail"]["field"], field, "{body}");
}

/// The contents of a list of messages.
pub(crate) fn texts(messages: &Value) -> Vec<&str> {
    messages.as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap()).collect()
}

/// Says what it is told to say, in this order, and keeps what it was asked.
pub(crate) struct Scribe {
    says: Mutex<Vec<Result<SummaryAnswer, String>>>,
    pub(crate) asked: Mutex<Vec<String>>,
}

impl Scribe {
    pub(crate) fn new(says: &[Result<&str, &str>]) -> Self {
        let answer = |says: &Result<&str, &str>| match says {
            Ok(text) => Ok(SummaryAnswer { text: (*text).to_owned(), tool_calls: false }),
            Err(error) => Err((*error).to_owned()),
        };
        Self { says: Mutex::new(says.iter().rev().map(answer).collect()), asked: Mutex::default() }
    }
}

#[async_trait]
impl Summariser for Scribe {
    async fn summarise(&self, request: &SummaryRequest) -> Result<SummaryAnswer, String> {
        self.asked.lock().unwrap().push(request.prompt.clone());
        self.says.lock().unwrap().pop().unwrap()
    }
}

/// An embedding provider that is down.
pub(crate) struct BrokenEmbedder;

#[async_trait]
impl Embedder for BrokenEmbedder {
    async fn embed(&self, _: &[String]) -> Result<Vec<Embedding>, String> {
        Err("out of order".to_owned())
    }
}

/// Knows two meanings: boats and trees.
pub(crate) struct Meanings;

#[async_trait]
impl Embedder for Meanings {
    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, String> {
        let about = |text: &String, words: &[&str]| {
            if words.iter().any(|word| text.to_lowercase().contains(word)) { 1.0 } else { 0.1 }
        };
        let place = |text: &String| {
            let floats = [about(text, &["boat", "ship", "vessel"]), about(text, &["tree", "oak", "forest"])];
            Embedding::from_floats(&floats)
        };
        Ok(texts.iter().map(place).collect())
    }
}
