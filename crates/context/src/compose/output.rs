//! Pieces as the answer of `POST /context/compose` shows them: messages, each block tagged with its key (CM-10).

use crate::{
    piece::{Body, Piece, Text},
    render::write::{push_string, push_text},
};

/// A JSON list of messages: `{id?, card_id?, role, name?, content, tool_calls?, tool_call_id?, metadata?}`.
pub fn messages_json(pieces: &[Piece<'_>]) -> String {
    let mut out = Vec::with_capacity(pieces.iter().map(|piece| piece.text().len() + 64).sum());
    out.push(b'[');
    for (index, piece) in pieces.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        push_message(&mut out, piece);
    }
    out.push(b']');
    String::from_utf8(out).unwrap_or_default()
}

fn push_message(out: &mut Vec<u8>, piece: &Piece<'_>) {
    out.push(b'{');
    if let Some(id) = piece.message_id() {
        push_member(out, "id", id);
    }
    if let Some(id) = piece.card_id() {
        push_member(out, "card_id", &id.to_string());
    }
    push_member(out, "role", piece.speaker().as_str());
    if let Some(name) = piece.name() {
        push_member(out, "name", name);
    }
    out.extend_from_slice(b"\"content\":");
    match piece.body {
        Body::Card(card) | Body::Told { card, .. } => out.extend_from_slice(card.content.as_bytes()),
        Body::Message(message) => out.extend_from_slice(message.content.as_bytes()),
        Body::Text { text, .. } => push_text(out, Text::Plain(text)),
    }
    if let Some(calls) = piece.tool_calls() {
        out.extend_from_slice(b",\"tool_calls\":");
        out.extend_from_slice(calls.as_bytes());
    }
    if let Some(id) = piece.tool_call_id() {
        out.extend_from_slice(b",\"tool_call_id\":");
        push_string(out, id);
    }
    if let Some(key) = piece.context_key {
        out.extend_from_slice(b",\"metadata\":{\"context_key\":");
        push_string(out, key);
        out.push(b'}');
    }
    out.push(b'}');
}

fn push_member(out: &mut Vec<u8>, name: &str, value: &str) {
    push_string(out, name);
    out.push(b':');
    push_string(out, value);
    out.push(b',');
}
