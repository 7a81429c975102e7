//! JSON in the answers of planners and reflectors, who may wrap it into words or a fence.

use crate::text::{fields, plain, text_of};
use serde_json::{Deserializer, Map, Value};

/// The first object that has this key: the output itself, its fields, or one within its text.
pub(crate) fn object_with(output: &Value, key: &str) -> Option<Map<String, Value>> {
    if let Value::Object(object) = output
        && object.contains_key(key)
    {
        return Some(object.clone());
    }
    if let Some(fields) = fields(output)
        && fields.iter().any(|(name, _)| *name == key)
    {
        return Some(fields.into_iter().map(|(name, value)| (name.to_owned(), value.clone())).collect());
    }
    let text = text_of(output);
    values(&text, '{').find_map(|value| match value {
        Value::Object(object) if object.contains_key(key) => Some(object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
        Value::Object(_) => None,
    })
}

/// The list under this key, else the first list of objects. What stands under the key and is no list is no plan.
pub(crate) fn list_of(output: &Value, key: &str) -> Option<Vec<Value>> {
    match object_with(output, key) {
        Some(mut object) => match object.remove(key)? {
            Value::Array(list) => Some(list),
            // A field of a deliverable may have the list as text.
            Value::String(text) => first_list(&text),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
        },
        None => first_list(&text_of(output)),
    }
}

fn first_list(text: &str) -> Option<Vec<Value>> {
    values(text, '[').find_map(|value| match value {
        Value::Array(list) if list.iter().all(Value::is_object) => Some(list),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => None,
        Value::Array(_) => None,
    })
}

/// At so many places in a text JSON is looked for. Answers have it at one of the first; the rest would only take time.
const PLACES: usize = 10_000;

/// The JSON values that start with this character somewhere in the text, outer ones first.
fn values(text: &str, start: char) -> impl Iterator<Item = Value> {
    text.match_indices(start)
        .take(PLACES)
        .filter_map(move |(place, _)| Deserializer::from_str(&text[place..]).into_iter().next()?.ok())
}

/// What the first of these keys that is there says; nothing if that is blank.
pub(crate) fn text_under(object: &Map<String, Value>, keys: &[&str]) -> Option<String> {
    let value = keys.iter().filter_map(|key| object.get(*key)).find(|value| !value.is_null())?;
    Some(plain(value)).filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_is_found_wherever_it_stands() {
        let plan = r#"{"tasks": [{"id": "t1"}]}"#;
        let found = Some(vec![json!({ "id": "t1" })]);
        for output in [
            json!(plan),
            json!(format!("Here it is:\n```json\n{plan}\n```\nGood luck with {{it}}!")),
            json!(format!("{{\"plan\": {plan}}}")),
            json!(format!("{{not json}} [1] {plan} {{\"tasks\": []}}")),
            json!(r#"The tasks: [{"id": "t1"}]"#),
            json!({ "tasks": [{ "id": "t1" }] }),
            json!([{ "id": "t1" }]),
            json!({ "fields": [{ "name": "output", "value": plan }] }),
            json!({ "fields": [{ "name": "tasks", "value": [{ "id": "t1" }] }] }),
            json!({ "fields": [{ "name": "tasks", "value": "[{\"id\": \"t1\"}]" }] }),
        ] {
            assert_eq!(list_of(&output, "tasks"), found, "{output}");
        }
        for output in [
            json!(""),
            json!("no plan"),
            json!(r#"{"tasks": "#),
            json!(r#"{"tasks": {"t1": "x"}}"#),
            json!({ "tasks": null }),
            json!(null),
        ] {
            assert_eq!(list_of(&output, "tasks"), None, "{output}");
        }
    }

    #[test]
    fn what_never_closes_is_given_up_soon() {
        for text in ["{\"a\":".repeat(100_000), "[".repeat(500_000), "{\"".repeat(200_000)] {
            assert_eq!(list_of(&Value::String(text), "tasks"), None);
        }
    }
}
