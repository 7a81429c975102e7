//! Cards that a worker writes.

use crate::desk::Desk;
use cardwire_llm::ToolCall;
use serde_json::{Value, json};

/// What a model said, with the calls it makes.
pub(crate) fn thought(desk: &Desk, text: &str, calls: &[ToolCall]) -> Value {
    let mut card = json!({
        "content": text,
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
    // Arguments that are no JSON are kept as the text they are.
    let arguments =
        serde_json::from_str(&call.arguments).unwrap_or_else(|_| Value::String(call.arguments.clone()));
    json!({ "id": call.id, "tool_name": call.name, "arguments": arguments })
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
    let (status, result, error) = match answer {
        Answer::Success(result) => ("success", result.clone(), Value::Null),
        Answer::Failed { code, message } => {
            ("failed", Value::Null, json!({ "code": code, "message": message }))
        }
    };
    json!({
        "content": { "status": status, "result": result, "error": error },
        "metadata": {
            "type": "tool.result", "role": "tool", "author_id": tool, "function_name": tool,
            "agent_turn_id": desk.lease.agent_turn_id,
        },
        "tool_call_id": id,
    })
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
