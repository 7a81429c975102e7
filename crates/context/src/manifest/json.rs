//! A manifest as the content of its card: references, never the rendered prompt (RP-01).

use cardwire_model::{
    BoxId, CanonicalJson, CardId, Cause, Generation, Invalid, Layer, Manifest, ManifestEntry, Omission,
    Placement, Provider, Repair, Source, Stretch,
};
use serde_json::{Map, Value, json};
use std::str::FromStr;

/// The content of a `sys.manifest` card. Fails only for what cannot be kept as JSON, such as NUL in a parameter.
pub fn to_json(manifest: &Manifest) -> Result<CanonicalJson, Invalid> {
    let id = |card: &Option<CardId>| card.map(|id| id.to_string());
    let mut value = json!({
        "template": manifest.template,
        "provider": manifest.provider.as_str(),
        "model": manifest.model,
        "params": manifest.params,
        "tools_card_id": id(&manifest.tools),
        "tool_set_hash": manifest.tool_set_hash,
        "tokenizer": manifest.tokenizer,
        "placement": manifest.placement.as_str(),
        "window": manifest.window,
        "reserve": manifest.reserve,
        "agent_id": manifest.agent_id.as_str(),
        "agent_turn_id": manifest.turn_id.to_string(),
        "step_id": manifest.step_id.as_str(),
        "entries": manifest.entries.iter().map(entry_json).collect::<Vec<_>>(),
        "omissions": omissions_json(&manifest.omissions),
        "repairs": repairs_json(&manifest.repairs),
        "total_tokens": manifest.total_tokens,
        "request_sha256": manifest.request_sha256,
        "previous_call_id": id(&manifest.previous_call),
        "shared_prefix_tokens": manifest.shared_prefix_tokens,
        "created_at": manifest.at.to_string(),
    });
    // Most turns belong to no session: their records say nothing of one.
    if let Some(seen) = manifest.session {
        value["session_checkpoint"] = seen.to_string().into();
    }
    CanonicalJson::from_value(&value)
}

/// What was left out, as a manifest has it.
pub fn omissions_json(omissions: &[Omission]) -> Value {
    omissions.iter().map(omission_json).collect()
}

/// What was added, as a manifest has it.
pub fn repairs_json(repairs: &[Repair]) -> Value {
    repairs.iter().map(repair_json).collect()
}

/// The reverse; `None` for content that is no manifest.
pub fn from_json(content: &CanonicalJson) -> Option<Manifest> {
    let value = content.to_value();
    Some(Manifest {
        template: text(&value, "template")?,
        provider: Provider::from_name(value.get("provider")?.as_str()?)?,
        model: text(&value, "model")?,
        params: value.get("params")?.as_object()?.clone(),
        tools: optional(&value, "tools_card_id", parsed)?,
        tool_set_hash: optional(&value, "tool_set_hash", text)?,
        tokenizer: text(&value, "tokenizer")?,
        placement: Placement::from_name(value.get("placement")?.as_str()?)?,
        window: optional(&value, "window", number)?,
        reserve: number(&value, "reserve")?,
        agent_id: parsed(&value, "agent_id")?,
        turn_id: parsed(&value, "agent_turn_id")?,
        step_id: parsed(&value, "step_id")?,
        session: optional(&value, "session_checkpoint", parsed)?,
        entries: list(&value, "entries", entry)?,
        omissions: list(&value, "omissions", omission)?,
        repairs: list(&value, "repairs", repair)?,
        total_tokens: number(&value, "total_tokens")?,
        request_sha256: text(&value, "request_sha256")?,
        previous_call: optional(&value, "previous_call_id", parsed)?,
        shared_prefix_tokens: number(&value, "shared_prefix_tokens")?,
        at: parsed(&value, "created_at")?,
    })
}

fn entry_json(entry: &ManifestEntry) -> Value {
    let ManifestEntry { layer, context_key, source, cards, tokens, cause } = entry;
    part_json(*layer, context_key.as_deref(), Some(source), (*cards, *tokens), *cause)
}

