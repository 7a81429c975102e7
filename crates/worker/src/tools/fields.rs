//! The fields that a result must have: their names, and what each value must be where a JSON Schema says so (WK-07).

use jsonschema::Validator;
use serde_json::{Map, Value};

/// How much is told of what is wrong with a value.
const REASON_CHARS: usize = 300;

/// A field that was asked for.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// What its value must be: as it was given, and ready to check.
    schema: Option<(Value, Validator)>,
}

impl Field {
    /// The fields that the latest `task.result_fields` in view asks for; or which of them cannot be checked, and why.
    pub(crate) fn all(result_fields: &Value) -> Result<Vec<Self>, String> {
        let list = result_fields.get("fields").unwrap_or(result_fields).as_array();
        list.into_iter().flatten().filter_map(Self::read).collect()
    }

    fn read(field: &Value) -> Option<Result<Self, String>> {
        let name = field["name"].as_str()?.to_owned();
        let Some(schema) = field.get("schema").filter(|schema| !schema.is_null()) else {
            return Some(Ok(Self { name, schema: None }));
        };
        // Nothing is fetched: a schema is all there is of it.
        Some(match jsonschema::validator_for(schema) {
            Ok(validator) => Ok(Self { name, schema: Some((schema.clone(), validator)) }),
            Err(error) => Err(format!("the schema of the field {name} is none: {}", cut(&error.to_string()))),
        })
    }

    /// What is wrong with a value, if anything is.
    pub(crate) fn misfit(&self, value: &Value) -> Option<String> {
        let (_, validator) = self.schema.as_ref()?;
        let error = validator.iter_errors(value).next()?;
        let place = error.instance_path().to_string();
        let place = if place.is_empty() { String::new() } else { format!(" at {place}") };
        Some(format!("{}{place}: {}", self.name, cut(&error.masked().to_string())))
    }

    /// What a model is told of its value.
    pub(crate) fn offered(&self) -> Value {
        match &self.schema {
            Some((schema, _)) => moved(schema, &format!("#/properties/{}", escaped(&self.name))),
            None => Value::Object(Map::new()),
        }
    }
}

/// The schema as a part of another: what refers to itself finds itself there.
fn moved(schema: &Value, to: &str) -> Value {
    match schema {
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                let own = value.as_str().and_then(|text| text.strip_prefix('#')).filter(|_| name == "$ref");
                let own = own.filter(|rest| rest.is_empty() || rest.starts_with('/'));
                (name.clone(), own.map_or_else(|| moved(value, to), |rest| format!("{to}{rest}").into()))
            };
            Value::Object(members.iter().map(member).collect())
        }
        Value::Array(list) => list.iter().map(|value| moved(value, to)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
    }
}

/// A name as a part of a JSON Pointer in a fragment.
fn escaped(name: &str) -> String {
    let byte = |byte: u8| match byte {
        b'~' => "~0".to_owned(),
        b'/' => "~1".to_owned(),
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    name.bytes().map(byte).collect()
}

fn cut(text: &str) -> String {
    text.chars().take(REASON_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn one(schema: Value) -> Field {
        Field::all(&json!([{ "name": "n", "description": "", "schema": schema }])).unwrap().remove(0)
    }

    #[test]
    fn names_are_read_from_both_forms_of_the_card() {
        let list = json!([{ "name": "a", "description": "" }]);
        for card in [list.clone(), json!({ "fields": list })] {
            let fields = Field::all(&card).unwrap();
            assert_eq!(fields.len(), 1);
            assert_eq!((&fields[0].name[..], fields[0].misfit(&json!([1]))), ("a", None));
            assert_eq!(fields[0].offered(), json!({}));
        }
        assert!(Field::all(&Value::Null).unwrap().is_empty());
    }

    /// WK-07
    #[test]
    fn a_misfit_is_told_with_the_field_and_the_place() {
        let boats =
            one(json!({ "type": "object", "properties": { "count": { "type": "integer", "minimum": 1 } } }));
        assert_eq!(boats.misfit(&json!({ "count": 1 })), None);
        assert_eq!(boats.misfit(&json!(7)).unwrap(), r#"n: value is not of type "object""#);
        assert_eq!(
            boats.misfit(&json!({ "count": 0 })).unwrap(),
            "n at /count: value is less than the minimum of 1"
        );
        let long = one(json!({ "enum": ["x".repeat(1_000)] })).misfit(&json!(1)).unwrap();
        assert_eq!(long.chars().count(), REASON_CHARS + "n: ".len());
        assert!(
            one(json!(false)).misfit(&json!(1)).is_some() && one(json!(true)).misfit(&json!(1)).is_none()
        );
    }

    #[test]
    fn what_is_no_schema_or_lies_elsewhere_is_refused() {
        for schema in [
            json!({ "type": "boat" }),
            json!({ "$ref": "https://schemas.example/boat" }),
            json!({ "$ref": "file:///etc/passwd" }),
            json!({ "pattern": "(" }),
        ] {
            let said = Field::all(&json!([{ "name": "n", "schema": schema }])).unwrap_err();
            assert!(said.starts_with("the schema of the field n is none: "), "{said}");
        }
    }

    /// What is offered to a model is one schema, in which each field's own finds itself.
    #[test]
    fn a_schema_that_refers_to_itself_is_offered_so_that_it_still_does() {
        let schema = json!({ "$defs": { "b": { "type": "integer" } }, "items": { "$ref": "#/$defs/b" }, "enum": ["#"] });
        let field = Field::all(&json!([{ "name": "a/b", "schema": schema }])).unwrap().remove(0);
        let offered = json!({ "type": "object", "properties": { "a/b": field.offered() } });
        assert_eq!(offered["properties"]["a/b"]["items"]["$ref"], "#/properties/a~1b/$defs/b");
        assert_eq!(offered["properties"]["a/b"]["enum"], json!(["#"]));
        let whole = jsonschema::validator_for(&offered).unwrap();
        assert!(!whole.is_valid(&json!({ "a/b": ["x"] })), "it is found");
    }
}
