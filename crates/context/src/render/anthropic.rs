//! Anthropic messages: `{"model", "system"?, "messages", "tools"?, "max_tokens", …parameters by name}`.

use super::{
    RequestSpec,
    spans::{RequestWriter, Source},
    write::{push_list, push_params, push_string, push_text, push_value, tools},
};
use crate::{
    lint::{self, Arguments, Call, Linted, Origin, Part, Said},
    piece::Text,
};
use serde_json::value::RawValue;
use std::collections::BTreeSet;

/// What the renderer writes itself.
const OWN: [&str; 5] = ["max_tokens", "messages", "model", "system", "tools"];
/// Anthropic wants a bound on every answer.
const MAX_TOKENS: &str = "4096";

pub(super) fn render(out: &mut RequestWriter, linted: &Linted<'_>, spec: &RequestSpec<'_>) {
    out.bytes.extend_from_slice(b"{\"model\":");
    push_string(&mut out.bytes, spec.model);
    if !linted.system.is_empty() {
        out.bytes.extend_from_slice(b",\"system\":");
        push_list(out, &linted.system, |out, (text, origin)| push_text_block(out, *text, *origin));
    }
    out.bytes.extend_from_slice(b",\"messages\":");
    push_list(out, &linted.messages, |out, message| push_message(out, linted, message));
    push_tools(out, linted, spec);
    out.bytes.extend_from_slice(b",\"max_tokens\":");
    match spec.params.get("max_tokens") {
        Some(most) => push_value(&mut out.bytes, most),
        None => out.bytes.extend_from_slice(MAX_TOKENS.as_bytes()),
    }
    push_params(&mut out.bytes, spec, &OWN);
    out.bytes.push(b'}');
}

/// Anthropic refuses calls in the history of a request that defines no tools. An agent without tools may have inherited
/// such a history: its calls are declared by name, and the model may not make any.
fn push_tools(out: &mut RequestWriter, linted: &Linted<'_>, spec: &RequestSpec<'_>) {
    if let Some(tools) = tools(spec) {
        out.bytes.extend_from_slice(b",\"tools\":");
        out.of(Source::Tools, |bytes| bytes.extend_from_slice(tools.as_bytes()));
        return;
    }
    if linted.calls().is_empty() {
        return;
    }
    let names: BTreeSet<&str> = linted.calls().iter().map(|call| call.name.as_ref()).collect();
    out.bytes.extend_from_slice(b",\"tools\":");
    push_list(out, names, |out, name| {
        out.bytes.extend_from_slice(b"{\"name\":");
        push_string(&mut out.bytes, name);
        out.bytes.extend_from_slice(b",\"input_schema\":{\"type\":\"object\"}}");
    });
    if !spec.params.contains_key("tool_choice") {
        out.bytes.extend_from_slice(b",\"tool_choice\":{\"type\":\"none\"}");
    }
}

fn push_message(out: &mut RequestWriter, linted: &Linted<'_>, message: &lint::Out<'_>) {
    out.bytes.extend_from_slice(b"{\"role\":\"");
    out.bytes.extend_from_slice(message.role.as_str().as_bytes());
    out.bytes.extend_from_slice(b"\",\"content\":");
    push_list(out, linted.parts(message), |out, Part { said, origin }| match *said {
        Said::Text(text) => push_text_block(out, text, *origin),
        Said::Call(call) => out.of((*origin).into(), |bytes| push_call(bytes, &linted.calls()[call])),
        Said::Result { call, text } => push_result(out, &linted.calls()[call], text, *origin),
    });
    out.bytes.push(b'}');
}

fn push_text_block(out: &mut RequestWriter, text: Text<'_>, origin: Origin) {
    out.bytes.extend_from_slice(b"{\"type\":\"text\",\"text\":");
    out.of(origin.into(), |bytes| push_text(bytes, text));
    out.bytes.push(b'}');
}

fn push_result(out: &mut RequestWriter, call: &Call<'_>, text: Text<'_>, origin: Origin) {
    out.bytes.extend_from_slice(b"{\"type\":\"tool_result\",\"tool_use_id\":");
    push_string(&mut out.bytes, &call.id);
    // A result may have no content, but not a blank one.
    if !text.is_blank() {
        out.bytes.extend_from_slice(b",\"content\":");
        out.of(origin.into(), |bytes| push_text(bytes, text));
    }
    out.bytes.push(b'}');
}

fn push_call(out: &mut Vec<u8>, call: &Call<'_>) {
    out.extend_from_slice(b"{\"type\":\"tool_use\",\"id\":");
    push_string(out, &call.id);
    out.extend_from_slice(b",\"name\":");
    push_string(out, &call.name);
    out.extend_from_slice(b",\"input\":");
    push_input(out, call.arguments);
    out.push(b'}');
}

/// The input must be an object. Anything else is kept under the name `arguments`.
fn push_input(out: &mut Vec<u8>, arguments: Arguments<'_>) {
    match arguments {
        Arguments::None => out.extend_from_slice(b"{}"),
        Arguments::Json(json) if json.starts_with('{') => out.extend_from_slice(json.as_bytes()),
        Arguments::Json(json) => push_wrapped(out, json),
        Arguments::Encoded(encoded) => {
            let text: String = serde_json::from_str(encoded).unwrap_or_default();
            match serde_json::from_str::<&RawValue>(&text).map(RawValue::get) {
                Ok(object) if object.starts_with('{') => out.extend_from_slice(object.as_bytes()),
                Ok(_) | Err(_) if text.trim().is_empty() => out.extend_from_slice(b"{}"),
                Ok(_) | Err(_) => push_wrapped(out, encoded),
            }
        }
    }
}

fn push_wrapped(out: &mut Vec<u8>, json: &str) {
    out.extend_from_slice(b"{\"arguments\":");
    out.extend_from_slice(json.as_bytes());
    out.push(b'}');
}
