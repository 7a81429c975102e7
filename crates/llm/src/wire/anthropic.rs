//! Messages and the steps of their streams.

use super::{id, pieces};
use crate::{ModelAnswer, StopReason, ToolCall};
use serde_json::{Map, Value, json};

pub(super) fn response(answer: &ModelAnswer) -> Value {
    let text = (!answer.text.is_empty()).then(|| json!({ "type": "text", "text": answer.text }));
    let calls = answer.tool_calls.iter().map(|call| tool_use(call, input(call)));
    let content: Vec<Value> = text.into_iter().chain(calls).collect();
    message(answer, json!(content), json!(stop_reason(&answer.stop)), answer.usage.output_tokens)
}

pub(super) fn stream(answer: &ModelAnswer) -> Vec<String> {
    let start = message(answer, json!([]), Value::Null, 0);
    let mut steps = vec![json!({ "type": "message_start", "message": start }), json!({ "type": "ping" })];
    let mut index = 0_u64;
    let mut block = |begun: Value, deltas: Vec<Value>| {
        steps.push(json!({ "type": "content_block_start", "index": index, "content_block": begun }));
        let delta = |delta| json!({ "type": "content_block_delta", "index": index, "delta": delta });
        steps.extend(deltas.into_iter().map(delta));
        steps.push(json!({ "type": "content_block_stop", "index": index }));
        index += 1;
    };
    if !answer.text.is_empty() {
        let delta = |piece| json!({ "type": "text_delta", "text": piece });
        block(json!({ "type": "text", "text": "" }), pieces(&answer.text).into_iter().map(delta).collect());
    }
    for call in &answer.tool_calls {
        let delta = |piece| json!({ "type": "input_json_delta", "partial_json": piece });
        block(tool_use(call, json!({})), pieces(&written(call)).into_iter().map(delta).collect());
    }
    let delta = json!({ "stop_reason": stop_reason(&answer.stop), "stop_sequence": null });
    let usage = json!({ "output_tokens": answer.usage.output_tokens });
    steps.push(json!({ "type": "message_delta", "delta": delta, "usage": usage }));
    steps.push(json!({ "type": "message_stop" }));
    let event =
        |step: Value| format!("event: {}\ndata: {step}\n\n", step["type"].as_str().unwrap_or_default());
    steps.into_iter().map(event).collect()
}

fn message(answer: &ModelAnswer, content: Value, stop_reason: Value, output_tokens: u64) -> Value {
    let usage = answer.usage;
    json!({
        "id": id("msg_", answer),
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": {
            "input_tokens": usage.input_tokens.saturating_sub(usage.cached_tokens),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": usage.cached_tokens,
            "output_tokens": output_tokens,
        },
    })
}

fn tool_use(call: &ToolCall, input: Value) -> Value {
    json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": input })
}

/// The arguments as an object, which Anthropic wants. Anything else is kept under the name `arguments`, as the composer
/// does.
fn input(call: &ToolCall) -> Value {
    match serde_json::from_str::<Value>(&call.arguments) {
        Ok(Value::Object(object)) => Value::Object(object),
        Ok(_) | Err(_) if call.arguments.trim().is_empty() => Value::Object(Map::new()),
        Ok(_) | Err(_) => json!({ "arguments": call.arguments }),
    }
}

/// The text of the same object, as it was written if it is one.
fn written(call: &ToolCall) -> String {
    match serde_json::from_str::<Map<String, Value>>(&call.arguments) {
        Ok(_) => call.arguments.clone(),
        Err(_) => input(call).to_string(),
    }
}

fn stop_reason(stop: &StopReason) -> &str {
    match stop {
        StopReason::End => "end_turn",
        StopReason::ToolCalls => "tool_use",
        StopReason::Length => "max_tokens",
        StopReason::Filtered => "refusal",
        StopReason::Other(reason) => reason,
    }
}
