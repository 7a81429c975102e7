//! Composing on the wire (CM-01..CM-10): what is given, and the messages that come of it.

use crate::{
    messages::{ChatMessageIn, messages},
    parse,
};
use cardwire_kernel::composer::{
    compose::{ComposeError, Input, messages_json},
    manifest,
    piece::Piece,
    render,
    tokens::Tokenizer,
};
use cardwire_model::{CancelFlag, CanonicalJson, Invalid, Message, Placement, Speaker};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use utoipa::ToSchema;

/// Everything the composer is given.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ComposeIn {
    /// The agent's own prompt.
    #[serde(default)]
    pub system_prompt: Option<String>,
    /// Blocks by key; every key ends with `__context`, every value is a string.
    #[serde(default)]
    #[schema(value_type = Option<std::collections::BTreeMap<String, String>>)]
    pub contexts: Option<Box<RawValue>>,
    /// The conversation so far, without system messages.
    #[serde(default)]
    #[schema(value_type = Option<Vec<ChatMessageIn>>)]
    pub checkpoint_messages: Option<Vec<ChatMessageIn>>,
    /// What is asked now.
    #[serde(default)]
    pub query: Option<String>,
    /// The same as a message, or as a string; not together with `query`.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub human_message: Option<Box<RawValue>>,
}

impl ComposeIn {
    /// The input of the composer, as long as somebody waits for it.
    pub fn into_input(self, cancel: &CancelFlag) -> Result<Input, Invalid> {
        parse::plain("system_prompt", self.system_prompt.as_deref())?;
        let query = match (self.query, self.human_message) {
            (Some(_), Some(_)) => return Err(ComposeError::DualQueryPath.into()),
            (Some(text), None) => {
                let content = CanonicalJson::string(&text);
                Some(human(content.map_err(|invalid| invalid.at("query"))?))
            }
            (None, Some(raw)) => Some(human_message(&raw)?),
            (None, None) => None,
        };
        Ok(Input {
            system_prompt: self.system_prompt,
            contexts: parse::contexts(self.contexts.as_deref())?,
            checkpoint_messages: messages(
                "checkpoint_messages",
                self.checkpoint_messages.unwrap_or_default(),
                cancel,
            )?,
            query,
        })
    }
}

fn human_message(raw: &RawValue) -> Result<Message, Invalid> {
    const FIELD: &str = "human_message";
    match raw.get().as_bytes().first() {
        Some(b'"') => Ok(human(parse::canonical(FIELD, raw)?)),
        Some(b'{') => {
            let message: ChatMessageIn =
                parse::body(raw.get().as_bytes()).map_err(|invalid| parse::within(FIELD, invalid))?;
            message.into_message(FIELD)
        }
        Some(_) | None => Err(Invalid::field(FIELD, "must be a string or a message")),
    }
}

fn human(content: CanonicalJson) -> Message {
    Message {
        id: None,
        speaker: Speaker::Human,
        content,
        tool_calls: None,
        tool_call_id: None,
        name: None,
        internal: false,
    }
}

/// What comes of it.
#[derive(Debug, Serialize, ToSchema)]
pub struct ComposeOut {
    /// In order: `{id?, role, content, tool_calls?, tool_call_id?, name?, metadata?}`; `metadata.context_key` tells which
    /// block a system message is.
    #[schema(value_type = Vec<serde_json::Value>)]
    pub messages: Box<RawValue>,
    /// What each message is and costs.
    pub manifest: ComposedManifest,
    /// What was left out: `{layer, context_key?, tokens, reason}`.
    pub omissions: Vec<Value>,
}

/// What was composed.
#[derive(Debug, Serialize, ToSchema)]
pub struct ComposedManifest {
    /// Which version of the composer.
    pub template: &'static str,
    /// Where layers go: `seed` or `cache`.
    pub placement: &'static str,
    /// What counted the tokens.
    pub tokenizer: &'static str,
    /// One for each message: `{layer, context_key?, message_id? | content_sha256?, tokens, reason}`.
    pub entries: Vec<Value>,
    /// All tokens.
    pub total_tokens: u64,
}

impl ComposeOut {
    /// What came of it. Fails only if a message is no JSON, which would be our mistake.
    pub fn new(pieces: &[Piece<'_>], placement: Placement) -> serde_json::Result<Self> {
        Ok(Self {
            messages: RawValue::from_string(messages_json(pieces))?,
            manifest: ComposedManifest {
                template: render::TEMPLATE,
                placement: placement.as_str(),
                tokenizer: Tokenizer::Estimate.name(),
                entries: manifest::outline(pieces),
                total_tokens: pieces.iter().map(|piece| u64::from(piece.tokens)).sum(),
            },
            omissions: vec![],
        })
    }
}
