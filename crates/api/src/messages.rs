//! Messages on the wire, the same for composing and for the memory of sessions (API-17).

use crate::parse;
use cardwire_kernel::protocol::turn::append::check_call_id;
use cardwire_model::{CancelFlag, CanonicalJson, Card, Invalid, Message, Speaker};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use utoipa::ToSchema;

/// A message.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChatMessageIn {
    /// What tells a repeat from another message.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 128)]
    pub id: Option<String>,
    /// `human`, `ai`, `tool` or `system`; `user` and `assistant` are the same as the first two.
    #[schema(pattern = "^(human|ai|tool|system|user|assistant)$")]
    pub role: String,
    /// What is said: any JSON value, usually a string. May be absent where there are tool calls.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub content: Option<Box<RawValue>>,
    /// Tool calls of the model: a list.
    #[serde(default)]
    #[schema(value_type = Option<Vec<serde_json::Value>>)]
    pub tool_calls: Option<Box<RawValue>>,
    /// Which call a tool answers.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 128)]
    pub tool_call_id: Option<String>,
    /// Who, by name.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 128)]
    pub name: Option<String>,
    /// Not for memory.
    #[serde(default)]
    pub internal: bool,
    /// What a provider's model said instead of an answer. It is the content of a message that has no other.
    #[serde(default)]
    pub refusal: Option<String>,
    /// Messages of providers have these. They are taken and not kept.
    #[serde(default)]
    #[schema(value_type = Option<Vec<serde_json::Value>>)]
    pub annotations: Option<Box<RawValue>>,
    /// See `annotations`: what a model thought.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub reasoning: Option<Box<RawValue>>,
    /// See `annotations`: what a model thought.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub reasoning_content: Option<Box<RawValue>>,
    /// Messages of providers have these, null. A message cannot be kept without one that is not.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub audio: Option<Box<RawValue>>,
    /// See `audio`; the calls of a model are `tool_calls`.
    #[serde(default)]
    #[schema(value_type = Option<serde_json::Value>)]
    pub function_call: Option<Box<RawValue>>,
    /// Whatever traces keep with it: an object. It is not sent and not stored.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Box<RawValue>>,
}

impl ChatMessageIn {
    /// The message that stands in `place`.
    pub fn into_message(self, place: &str) -> Result<Message, Invalid> {
        let field = |name: &str| format!("{place}/{name}");
        let words = ["human", "ai", "tool", "system", "user", "assistant"];
        let speaker = parse::word(&field("role"), &self.role, Speaker::parse, words)?;
        for (name, text) in [("id", &self.id), ("tool_call_id", &self.tool_call_id), ("name", &self.name)] {
            text.as_deref().map(|text| check_call_id(&field(name), text)).transpose()?;
        }
        let tool_calls =
            self.tool_calls.map(|calls| parse::canonical(&field("tool_calls"), &calls)).transpose()?;
        if tool_calls.as_ref().is_some_and(|calls| !calls.as_str().starts_with('[')) {
            return Err(Invalid::field(field("tool_calls"), "must be a list"));
        }
        for (name, given, instead) in [
            ("audio", &self.audio, "its words are `content`"),
            ("function_call", &self.function_call, "calls are `tool_calls`"),
        ] {
            if given.is_some() {
                return Err(Invalid::field(field(name), format!("must be null or absent; {instead}")));
            }
        }
        let refusal = self.refusal.as_deref().filter(|refusal| !refusal.is_empty());
        let content = match (&self.content, refusal, &tool_calls) {
            (Some(raw), ..) => parse::canonical(&field("content"), raw)?,
            (None, Some(refusal), _) => {
                parse::plain(&field("refusal"), Some(refusal))?;
                CanonicalJson::string(refusal)?
            }
            (None, None, Some(_)) => CanonicalJson::string("")?,
            (None, None, None) => return Err(Invalid::field(field("content"), "is required")),
        };
        if let Some(raw) = &self.metadata {
            parse::object(&field("metadata"), raw)?;
        }
        Ok(Message {
            id: self.id,
            speaker,
            content,
            tool_calls,
            tool_call_id: self.tool_call_id,
            name: self.name,
            internal: self.internal,
        })
    }
}

