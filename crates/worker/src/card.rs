//! Cards that a worker writes.

use crate::desk::Desk;
use cardwire_llm::ToolCall;
use cardwire_model::{CanonicalJson, Invalid, limits};
use serde_json::{Value, json};
use std::borrow::Cow;

/// What a model said, with the calls it makes.
pub(crate) fn thought(desk: &Desk, text: &str, calls: &[ToolCall]) -> Value {
    let mut card = json!({
        "content": without_nul(text),
        "metadata": {
            "type": "agent.thought", "role": "assistant", "author_id": desk.lease.agent_id,
            "agent_turn_id": desk.lease.agent_turn_id,
        },
    });
    if !calls.is_empty() {
        card["tool_calls"] = calls.iter().map(made_call).collect();
    }
    card
}

fn made_call(call: &ToolCall) -> Value {
    // Arguments that are no JSON, or none that a card holds, are kept as the text they are.
    let read =
        serde_json::from_str(&call.arguments).ok().filter(|value| CanonicalJson::from_value(value).is_ok());
    let arguments = read.unwrap_or_else(|| Value::String(without_nul(&call.arguments).into_owned()));
    json!({ "id": call.id, "tool_name": without_nul(&call.name), "arguments": arguments })
}

/// No card holds a NUL. Whoever talks to a model or a tool does not choose what it says.
pub(crate) fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{FFFD}").into() } else { text.into() }
}

/// A call that the worker makes by itself.
pub(crate) fn call(desk: &Desk, id: &str, tool: &str, arguments: &Value) -> Value {
    json!({
        "content": { "tool_name": tool, "arguments": arguments },
        "metadata": {
            "type": "tool.call", "role": "assistant", "author_id": desk.lease.agent_id,
            "agent_turn_id": desk.lease.agent_turn_id,
        },
        "tool_call_id": id,
    })
}

/// The answer to a call.
pub(crate) fn result(desk: &Desk, id: &str, tool: &str, answer: &Answer) -> Value {
    // A model may call what no tool is named.
    let author = if Invalid::check_printable("author_id", tool).is_ok() { tool } else { "unknown" };
    json!({
        "content": content(answer),
        "metadata": {
            "type": "tool.result", "role": "tool", "author_id": author, "function_name": author,
            "agent_turn_id": desk.lease.agent_turn_id,
        },
        "tool_call_id": id,
    })
}

/// What a result says.
fn content(answer: &Answer) -> Value {
    match &*answer.kept() {
        Answer::Success(result) => said("success", result, &Value::Null),
        Answer::Failed { code, message } => {
            said("failed", &Value::Null, &json!({ "code": code, "message": message }))
        }
    }
}

fn said(status: &str, result: &Value, error: &Value) -> Value {
    json!({ "status": status, "result": result, "error": error })
}

/// How much is kept of why a tool failed: within a card, however it is escaped.
const MESSAGE_CHARS: usize = limits::CARD_BYTES / 8;

/// A word of the system to the model, as a message of the user.
pub(crate) fn notice(desk: &Desk, text: &str) -> Value {
    json!({
        "content": text,
        "metadata": {
            "type": NOTICE, "role": "user", "author_id": "sys.worker",
            "agent_turn_id": desk.lease.agent_turn_id,
        },
    })
}

/// The kind of a notice.
pub(crate) const NOTICE: &str = "worker.notice";

/// What a tool said.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// It did what it was called for.
    Success(Value),
    /// It did not.
    Failed {
        /// For programs.
        code: String,
        /// For the model.
        message: String,
    },
}

impl Answer {
    /// The answer that a `tool.result` card holds.
    pub(crate) fn of(content: &Value) -> Self {
        if content["status"] == "success" {
            return Self::Success(content["result"].clone());
        }
        let text = |name: &str| content["error"][name].as_str().unwrap_or_default().to_owned();
        Self::Failed { code: text("code"), message: text("message") }
    }

    /// What a card can hold of it: an answer that none holds is a failure of the tool, not of the turn.
    pub(crate) fn kept(&self) -> Cow<'_, Self> {
        match self {
            Self::Success(result) => {
                let why = match CanonicalJson::from_value(&said("success", result, &Value::Null)) {
                    Ok(kept) if kept.as_bytes().len() <= limits::CARD_BYTES => return Cow::Borrowed(self),
                    Ok(_) => format!("the answer is longer than {} bytes", limits::CARD_BYTES),
                    Err(invalid) => format!("the answer cannot be kept: {invalid}"),
                };
                Cow::Owned(Self::failed("tool_failed", why))
            }
            Self::Failed { code, message } => {
                let message: String = without_nul(message).chars().take(MESSAGE_CHARS).collect();
                Cow::Owned(Self::failed(&without_nul(code), message))
            }
        }
    }

    pub(crate) fn failed(code: &str, message: impl Into<String>) -> Self {
        Self::Failed { code: code.to_owned(), message: message.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(answer: &Answer) -> Value {
        let content = content(answer);
        assert_eq!((&content["status"], &content["result"]), (&json!("failed"), &Value::Null));
        assert!(CanonicalJson::from_value(&content).is_ok());
        content["error"]["message"].clone()
    }

    #[test]
    fn an_answer_that_no_card_holds_is_a_failure_of_the_tool() {
        let deep = |levels| (0..levels).fold(json!(1), |value, _| json!([value]));
        for (answer, why) in [
            (json!("a\0b"), "cannot be kept"),
            (json!({ "a\0": 1 }), "cannot be kept"),
            (deep(limits::JSON_DEPTH), "cannot be kept"),
            (json!("x".repeat(limits::CARD_BYTES)), "longer than"),
        ] {
            let message = error(&Answer::Success(answer));
            assert!(message.as_str().unwrap().contains(why), "{message}");
        }
        assert_eq!(error(&Answer::failed("c", "a\0b")), "a\u{FFFD}b");
        let long = Answer::failed("c", "\u{1}".repeat(limits::CARD_BYTES));
        assert!(content(&long).to_string().len() <= limits::CARD_BYTES);
        let held = deep(limits::JSON_DEPTH - 1);
        assert_eq!(content(&Answer::Success(held.clone()))["result"], held);
    }

    #[test]
    fn what_a_model_says_is_kept_as_far_as_a_card_holds_it() {
        let call = |arguments: &str| {
            let (id, name) = ("c".to_owned(), "t\0".to_owned());
            made_call(&ToolCall { id, name, arguments: arguments.to_owned() })
        };
        assert_eq!(call("{\"a\":1}")["arguments"], json!({ "a": 1 }));
        assert_eq!(call("{\"a\":\"\\u0000\"}")["arguments"], "{\"a\":\"\\u0000\"}", "as text");
        assert_eq!(call("\0")["arguments"], "\u{FFFD}");
        assert_eq!(call("{}")["tool_name"], "t\u{FFFD}");
        assert_eq!(without_nul("as it is"), "as it is");
    }
}
