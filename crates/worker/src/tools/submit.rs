//! `submit_result`: the end of a turn with the fields that were asked for (WK-07).

use super::fields::Field;
use crate::apart::apart;
use cardwire_model::schema::Steps;
use serde_json::{Map, Value, json};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

pub(crate) const NAME: &str = "submit_result";

/// A field of a result.
#[derive(Debug, Clone, PartialEq)]
struct Given {
    name: String,
    value: Value,
}

/// What is wrong with a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// It does not have the fields that were asked for, once each.
    Fields(String),
    /// It has them, and a value is not what its schema says.
    Values(String),
}

impl Wrong {
    /// For programs.
    pub(crate) const fn code(&self) -> &'static str {
        match self {
            Self::Fields(_) => "invalid_result",
            Self::Values(_) => INVALID_VALUE,
        }
    }

    /// For the model.
    pub(crate) fn words(&self) -> &str {
        match self {
            Self::Fields(words) | Self::Values(words) => words,
        }
    }
}

/// The code of a value that is not what its schema says.
pub(crate) const INVALID_VALUE: &str = "invalid_value";

/// The same, where it holds up nobody: what schemas ask for may take a while to be checked (F-45).
pub(crate) async fn submit_apart(arguments: &Value, required: &Arc<[Field]>) -> Result<Value, Wrong> {
    if !required.iter().any(Field::has_schema) {
        return submit(arguments, required);
    }
    let (arguments, required) = (arguments.clone(), Arc::clone(required));
    apart(move || submit(&arguments, &required)).await
}

/// The deliverable of a submission: required fields first, then the others; or what is wrong with it.
pub(crate) fn submit(arguments: &Value, required: &[Field]) -> Result<Value, Wrong> {
    let given = fields(arguments).map_err(Wrong::Fields)?;
    let mut by_name: HashMap<&str, &Given> = HashMap::with_capacity(given.len());
    for field in &given {
        if by_name.insert(&field.name, field).is_some() {
            return Err(Wrong::Fields(format!("submit_result has duplicate fields: [{}]", field.name)));
        }
    }
    let value_of = |name: &str| by_name.get(name).copied();
    let has = |name: &String| value_of(name).is_some_and(|field| !is_blank(&field.value));
    let missing: Vec<_> =
        required.iter().map(|field| &field.name).filter(|name| !has(name)).map(String::as_str).collect();
    if !missing.is_empty() {
        return Err(Wrong::Fields(format!(
            "submit_result missing required fields: [{}]",
            missing.join(", ")
        )));
    }
    let mut steps = Steps::default();
    let misfit = |field: &Field| field.misfit(&value_of(&field.name)?.value, &mut steps);
    let misfits: Vec<_> = required.iter().filter_map(misfit).collect();
    if !misfits.is_empty() {
        return Err(Wrong::Values(format!(
            "submit_result has values that do not fit: {}",
            misfits.join("; ")
        )));
    }
    let wanted = required.iter().filter_map(|field| value_of(&field.name));
    let names: HashSet<&str> = required.iter().map(|field| field.name.as_str()).collect();
    let extra = given.iter().filter(|given| !names.contains(given.name.as_str()));
    let fields: Vec<_> =
        wanted.chain(extra).map(|field| json!({ "name": field.name, "value": field.value })).collect();
    if fields.is_empty() {
        return Err(Wrong::Fields("submit_result has no fields".to_owned()));
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
fn fields(arguments: &Value) -> Result<Vec<Given>, String> {
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

fn listed(list: &[Value]) -> Result<Vec<Given>, String> {
    let read = |field: &Value| match field["name"].as_str() {
        Some(name) if !name.trim().is_empty() => {
            Ok(Given { name: name.to_owned(), value: field["value"].clone() })
        }
        Some(_) | None => Err("submit_result: every field needs a name".to_owned()),
    };
    list.iter().map(read).collect()
}

fn named(members: &Map<String, Value>) -> Vec<Given> {
    members.iter().map(|(name, value)| Given { name: name.clone(), value: value.clone() }).collect()
}

/// What a model is told of it.
pub(crate) fn schema(required: &[Field]) -> Value {
    let properties: Map<String, Value> =
        required.iter().map(|field| (field.name.clone(), field.offered())).collect();
    let names: Vec<_> = required.iter().map(|field| field.name.as_str()).collect();
    json!({
        "type": "object", "properties": properties, "required": names, "additionalProperties": true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<Field> {
        let named = |name: &&str| json!({ "name": name, "description": "" });
        Field::all(&names.iter().map(named).collect()).unwrap()
    }

    fn refused(given: Value, required: &[Field]) -> String {
        submit(&given, required).unwrap_err().words().to_owned()
    }

    /// WK-07
    #[test]
    fn missing_fields_are_named() {
        let said = refused(json!({ "a": 1, "c": " " }), &names(&["a", "b", "c"]));
        assert_eq!(said, "submit_result missing required fields: [b, c]");
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
        assert_eq!(refused(twice, &[]), "submit_result has duplicate fields: [a]");
        assert!(refused(json!([{ "value": 1 }]), &[]).contains("needs a name"));
        assert!(submit(&json!("text"), &[]).is_err());
        assert!(submit(&json!({}), &[]).is_err());
    }

    /// WK-07
    #[test]
    fn values_are_what_their_schemas_say_and_every_misfit_is_told() {
        let required = Field::all(&json!([
            { "name": "boats", "schema": { "type": "integer" } }, { "name": "why" },
            { "name": "where", "schema": { "enum": ["pier", "sea"] } },
        ]))
        .unwrap();
        assert!(submit(&json!({ "boats": 7, "why": [], "where": "sea", "more": 1 }), &required).is_ok());
        let wrong = submit(&json!({ "boats": "7", "why": 1, "where": "air" }), &required).unwrap_err();
        assert_eq!(wrong.code(), "invalid_value");
        let words = wrong.words();
        assert!(
            words.contains(r#"boats: value is not of type "integer""#) && words.contains("; where: "),
            "{words}"
        );
        let missing = submit(&json!({ "boats": "7" }), &required).unwrap_err();
        assert_eq!(missing.code(), "invalid_result", "what is not there is told first");
        assert_eq!(schema(&required)["properties"]["boats"], json!({ "type": "integer" }));
    }
}
