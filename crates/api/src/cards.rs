//! Cards on the wire (CB-02..CB-06, API-04, API-05, API-17).

use crate::parse;
use cardwire_model::{Card, CardDraft, CardId, Invalid, ProjectId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// A card to write.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CardIn {
    /// Chosen by the caller, or made by the server.
    #[serde(default)]
    #[schema(pattern = "^[0-9a-f]{32}$")]
    pub card_id: Option<String>,
    /// Any JSON value but null.
    #[schema(value_type = serde_json::Value)]
    pub content: Option<Box<RawValue>>,
    /// `type` is required; `role` and `author_id` are known; everything else is kept as it is.
    #[schema(value_type = CardMetadata)]
    pub metadata: Option<Box<RawValue>>,
    /// Tool calls of an assistant message: a list.
    #[serde(default)]
    #[schema(value_type = Option<Vec<serde_json::Value>>)]
    pub tool_calls: Option<Box<RawValue>>,
    /// Which tool call a result answers.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 128)]
    pub tool_call_id: Option<String>,
    /// 1 second to 10 years.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 315360000)]
    pub ttl_seconds: Option<u32>,
}

/// What the kernel reads of a card's metadata.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct CardMetadata {
    /// What the fact is, e.g. `task.instruction`.
    #[schema(min_length = 1, max_length = 128)]
    pub r#type: String,
    /// `system`, `user`, `assistant` or `tool`; by the type when absent.
    #[serde(default)]
    #[schema(pattern = "^(system|user|assistant|tool)$")]
    pub role: Option<String>,
    /// Who said it; for audit only.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 128)]
    pub author_id: Option<String>,
}

impl CardIn {
    /// Whether nothing is given.
    pub fn is_empty(&self) -> bool {
        let Self { card_id, content, metadata, tool_calls, tool_call_id, ttl_seconds } = self;
        card_id.is_none()
            && content.is_none()
            && metadata.is_none()
            && tool_calls.is_none()
            && tool_call_id.is_none()
            && ttl_seconds.is_none()
    }

    /// The chosen id and the draft.
    pub fn into_draft(self) -> Result<(Option<CardId>, CardDraft), Invalid> {
        let required = |field: &str| Invalid::field(field, "is required");
        let id = self.card_id.as_deref().map(|text| parse::one("card_id", text)).transpose()?;
        let draft = CardDraft {
            content: parse::canonical("content", &self.content.ok_or_else(|| required("content"))?)?,
            metadata: parse::canonical("metadata", &self.metadata.ok_or_else(|| required("metadata"))?)?,
            tool_calls: self.tool_calls.map(|calls| parse::canonical("tool_calls", &calls)).transpose()?,
            tool_call_id: self.tool_call_id,
            ttl_seconds: self.ttl_seconds,
        };
        Ok((id, draft))
    }
}

/// A card.
#[derive(Debug, Serialize, ToSchema)]
pub struct CardOut {
    /// Its id.
    pub card_id: String,
    /// Its project.
    pub project_id: String,
    /// What it is (`metadata.type`).
    pub r#type: String,
    /// How a model sees it.
    pub role: &'static str,
    /// Who said it.
    #[schema(required)]
    pub author_id: Option<String>,
    /// The fact, byte-stable.
    #[schema(value_type = serde_json::Value)]
    pub content: cardwire_model::CanonicalJson,
    /// SHA-256 of the canonical content.
    pub content_hash: String,
    /// Estimated tokens of the content.
    pub tokens: u32,
    /// Everything else, as it was given.
    #[schema(value_type = serde_json::Value)]
    pub metadata: cardwire_model::CanonicalJson,
    /// Tool calls of an assistant message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub tool_calls: Option<cardwire_model::CanonicalJson>,
    /// Which tool call a result answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// Who brought it in: `operator`, `agent`, `tool` or `external`.
    pub origin: &'static str,
    /// Something in it looks like a credential.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub suspected_credential: bool,
    /// Time to live.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u32>,
    /// When it expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// When it was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<String>,
    /// When it was written.
    pub created_at: String,
    /// The same fact had been written before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub idempotent: bool,
}

impl CardOut {
    /// The card as its project shows it.
    pub fn new(project: &ProjectId, card: &Card) -> Self {
        Self {
            card_id: card.id.to_string(),
            project_id: project.to_string(),
            r#type: card.kind.as_str().to_owned(),
            role: card.role.as_str(),
            author_id: card.author_id.clone(),
            content: card.content.clone(),
            content_hash: card.content_hash.to_string(),
            tokens: card.tokens,
            metadata: card.metadata.clone(),
            tool_calls: card.tool_calls.clone(),
            tool_call_id: card.tool_call_id.clone(),
            origin: card.origin.as_str(),
            suspected_credential: card.credential,
            ttl_seconds: card.ttl_seconds,
            expires_at: card.expires_at.map(|at| at.to_string()),
            deleted_at: card.deleted_at.map(|at| at.to_string()),
            created_at: card.created_at.to_string(),
            idempotent: false,
        }
    }
}

/// Which cards to read.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CardBatchIn {
    /// At most 100 distinct ids.
    pub card_ids: Vec<String>,
}

/// The cards that are there, in the order asked for, each once.
#[derive(Debug, Serialize, ToSchema)]
pub struct CardBatchOut {
    /// What was found.
    pub cards: Vec<CardOut>,
    /// What was not.
    pub missing_ids: Vec<String>,
    /// What cannot be read, or is not what was written; absent when there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damaged_ids: Vec<String>,
}
