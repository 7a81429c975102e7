//! Shortens what is loaded (LD-05): of a conversation its beginning, its end and the turns that matter are kept, of a
//! long text its two ends.
//!
//! Invariant: shortening what was shortened changes nothing. Turns are counted by their place in the whole
//! conversation, with what a marker stands for.

use crate::Part;
use cardwire_model::limits::{LOAD_END_TURNS, LOAD_TEXT_CHARS, LOAD_TEXT_END_CHARS};
use serde_json::{Map, Value};

/// Members that hold the turns of a conversation.
const TURNS: [&str; 3] = ["conversation_history", "turns", "messages"];
/// The only member of what stands for turns that were left out.
const MARKER: &str = "omitted_turns";

/// Shortens a part. `key_turns` are the places of turns that others refer to.
pub fn truncate_part(part: Part, value: &Value, key_turns: &[u64]) -> Value {
    match (part, value) {
        // A trace may be the list of its turns.
        (Part::Trace, Value::Array(turns)) => shorten_turns(turns, key_turns),
        (Part::Trace | Part::Report | Part::Sample | Part::Evaluation | Part::Attribution, value) => {
            shorten(value, key_turns)
        }
    }
}

/// The two ends of a long text with a note between them; a text that is not long as it is.
pub fn truncate_text(text: &str) -> String {
    let chars = text.chars().count();
    if chars <= LOAD_TEXT_CHARS {
        return text.to_owned();
    }
    let omitted = chars - 2 * LOAD_TEXT_END_CHARS;
    let head: String = text.chars().take(LOAD_TEXT_END_CHARS).collect();
    let tail: String = text.chars().skip(chars - LOAD_TEXT_END_CHARS).collect();
    format!("{head}\n\n[... {omitted} chars omitted ...]\n\n{tail}")
}

fn shorten(value: &Value, key_turns: &[u64]) -> Value {
    match value {
        Value::String(text) => Value::String(truncate_text(text)),
        Value::Array(items) => items.iter().map(|item| shorten(item, key_turns)).collect(),
        Value::Object(members) => {
            let shorten = |(key, value): (&String, &Value)| {
                let turns = value.as_array().filter(|_| TURNS.contains(&key.as_str()));
                let value =
                    turns.map_or_else(|| shorten(value, key_turns), |turns| shorten_turns(turns, key_turns));
                (key.clone(), value)
            };
            Value::Object(members.iter().map(shorten).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn shorten_turns(turns: &[Value], key_turns: &[u64]) -> Value {
    let total = turns.iter().map(length).fold(0, u64::saturating_add);
    let mut kept = Vec::new();
    let mut place = 0_u64;
    let mut omitted = 0_u64;
    for turn in turns {
        let length = length(turn);
        let at_an_end = place < LOAD_END_TURNS || place.saturating_add(LOAD_END_TURNS) >= total;
        if marker(turn).is_none() && (at_an_end || is_key(turn, place, key_turns)) {
            kept.extend(note(omitted));
            kept.push(shorten(turn, key_turns));
            omitted = 0;
        } else {
            omitted = omitted.saturating_add(length);
        }
        place = place.saturating_add(length);
    }
    kept.extend(note(omitted));
    Value::Array(kept)
}

/// What stands for turns that were left out.
fn note(omitted: u64) -> Option<Value> {
    (omitted > 0).then(|| Value::Object(Map::from_iter([(MARKER.to_owned(), omitted.into())])))
}

/// How many turns a marker stands for.
fn marker(turn: &Value) -> Option<u64> {
    let members = turn.as_object().filter(|members| members.len() == 1)?;
    members.get(MARKER)?.as_u64().filter(|omitted| *omitted > 0)
}

fn length(turn: &Value) -> u64 {
    marker(turn).unwrap_or(1)
}

/// Turns with tool calls, with errors, and those that somebody refers to, which are sorted.
fn is_key(turn: &Value, place: u64, key_turns: &[u64]) -> bool {
    let says = |key: &str| turn.get(key).is_some_and(is_something);
    let place = turn.get("turn_index").and_then(Value::as_u64).unwrap_or(place);
    let failed = turn.get("status").and_then(Value::as_str).is_some_and(|status| {
        let status = status.to_ascii_lowercase();
        status == "error" || status == "failed"
    });
    let is_tool = turn.get("role").and_then(Value::as_str) == Some("tool");
    ["tool_calls", "tool_call", "tool_call_id", "error", "errors", "is_error"].into_iter().any(says)
        || failed
        || is_tool
        || key_turns.binary_search(&place).is_ok()
}

fn is_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(_) => true,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}
