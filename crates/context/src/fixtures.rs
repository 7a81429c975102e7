//! Small values for the tests of the composer, the linter and the manifest.

pub(crate) mod story;

use crate::{
    compose::{Layers, arrange},
    lint::{Linted, lint},
    piece::{Body, Piece, Place, Reference},
    render::{RequestSpec, render},
    tokens::Tokenizer,
};
use cardwire_model::{
    BoxId, CanonicalJson, Card, CardDraft, CardId, Cause, Generation, Layer, Message, Origin, Placement,
    Provider, Speaker, Timestamp,
};
use serde_json::{Map, Value, json};

pub(crate) const PROVIDERS: [Provider; 2] = [Provider::OpenAiChat, Provider::AnthropicMessages];
pub(crate) const PLACEMENTS: [Placement; 2] = [Placement::Seed, Placement::Cache];

pub(crate) fn card_id(n: usize) -> CardId {
    CardId::from_uuid(uuid::Uuid::from_u128(n as u128))
}

pub(crate) fn box_id(n: u128) -> BoxId {
    BoxId::from_uuid(uuid::Uuid::from_u128(n))
}

pub(crate) fn json_of(value: &Value) -> CanonicalJson {
    CanonicalJson::from_value(value).unwrap()
}

pub(crate) fn card(
    n: usize,
    metadata: &Value,
    content: &Value,
    call: Option<&str>,
    calls: Option<&Value>,
) -> Card {
    let draft = CardDraft {
        content: json_of(content),
        metadata: json_of(metadata),
        tool_calls: calls.map(json_of),
        tool_call_id: call.map(str::to_owned),
        ttl_seconds: None,
    };
    draft.into_card(card_id(n), Origin::Agent, Timestamp::from_micros(0)).unwrap()
}

pub(crate) fn human(n: usize, text: &str) -> Card {
    card(n, &json!({ "type": "task.instruction" }), &json!(text), None, None)
}

pub(crate) fn system(n: usize, text: &str) -> Card {
    card(n, &json!({ "type": "note", "role": "system" }), &json!(text), None, None)
}

pub(crate) fn thought(n: usize, text: &str) -> Card {
    card(n, &json!({ "type": "agent.thought" }), &json!(text), None, None)
}

/// A card that says something and lists calls of the tool `look`, as OpenAI has them.
pub(crate) fn listed(n: usize, text: &str, ids: &[&str]) -> Card {
    let call = |id: &&str| json!({ "id": id, "function": { "name": "look", "arguments": "{\"at\":1}" } });
    let calls = ids.iter().map(call).collect::<Value>();
    card(n, &json!({ "type": "agent.thought" }), &json!(text), None, Some(&calls))
}

pub(crate) fn with_calls(n: usize, calls: &Value) -> Card {
    card(n, &json!({ "type": "agent.thought" }), &json!(""), None, Some(calls))
}

/// A `tool.call` card.
pub(crate) fn call(n: usize, id: &str) -> Card {
    let content = json!({ "tool_name": "look", "arguments": { "at": 1 } });
    card(n, &json!({ "type": "tool.call" }), &content, Some(id), None)
}

pub(crate) fn result(n: usize, id: &str, said: &str) -> Card {
    let content = json!({ "status": "success", "result": said });
    card(n, &json!({ "type": "tool.result", "function_name": "look" }), &content, Some(id), None)
}

/// A tool's answer that is plain text.
pub(crate) fn told(n: usize, id: Option<&str>, text: &str) -> Card {
    card(n, &json!({ "type": "note", "role": "tool" }), &json!(text), id, None)
}

pub(crate) fn block_card(n: usize, text: &str) -> Card {
    card(n, &json!({ "type": "sys.block" }), &json!(text), None, None)
}

pub(crate) fn message(id: Option<&str>, speaker: Speaker, text: &str) -> Message {
    Message {
        id: id.map(str::to_owned),
        speaker,
        content: json_of(&json!(text)),
        tool_calls: None,
        tool_call_id: None,
        name: None,
        internal: false,
    }
}

/// A piece of a card that stands at `index` of box 1.
pub(crate) fn piece_of(layer: Layer, card: &Card, index: usize) -> Piece<'_> {
    let place =
        Place { box_id: box_id(1), generation: Generation::FIRST, index: u32::try_from(index).unwrap() };
    let cause = match layer {
        Layer::Turn => Cause::Own,
        Layer::Query => Cause::Instruction,
        Layer::SystemPrompt
        | Layer::Framework
        | Layer::Experience
        | Layer::Knowledge
        | Layer::Todo
        | Layer::Compression
        | Layer::Extra
        | Layer::Tools
        | Layer::Checkpoint => Cause::History,
    };
    Piece {
        layer,
        context_key: None,
        cause,
        body: Body::Card(card),
        reference: Reference::Card { id: card.id, place: Some(place) },
        tokens: Tokenizer::Estimate.count_card(card),
        pinned: false,
    }
}

/// A block whose text is kept as a card.
pub(crate) fn block_of<'a>(layer: Layer, key: Option<&'a str>, card: &'a Card) -> Piece<'a> {
    let cause = if layer == Layer::SystemPrompt { Cause::Profile } else { Cause::Collected };
    let reference = Reference::Block(card.id);
    Piece { layer, context_key: key, cause, reference, ..piece_of(layer, card, 0) }
}

/// The cards as history.
pub(crate) fn history(cards: &[Card]) -> Vec<Piece<'_>> {
    let checkpoint =
        cards.iter().enumerate().map(|(index, card)| piece_of(Layer::Checkpoint, card, index)).collect();
    arrange(Layers { checkpoint, ..Layers::default() }, Placement::Seed)
}

pub(crate) fn body_of(linted: &Linted<'_>) -> Vec<u8> {
    let spec = RequestSpec { provider: linted.provider, model: "m", params: &Map::new(), tools: None };
    render(linted, &spec)
}

/// The messages of the request that the cards make, one per line, then the repairs.
pub(crate) fn sent(provider: Provider, pieces: &[Piece<'_>]) -> String {
    let linted = lint(provider, pieces).unwrap();
    let body: Value = serde_json::from_slice(&body_of(&linted)).unwrap();
    crate::lint::check(provider, &body).unwrap();
    let mut lines = vec![];
    for block in body["system"].as_array().into_iter().flatten() {
        lines.push(format!("system {block}"));
    }
    lines.extend(body["messages"].as_array().unwrap().iter().map(Value::to_string));
    let repairs = linted.repairs.iter();
    lines.extend(repairs.map(|repair| format!("repair {}", repair.rule.as_str())));
    lines.join("\n")
}