fn omission_json(omission: &Omission) -> Value {
    let Omission { layer, context_key, source, cards, tokens, cause } = omission;
    part_json(*layer, context_key.as_deref(), source.as_ref(), (*cards, *tokens), *cause)
}

fn part_json(
    layer: Layer,
    context_key: Option<&str>,
    source: Option<&Source>,
    (cards, tokens): (u32, u32),
    cause: Cause,
) -> Value {
    let mut object = Map::new();
    object.insert("layer".into(), layer.as_str().into());
    if let Some(key) = context_key {
        object.insert("context_key".into(), key.into());
    }
    match source {
        Some(Source::Block(id)) => object.insert("block_card_id".into(), id.to_string().into()),
        Some(Source::Card(id)) => object.insert("card_id".into(), id.to_string().into()),
        Some(Source::Stretch(stretch)) => object.insert("box".into(), stretch_json(stretch)),
        None => None,
    };
    object.insert("cards".into(), cards.into());
    object.insert("tokens".into(), tokens.into());
    object.insert("reason".into(), cause.as_str().into());
    Value::Object(object)
}

fn stretch_json(stretch: &Stretch) -> Value {
    json!({
        "box_id": stretch.box_id.to_string(),
        "generation": stretch.generation.get(),
        "from": stretch.from,
        "to": stretch.to,
    })
}

fn repair_json(repair: &Repair) -> Value {
    let card_id = repair.card_id.map(|id| id.to_string());
    json!({ "rule": repair.rule, "card_id": card_id, "added_card_id": repair.added.to_string() })
}

fn entry(value: &Value) -> Option<ManifestEntry> {
    let Omission { layer, context_key, source, cards, tokens, cause } = omission(value)?;
    Some(ManifestEntry { layer, context_key, source: source?, cards, tokens, cause })
}

fn omission(value: &Value) -> Option<Omission> {
    Some(Omission {
        layer: Layer::from_name(value.get("layer")?.as_str()?)?,
        context_key: optional(value, "context_key", text)?,
        source: source(value)?,
        cards: number(value, "cards")?,
        tokens: number(value, "tokens")?,
        cause: Cause::from_name(value.get("reason")?.as_str()?)?,
    })
}

fn source(value: &Value) -> Option<Option<Source>> {
    let block = optional(value, "block_card_id", parsed)?.map(Source::Block);
    let card = optional(value, "card_id", parsed)?.map(Source::Card);
    let stretch = optional(value, "box", stretch)?.map(Source::Stretch);
    Some(block.or(card).or(stretch))
}

fn stretch(value: &Value, key: &str) -> Option<Stretch> {
    let value = value.get(key)?;
    let (from, to) = (number(value, "from")?, number(value, "to")?);
    let box_id: BoxId = parsed(value, "box_id")?;
    let generation = Generation::new(number(value, "generation")?);
    (from <= to).then_some(Stretch { box_id, generation, from, to })
}

fn repair(value: &Value) -> Option<Repair> {
    Some(Repair {
        rule: text(value, "rule")?,
        card_id: optional(value, "card_id", parsed)?,
        added: parsed(value, "added_card_id")?,
    })
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

fn parsed<T: FromStr>(value: &Value, key: &str) -> Option<T> {
    value.get(key)?.as_str()?.parse().ok()
}

fn number(value: &Value, key: &str) -> Option<u32> {
    value.get(key)?.as_u64().and_then(|number| u32::try_from(number).ok())
}

fn list<T>(value: &Value, key: &str, read: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    value.get(key)?.as_array()?.iter().map(read).collect()
}

/// A member that may be absent or null; one that is there must be right.
fn optional<T>(value: &Value, key: &str, read: impl Fn(&Value, &str) -> Option<T>) -> Option<Option<T>> {
    match value.get(key) {
        None | Some(Value::Null) => Some(None),
        Some(_) => read(value, key).map(Some),
    }
}
