//! An example of an answer, made from its schema: one value for every member, by its name where that says something.
//!
//! Invariant: it fits the schema it is made from.

use super::{is_named, names, schema_value};
use crate::endpoints::Body;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Deeper than any answer nests, except for those that hold others of their kind.
const DEPTH: usize = 8;

/// An example of a body that is answered.
pub(super) fn answer(body: &Body, schemas: &BTreeMap<String, Value>) -> Option<Value> {
    if body.content_types.contains(&"text/plain") {
        return Some("# TYPE cardwire_http_requests_total counter\ncardwire_http_requests_total 1\n".into());
    }
    let schema =
        if is_named(body) { schemas.get(&(body.name)())?.clone() } else { schema_value((body.schema)()) };
    let one = of(&schema, "", schemas, DEPTH);
    Some(if body.list { json!([one]) } else { one })
}

fn of(schema: &Value, name: &str, schemas: &BTreeMap<String, Value>, depth: usize) -> Value {
    let inner = |schema: &Value, name: &str| of(schema, name, schemas, depth.saturating_sub(1));
    if let Some(reference) = schema["$ref"].as_str() {
        let referred = reference.rsplit('/').next().and_then(|name| schemas.get(name));
        return referred.map_or(Value::Null, |referred| inner(referred, name));
    }
    if let Some(first) = schema["enum"].as_array().and_then(|words| words.first()) {
        return first.clone();
    }
    if let Some(parts) = schema["allOf"].as_array() {
        let parts = parts.iter().map(|part| inner(part, name));
        return parts.fold(json!({}), |mut all, part| {
            if let (Some(all), Value::Object(part)) = (all.as_object_mut(), part) {
                all.extend(part);
            }
            all
        });
    }
    for choice in ["oneOf", "anyOf"] {
        if let Some(choices) = schema[choice].as_array() {
            let some = choices.iter().find(|choice| choice["type"] != "null");
            return some.map_or(Value::Null, |some| inner(some, name));
        }
    }
    match kind(schema) {
        Some("object") => object(schema, depth, &inner),
        Some("array") if depth == 0 || !schema["items"].is_object() => json!([]),
        Some("array") => json!([inner(&schema["items"], name.strip_suffix('s').unwrap_or(name))]),
        Some("string") => text(schema, name).into(),
        Some("integer") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some("number") => json!(0.5),
        Some("boolean") => json!(true),
        Some("null") => Value::Null,
        Some(_) | None => json!("any JSON"),
    }
}

fn object(schema: &Value, depth: usize, inner: &impl Fn(&Value, &str) -> Value) -> Value {
    let Some(properties) = schema["properties"].as_object() else { return json!({}) };
    let required = |name: &str| {
        schema["required"].as_array().is_some_and(|names| names.iter().any(|required| required == name))
    };
    // What holds others of its kind ends somewhere.
    let shown = properties.iter().filter(|(name, _)| depth > 1 || required(name));
    shown.map(|(name, schema)| (name.clone(), inner(schema, name))).collect::<Map<_, _>>().into()
}

/// The first type that is not null.
fn kind(schema: &Value) -> Option<&str> {
    match &schema["type"] {
        Value::String(kind) => Some(kind),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn text(schema: &Value, name: &str) -> String {
    if schema["format"] == "date-time" {
        return "2026-01-31T12:00:00.000000Z".to_owned();
    }
    // "Always `accepted`.", "`error` or `warning`."
    let word = || {
        let word = schema["description"].as_str()?.split('`').nth(1)?;
        word.chars().all(|c| c.is_ascii_lowercase() || c == '_').then_some(word)
    };
    names::example(name).or_else(word).unwrap_or("text").to_owned()
}
