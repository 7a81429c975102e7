//! Chat completions and their chunks.

use super::{id, pieces};
use crate::{ModelAnswer, StopReason};
use serde_json::{Value, json};

pub(super) fn response(answer: &ModelAnswer) -> Value {
    let call = |call: &crate::ToolCall| {
        json!({
            "id": call.id,
            "type": "function",
            "function": { "name": call.name, "arguments": call.arguments },
        })
    };
    let calls: Vec<Value> = answer.tool_calls.iter().map(call).collect();
    // By the book the text is absent, not empty, beside calls, and the list of calls is never empty.
    let is_silent = answer.text.is_empty() && !calls.is_empty();
    let content = if is_silent { Value::Null } else { json!(answer.text) };
    let mut message = json!({ "role": "assistant", "content": content, "refusal": null });
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let choice = json!({
        "index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason(&answer.stop),
    });
    json!({
        "id": id("chatcmpl-", answer),
        "object": "chat.completion",
        "created": 0,
        "model": answer.model,
        "choices": [choice],
        "usage": usage(answer),
    })
}

pub(super) fn stream(answer: &ModelAnswer) -> Vec<String> {
    let mut deltas = vec![json!({ "role": "assistant", "content": "" })];
    deltas.extend(pieces(&answer.text).into_iter().map(|piece| json!({ "content": piece })));
    for (index, call) in answer.tool_calls.iter().enumerate() {
        let function = json!({ "name": call.name, "arguments": "" });
        let begun = json!({ "index": index, "id": call.id, "type": "function", "function": function });
        deltas.push(json!({ "tool_calls": [begun] }));
        let more = |piece| json!({ "tool_calls": [{ "index": index, "function": { "arguments": piece } }] });
        deltas.extend(pieces(&call.arguments).into_iter().map(more));
    }
    let choice = |delta: Value, reason: Value| json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": reason }]);
    let mut chunks: Vec<(Value, Value)> =
        deltas.into_iter().map(|delta| (choice(delta, Value::Null), Value::Null)).collect();
    chunks.push((choice(json!({}), json!(finish_reason(&answer.stop))), Value::Null));
    chunks.push((json!([]), usage(answer)));
    let id = id("chatcmpl-", answer);
    let event = |(choices, usage): (Value, Value)| {
        let chunk = json!({
            "id": id,
            "object": "chat.completion.chunk",
            "created": 0,
            "model": answer.model,
            "choices": choices,
            "usage": usage,
        });
        format!("data: {chunk}\n\n")
    };
    let mut events: Vec<String> = chunks.into_iter().map(event).collect();
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn usage(answer: &ModelAnswer) -> Value {
    let usage = answer.usage;
    json!({
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens.saturating_add(usage.output_tokens),
        "prompt_tokens_details": { "cached_tokens": usage.cached_tokens },
    })
}

fn finish_reason(stop: &StopReason) -> &str {
    match stop {
        StopReason::End => "stop",
        StopReason::ToolCalls => "tool_calls",
        StopReason::Length => "length",
        StopReason::Filtered => "content_filter",
        StopReason::Other(reason) => reason,
    }
}
