//! The manifest of pieces that are kept nowhere, as the answer of `POST /context/compose` shows it: what has no card is
//! named by its hash.

use crate::piece::{Body, Piece};
use cardwire_model::{Cause, Hash256};
use serde_json::{Map, Value};

/// `{layer, context_key?, card_id? | message_id? | content_sha256?, tokens, reason}` for each piece.
pub fn outline(pieces: &[Piece<'_>]) -> Vec<Value> {
    pieces.iter().map(|piece| part(piece, piece.cause)).collect()
}

/// The same for what was left out.
pub fn outline_omissions<'a>(omitted: impl IntoIterator<Item = (Piece<'a>, Cause)>) -> Vec<Value> {
    omitted.into_iter().map(|(piece, cause)| part(&piece, cause)).collect()
}

fn part(piece: &Piece<'_>, cause: Cause) -> Value {
    let mut object = Map::new();
    object.insert("layer".into(), piece.layer.as_str().into());
    if let Some(key) = piece.context_key {
        object.insert("context_key".into(), key.into());
    }
    match (piece.card_id(), piece.message_id()) {
        (Some(card), _) => object.insert("card_id".into(), card.to_string().into()),
        (None, Some(message)) => object.insert("message_id".into(), message.into()),
        (None, None) => object.insert("content_sha256".into(), hash(piece).to_string().into()),
    };
    object.insert("tokens".into(), piece.tokens.into());
    object.insert("reason".into(), cause.as_str().into());
    Value::Object(object)
}

/// Of the text of a block, and of the canonical content of a message.
fn hash(piece: &Piece<'_>) -> Hash256 {
    match piece.body {
        Body::Card(card) | Body::Told { card, .. } => card.content_hash,
        Body::Message(message) => Hash256::of(message.content.as_bytes()),
        Body::Text { text, .. } => Hash256::of(text.as_bytes()),
    }
}
