//! `submit_result`: the end of a turn with the fields that were asked for (WK-07).

use serde_json::{Map, Value, json};

pub(crate) const NAME: &str = "submit_result";

/// A field of a result.
#[derive(Debug, Clone, PartialEq)]
struct Field {
    name: String,
    value: Value,
}

/// The names that the latest `task.result_fields` in view asks for.
pub(crate) fn required(result_fields: &Value) -> Vec<String> {
    let list = result_fields.get("fields").unwrap_or(result_fields).as_array();
    list.into_iter().flatten().filter_map(|field| field["name"].as_str()).map(str::to_owned).collect()
}

/// The deliverable of a submission: required fields first, then the others; or what is wrong with it.
pub(crate) fn submit(arguments: &Value, required: &[String]) -> Result<Value, String> {
    let given = fields(arguments)?;
    for (index, field) in given.iter().enumerate() {
        if given[..index].iter().any(|earlier| earlier.name == field.name) {
            return Err(format!("submit_result has duplicate fields: [{}]", field.name));
        }
    }
    let has = |name: &String| given.iter().any(|field| field.name == *name && !is_blank(&field.value));
    let missing: Vec<_> = required.iter().filter(|name| !has(name)).map(String::as_str).collect();
    if !missing.is_empty() {
        return Err(format!("submit_result missing required fields: [{}]", missing.join(", ")));
    }
    let wanted = required.iter().filter_map(|name| given.iter().find(|field| field.name == *name));
    let extra = given.iter().filter(|field| !required.contains(&field.name));
    let fields: Vec<_> =
        wanted.chain(extra).map(|field| json!({ "name": field.name, "value": field.value })).collect();
    if fields.is_empty() {
        return Err("submit_result has no fields".to_owned());
    }
    Ok(json!({ "fields": fields }))
}

fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

/// `{fields: […]}`, a list, or `{name: value}`.
fn fields(arguments: &Value) -> Result<Vec<Field>, String> {
    match arguments {
        Value::Array(list) => listed(list),
        Value::Object(members) => match members.get("fields") {
            Some(Value::Array(list)) => listed(list),
            _ => Ok(named(members)),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Err("submit_result takes {fields: [{name, value}]}, a list of these, or {name: value}".to_owned())
        }
    }
}

fn listed(list: &[Value]) -> Result<Vec<Field>, String> {
    let read = |field: &Value| match field["name"].as_str() {
        Some(name) if !name.trim().is_empty() => {
            Ok(Field { name: name.to_owned(), value: field["value"].clone() })
        }
        Some(_) | None => Err("submit_result: every field needs a name".to_owned()),
    };
    list.iter().map(read).collect()
}

fn named(members: &Map<String, Value>) -> Vec<Field> {
    members.iter().map(|(name, value)| Field { name: name.clone(), value: value.clone() }).collect()
}

/// What a model is told of it.
pub(crate) fn schema(required: &[String]) -> Value {
    let properties: Map<String, Value> = required.iter().map(|name| (name.clone(), json!({}))).collect();
    json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// WK-07
    #[test]
    fn missing_fields_are_named() {
        let refused = submit(&json!({ "a": 1, "c": " " }), &names(&["a", "b", "c"])).unwrap_err();
        assert_eq!(refused, "submit_result missing required fields: [b, c]");
    }

    /// WK-07
    #[test]
    fn all_three_forms_are_taken_and_required_fields_come_first() {
        let expected = json!({ "fields": [{ "name": "b", "value": 2 }, { "name": "a", "value": 1 }] });
        for given in [
            json!({ "fields": [{ "name": "a", "value": 1 }, { "name": "b", "value": 2 }] }),
            json!([{ "name": "a", "value": 1 }, { "name": "b", "value": 2 }]),
            json!({ "a": 1, "b": 2 }),
        ] {
            assert_eq!(submit(&given, &names(&["b"])).unwrap(), expected, "{given}");
        }
    }

    /// WK-07
    #[test]
    fn duplicates_and_nonsense_are_refused() {
        let twice = json!([{ "name": "a", "value": 1 }, { "name": "a", "value": 2 }]);
        assert_eq!(submit(&twice, &[]).unwrap_err(), "submit_result has duplicate fields: [a]");
        assert!(submit(&json!([{ "value": 1 }]), &[]).unwrap_err().contains("needs a name"));
        assert!(submit(&json!("text"), &[]).is_err());
        assert!(submit(&json!({}), &[]).is_err());
    }

    #[test]
    fn required_names_are_read_from_both_forms_of_the_card() {
        let list = json!([{ "name": "a", "description": "" }]);
        assert_eq!(required(&list), ["a"]);
        assert_eq!(required(&json!({ "fields": list })), ["a"]);
        assert!(required(&Value::Null).is_empty());
    }
}