/// The messages of a list, as long as somebody waits for them.
pub fn messages(
    place: &str,
    messages: Vec<ChatMessageIn>,
    cancel: &CancelFlag,
) -> Result<Vec<Message>, Invalid> {
    let read = |(index, message): (usize, ChatMessageIn)| {
        cancel.check()?;
        message.into_message(&format!("{place}/{index}"))
    };
    messages.into_iter().enumerate().map(read).collect()
}

/// A message of a session's memory.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChatMessageOut {
    /// What tells a repeat from another message.
    #[schema(required)]
    pub id: Option<String>,
    /// The card that keeps it.
    pub card_id: String,
    /// `human`, `ai` or `tool`.
    pub role: &'static str,
    /// What is said.
    #[schema(value_type = serde_json::Value)]
    pub content: CanonicalJson,
    /// Tool calls of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub tool_calls: Option<CanonicalJson>,
    /// Which call a tool answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// Who, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Who brought it: `operator`, `agent`, `tool` or `external` (SEC-10).
    pub origin: &'static str,
    /// Something in it looks like a credential (SEC-09); absent when nothing does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub suspected_credential: bool,
}

impl From<&Card> for ChatMessageOut {
    fn from(card: &Card) -> Self {
        let metadata = card.metadata.to_value();
        let text = |name: &str| metadata.get(name).and_then(Value::as_str).map(str::to_owned);
        Self {
            id: text("message_id"),
            card_id: card.id.to_string(),
            role: Speaker::from(card.role).as_str(),
            content: card.content.clone(),
            tool_calls: card.tool_calls.clone(),
            tool_call_id: card.tool_call_id.clone(),
            name: text("name"),
            origin: card.origin.as_str(),
            suspected_credential: card.credential,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(message: &Value) -> Result<Message, Invalid> {
        parse::body::<ChatMessageIn>(message.to_string().as_bytes())?.into_message("messages/0")
    }

    /// F-15: as OpenAI's library dumps them, and what speaks like OpenAI.
    #[test]
    fn messages_are_taken_as_providers_send_them() {
        let said = json!({
            "role": "assistant", "content": "It is red.", "refusal": null, "annotations": [], "audio": null,
            "function_call": null, "tool_calls": null, "reasoning_content": null,
        });
        assert_eq!(read(&said).unwrap().content.as_str(), r#""It is red.""#);
        let call =
            json!({ "id": "c1", "type": "function", "function": { "name": "look", "arguments": "{}" } });
        let called = json!({ "role": "assistant", "content": null, "refusal": null, "tool_calls": [call] });
        assert_eq!(read(&called).unwrap().content.as_str(), r#""""#);
        let refused = json!({ "role": "assistant", "content": null, "refusal": "I will not." });
        assert_eq!(read(&refused).unwrap().content.as_str(), r#""I will not.""#);
        let thought =
            json!({ "role": "assistant", "content": "Yes.", "reasoning": "Hm.", "annotations": [{}] });
        assert_eq!(read(&thought).unwrap().content.as_str(), r#""Yes.""#);
    }

    /// F-15, SEC-08
    #[test]
    fn what_a_message_would_lose_is_refused_by_its_name() {
        for (message, field) in [
            (json!({ "role": "assistant", "content": null }), "messages/0/content"),
            (json!({ "role": "assistant", "content": null, "refusal": "" }), "messages/0/content"),
            (json!({ "role": "assistant", "content": null, "refusal": "a\u{0}" }), "messages/0/refusal"),
            (json!({ "role": "assistant", "content": "x", "audio": { "id": "a" } }), "messages/0/audio"),
            (json!({ "role": "assistant", "content": "x", "function_call": {} }), "messages/0/function_call"),
            (json!({ "role": "assistant", "content": "x", "refused": null }), "refused"),
        ] {
            assert_eq!(read(&message).unwrap_err().field_name(), field, "{message}");
        }
    }
}
