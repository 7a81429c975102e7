//! OpenAI chat completions: `{"model", "messages", "tools"?, …parameters by name}`.

use super::{
    RequestSpec,
    write::{push_list, push_params, push_string, push_text, tools},
};
use crate::lint::{Arguments, Call, Linted, Out, Part};
use cardwire_model::Role;

/// What the renderer writes itself.
const OWN: [&str; 3] = ["messages", "model", "tools"];

pub(super) fn render(linted: &Linted<'_>, spec: &RequestSpec<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(super::size(linted, spec));
    out.extend_from_slice(b"{\"model\":");
    push_string(&mut out, spec.model);
    out.extend_from_slice(b",\"messages\":");
    push_list(&mut out, &linted.messages, |out, message| push_message(out, linted, message));
    if let Some(tools) = tools(spec) {
        out.extend_from_slice(b",\"tools\":");
        out.extend_from_slice(tools.as_bytes());
    }
    push_params(&mut out, spec, &OWN);
    out.push(b'}');
    out
}

fn push_message(out: &mut Vec<u8>, linted: &Linted<'_>, message: &Out<'_>) {
    out.extend_from_slice(b"{\"role\":\"");
    out.extend_from_slice(message.role.as_str().as_bytes());
    out.push(b'"');
    if let Some(name) = message.name {
        out.extend_from_slice(b",\"name\":");
        push_string(out, name);
    }
    let parts = linted.parts(message);
    if let [Part::Result { call, text }] = *parts {
        out.extend_from_slice(b",\"tool_call_id\":");
        push_string(out, &linted.calls()[call].id);
        out.extend_from_slice(b",\"content\":");
        push_text(out, text);
    } else {
        push_said(out, linted, message.role, parts);
    }
    out.push(b'}');
}

/// Texts, then calls.
fn push_said(out: &mut Vec<u8>, linted: &Linted<'_>, role: Role, parts: &[Part<'_>]) {
    out.extend_from_slice(b",\"content\":");
    let texts = parts.iter().take_while(|part| matches!(part, Part::Text(_))).count();
    let (said, calls) = parts.split_at(texts);
    match said {
        [] => out.extend_from_slice(b"null"),
        [Part::Text(text)] => push_text(out, *text),
        several => push_paragraphs(out, several),
    }
    if role == Role::Assistant && !calls.is_empty() {
        out.extend_from_slice(b",\"tool_calls\":");
        let calls = calls.iter().filter_map(|part| match part {
            Part::Call(call) => Some(&linted.calls()[*call]),
            Part::Text(_) | Part::Result { .. } => None,
        });
        push_list(out, calls, push_call);
    }
}

/// Several texts as one, a blank line between them.
fn push_paragraphs(out: &mut Vec<u8>, parts: &[Part<'_>]) {
    out.push(b'"');
    for (index, part) in parts.iter().enumerate() {
        let Part::Text(text) = part else { continue };
        if index > 0 {
            out.extend_from_slice(br"\n\n");
        }
        let mut encoded = vec![];
        push_text(&mut encoded, *text);
        out.extend_from_slice(encoded.get(1..encoded.len().saturating_sub(1)).unwrap_or_default());
    }
    out.push(b'"');
}

fn push_call(out: &mut Vec<u8>, call: &Call<'_>) {
    out.extend_from_slice(b"{\"id\":");
    push_string(out, &call.id);
    out.extend_from_slice(b",\"type\":\"function\",\"function\":{\"name\":");
    push_string(out, &call.name);
    out.extend_from_slice(b",\"arguments\":");
    match call.arguments {
        Arguments::None => out.extend_from_slice(b"\"{}\""),
        Arguments::Json(json) => push_string(out, json),
        Arguments::Encoded(text) => out.extend_from_slice(text.as_bytes()),
    }
    out.extend_from_slice(b"}}");
}
