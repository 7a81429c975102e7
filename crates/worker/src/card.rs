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

/// What a result says. An answer that no card holds is a failure of the tool, not of the turn.
fn content(answer: &Answer) -> Value {
    let said = |status, result, error| json!({ "status": status, "result": result, "error": error });
    let failed = |code: &str, message: &str| {
        said("failed", Value::Null, json!({ "code": without_nul(code), "message": without_nul(message) }))
    };
    match answer {
        Answer::Failed { code, message } => failed(code, message),
        Answer::Success(result) => {
            let content = said("success", result.clone(), Value::Null);
            match CanonicalJson::from_value(&content) {
                Err(invalid) => failed("tool_failed", &format!("the answer cannot be kept: {invalid}")),
                Ok(kept) if kept.as_bytes().len() > limits::CARD_BYTES => {
                    failed("tool_failed", &format!("the answer is longer than {} bytes", limits::CARD_BYTES))
                }
                Ok(_) => content,
            }
        }
    }
}

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
