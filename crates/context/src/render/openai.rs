//! OpenAI chat completions: `{"model", "messages", "tools"?, …parameters by name}`.

use super::{
    RequestSpec,
    spans::{RequestWriter, Source},
    write::{push_list, push_params, push_string, push_text, tools},
};
use crate::lint::{self, Arguments, Call, Linted, Part, Said};
use cardwire_model::Role;

/// What the renderer writes itself.
const OWN: [&str; 3] = ["messages", "model", "tools"];

pub(super) fn render(out: &mut RequestWriter, linted: &Linted<'_>, spec: &RequestSpec<'_>) {
    out.bytes.extend_from_slice(b"{\"model\":");
    push_string(&mut out.bytes, spec.model);
    out.bytes.extend_from_slice(b",\"messages\":");
    push_list(out, &linted.messages, |out, message| push_message(out, linted, message));
    if let Some(tools) = tools(spec) {
        out.bytes.extend_from_slice(b",\"tools\":");
        out.of(Source::Tools, |bytes| bytes.extend_from_slice(tools.as_bytes()));
    }
    push_params(&mut out.bytes, spec, &OWN);
    out.bytes.push(b'}');
}

fn push_message(out: &mut RequestWriter, linted: &Linted<'_>, message: &lint::Out<'_>) {
    out.bytes.extend_from_slice(b"{\"role\":\"");
    out.bytes.extend_from_slice(message.role.as_str().as_bytes());
    out.bytes.push(b'"');
    if let Some(name) = message.name {
        out.bytes.extend_from_slice(b",\"name\":");
        push_string(&mut out.bytes, name);
    }
    let parts = linted.parts(message);
    if let [Part { said: Said::Result { call, text }, origin }] = *parts {
        out.bytes.extend_from_slice(b",\"tool_call_id\":");
        push_string(&mut out.bytes, &linted.calls()[call].id);
        out.bytes.extend_from_slice(b",\"content\":");
        out.of(origin.into(), |bytes| push_text(bytes, text));
    } else {
        push_said(out, linted, message.role, parts);
    }
    out.bytes.push(b'}');
}

/// Texts, then calls.
fn push_said(out: &mut RequestWriter, linted: &Linted<'_>, role: Role, parts: &[Part<'_>]) {
    out.bytes.extend_from_slice(b",\"content\":");
    let texts = parts.iter().take_while(|part| matches!(part.said, Said::Text(_))).count();
    let (said, calls) = parts.split_at(texts);
    match said {
        [] => out.bytes.extend_from_slice(b"null"),
        [Part { said: Said::Text(text), origin }] => {
            out.of((*origin).into(), |bytes| push_text(bytes, *text))
        }
        several => push_paragraphs(out, several),
    }
    if role == Role::Assistant && !calls.is_empty() {
        out.bytes.extend_from_slice(b",\"tool_calls\":");
        let calls = calls.iter().filter_map(|part| match part.said {
            Said::Call(call) => Some((&linted.calls()[call], part.origin)),
            Said::Text(_) | Said::Result { .. } => None,
        });
        push_list(out, calls, |out, (call, origin)| out.of(origin.into(), |bytes| push_call(bytes, call)));
    }
}

/// Several texts as one, a blank line between them.
fn push_paragraphs(out: &mut RequestWriter, parts: &[Part<'_>]) {
    out.bytes.push(b'"');
    for (index, Part { said, origin }) in parts.iter().enumerate() {
        let Said::Text(text) = *said else { continue };
        if index > 0 {
            out.bytes.extend_from_slice(br"\n\n");
        }
        let mut encoded = vec![];
        push_text(&mut encoded, text);
        let within = encoded.get(1..encoded.len().saturating_sub(1)).unwrap_or_default();
        out.of((*origin).into(), |bytes| bytes.extend_from_slice(within));
    }
    out.bytes.push(b'"');
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
