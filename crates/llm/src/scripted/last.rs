//! The last message of a request, in either provider's format.

use crate::content::{is_result, text_of};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

/// What rules look at.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LastMessage {
    /// `user`, `assistant`, `tool` or `system`; none if there is no message, or one of a role unknown to us.
    pub(super) role: Option<&'static str>,
    /// All its text.
    pub(super) text: String,
}

/// A request as far as it is looked at.
#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
}

impl LastMessage {
    pub(super) fn of(body: &str) -> Self {
        // Everything else in a request, its tools above all, is passed over.
        let messages = serde_json::from_str::<Body<'_>>(body).map(|body| body.messages).unwrap_or_default();
        let Some(message) = messages.last().and_then(|last| serde_json::from_str::<Value>(last.get()).ok())
        else {
            return Self { role: None, text: String::new() };
        };
        let content = &message["content"];
        let role = message["role"].as_str().and_then(common_role);
        // Anthropic has results said by the user. What follows them in the same message is the user's own again.
        let ends_with_result = content.as_array().and_then(|parts| parts.last()).is_some_and(is_result);
        Self { role: if ends_with_result { Some("tool") } else { role }, text: text_of(content) }
    }
}

/// One word for each role, whatever it is called.
pub(super) fn common_role(role: &str) -> Option<&'static str> {
    match role {
        "user" | "human" => Some("user"),
        "assistant" | "ai" => Some("assistant"),
        "tool" | "function" => Some("tool"),
        "system" | "developer" => Some("system"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_message_is_read_from_either_format() {
        let result = json!({ "type": "tool_result", "tool_use_id": "1", "content": "42" });
        let text = json!({ "type": "text", "text": "go on" });
        for (message, role, said) in [
            (json!({ "role": "user", "content": "hi" }), Some("user"), "hi"),
            (json!({ "role": "tool", "tool_call_id": "1", "content": "42" }), Some("tool"), "42"),
            (json!({ "role": "developer", "content": [text] }), Some("system"), "go on"),
            (json!({ "role": "assistant", "content": null }), Some("assistant"), ""),
            (json!({ "role": "user", "content": [result] }), Some("tool"), "42"),
            (json!({ "role": "user", "content": [result, text] }), Some("user"), "42\ngo on"),
            (json!({ "role": "moderator", "content": "x" }), None, "x"),
        ] {
            let body = json!({ "messages": [{ "role": "user", "content": "first" }, message] }).to_string();
            let expected = LastMessage { role, text: said.to_owned() };
            assert_eq!(LastMessage::of(&body), expected, "{message}");
        }
        for body in ["", "{}", r#"{"messages":[]}"#, r#"{"messages":7}"#] {
            assert_eq!(LastMessage::of(body), LastMessage { role: None, text: String::new() }, "{body}");
        }
    }
}
