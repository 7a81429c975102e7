//! The experience of a session on the wire (EX-01). Which members it has is said here for readers of the OpenAPI
//! document; what is accepted is decided in `cardwire_context::blocks::experience`.

use crate::parse;
use cardwire_kernel::{Noted, Saved};
use cardwire_model::{CanonicalJson, Invalid};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use utoipa::ToSchema;

/// What is known for the experience of a session.
#[derive(Debug, Serialize, ToSchema)]
pub struct ExperienceOut {
    /// Which session.
    pub session_id: String,
    /// What was wanted.
    pub goal: String,
    /// `pending`, `success`, `failure` or `partial`.
    pub outcome: String,
    /// What came of it.
    pub summary: String,
    /// The tools that were used, each once.
    pub tools: Vec<String>,
    /// The agents that took part, each once.
    pub agents: Vec<String>,
    /// How long it took.
    #[schema(required)]
    pub duration_ms: Option<u64>,
    /// What a person said about it: a string or an object.
    #[schema(required)]
    pub feedback: Option<Value>,
    /// The knowledge it was shown, each chunk once.
    pub knowledge_refs: Vec<KnowledgeRefOut>,
    /// The members that nobody said: they are taken from the session, anew each time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub derived: Vec<String>,
}

/// A chunk of knowledge that a session was shown.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeRefOut {
    /// Which chunk.
    #[schema(min_length = 1, pattern = "\\S")]
    pub chunk_id: String,
    /// Of which document.
    #[schema(min_length = 1, pattern = "\\S")]
    pub source_id: String,
}

/// What to add: texts and numbers take the place of those before, lists grow, `null` empties.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExperienceIn {
    /// As in the path.
    pub session_id: Option<String>,
    /// What is wanted.
    pub goal: Option<String>,
    /// `pending`, `success`, `failure` or `partial`.
    #[schema(pattern = "^(?:pending|success|failure|partial)$")]
    pub outcome: Option<String>,
    /// What came of it.
    pub summary: Option<String>,
    /// Tools that were used.
    pub tools: Option<Vec<String>>,
    /// Agents that took part.
    pub agents: Option<Vec<String>>,
    /// How long it took.
    pub duration_ms: Option<u64>,
    /// What a person says about it: a string or an object.
    pub feedback: Option<Value>,
    /// Knowledge it was shown.
    pub knowledge_refs: Option<Vec<KnowledgeRefOut>>,
}

/// The record that a body says.
pub fn record(body: &[u8]) -> Result<Value, Invalid> {
    let text = std::str::from_utf8(body).map_err(|_| Invalid::field("body", "must be UTF-8"))?;
    let text = if text.trim().is_empty() { "{}" } else { text };
    // The composer names the members that it knows; the place of anything malformed is named here.
    match CanonicalJson::parse(text, "body")?.to_value() {
        record @ Value::Object(_) => Ok(record),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(Invalid::field("body", "must be an object"))
        }
    }
}

/// The session after something was added.
#[derive(Debug, Serialize, ToSchema)]
pub struct ExperienceNotedOut {
    /// Its version.
    pub version: u64,
    /// What is known now.
    #[schema(value_type = ExperienceOut)]
    pub experience: Value,
}

impl From<&Noted> for ExperienceNotedOut {
    fn from(noted: &Noted) -> Self {
        Self { version: noted.session.version.get(), experience: noted.experience.clone() }
    }
}

/// How to save.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExperienceSaveIn {
    /// What a person says about it: a string or an object.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub feedback: Option<Box<RawValue>>,
}

impl ExperienceSaveIn {
    /// The feedback.
    pub fn feedback(&self) -> Result<Option<Value>, Invalid> {
        self.feedback.as_deref().map(|raw| Ok(parse::canonical("feedback", raw)?.to_value())).transpose()
    }
}

/// Whether it was saved.
#[derive(Debug, Serialize, ToSchema)]
pub struct ExperienceSavedOut {
    /// Later sessions find it.
    pub saved: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What was saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ExperienceOut>)]
    pub experience: Option<Value>,
}

impl From<Saved> for ExperienceSavedOut {
    fn from(saved: Saved) -> Self {
        let not = |reason: String| Self { saved: false, reason: Some(reason), experience: None };
        match saved {
            Saved::Yes(experience) => Self { saved: true, reason: None, experience: Some(experience) },
            Saved::Unknown => not("there is no such session".to_owned()),
            Saved::NotEmbedded(error) => not(format!("the embedding provider failed: {error}")),
        }
    }
}
