//! The fields that a result must have: their names, and what each value must be where a JSON Schema says so (WK-07).

use cardwire_model::schema::{Room, Schema, Steps};
use serde_json::{Map, Value};

/// How much is told of what is wrong with a schema.
const REASON_CHARS: usize = 300;

/// A field that was asked for.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// What its value must be: as it was given, and ready to check.
    schema: Option<(Value, Schema)>,
}

impl Field {
    /// The fields that the latest `task.result_fields` in view asks for; or which of them cannot be checked, and why.
    pub(crate) fn all(result_fields: &Value) -> Result<Vec<Self>, String> {
        let list = result_fields.get("fields").unwrap_or(result_fields).as_array();
        // Together they take no more than one schema may (SEC-07).
        let mut room = Room::default();
        list.into_iter().flatten().filter_map(|field| Self::read(field, &mut room)).collect()
    }

    fn read(field: &Value, room: &mut Room) -> Option<Result<Self, String>> {
        let name = field["name"].as_str()?.to_owned();
        let Some(schema) = field.get("schema").filter(|schema| !schema.is_null()) else {
            return Some(Ok(Self { name, schema: None }));
        };
        Some(match Schema::read(schema, "schema", room) {
            Ok(read) => Ok(Self { name, schema: Some((schema.clone(), read)) }),
            Err(error) => Err(format!("the schema of the field {name} is none: {}", cut(&error.to_string()))),
        })
    }

    /// Its value is checked.
    pub(crate) fn has_schema(&self) -> bool {
        self.schema.is_some()
    }

    /// What is wrong with a value, if anything is.
    pub(crate) fn misfit(&self, value: &Value, steps: &mut Steps) -> Option<String> {
        let (_, schema) = self.schema.as_ref()?;
        let (place, reason) = match schema.misfits(value, steps) {
            Ok(misfits) => misfits.into_iter().next().map(|misfit| (misfit.place, misfit.message))?,
            Err(why) => (String::new(), why.to_string()),
        };
        let place = if place.is_empty() { place } else { format!(" at {place}") };
        Some(format!("{}{place}: {reason}", self.name))
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
    use cardwire_model::limits::SCHEMA_BYTES;
    use serde_json::json;

    fn one(schema: Value) -> Field {
        Field::all(&json!([{ "name": "n", "description": "", "schema": schema }])).unwrap().remove(0)
    }

    fn misfit(field: &Field, value: Value) -> Option<String> {
        field.misfit(&value, &mut Steps::default())
    }

    #[test]
    fn names_are_read_from_both_forms_of_the_card() {
        let list = json!([{ "name": "a", "description": "" }]);
        for card in [list.clone(), json!({ "fields": list })] {
            let fields = Field::all(&card).unwrap();
            assert_eq!(fields.len(), 1);
            assert_eq!((&fields[0].name[..], misfit(&fields[0], json!([1]))), ("a", None));
            assert_eq!(fields[0].offered(), json!({}));
        }
        assert!(Field::all(&Value::Null).unwrap().is_empty());
    }

    /// WK-07
    #[test]
    fn a_misfit_is_told_with_the_field_and_the_place() {
        let boats =
            one(json!({ "type": "object", "properties": { "count": { "type": "integer", "minimum": 1 } } }));
        assert_eq!(misfit(&boats, json!({ "count": 1 })), None);
        assert_eq!(misfit(&boats, json!(7)).unwrap(), r#"n: value is not of type "object""#);
        assert_eq!(
            misfit(&boats, json!({ "count": 0 })).unwrap(),
            "n at /count: value is less than the minimum of 1"
        );
        let long = misfit(&one(json!({ "enum": ["x".repeat(1_000)] })), json!(1)).unwrap();
        assert_eq!(long.chars().count(), REASON_CHARS + "n: ".len());
        assert!(
            misfit(&one(json!(false)), json!(1)).is_some() && misfit(&one(json!(true)), json!(1)).is_none()
        );
    }

    /// F-41, SEC-07
    #[test]
    fn fields_share_what_schemas_and_checks_may_take() {
        let titled = |letters: usize| json!({ "title": "x".repeat(letters) });
        let two = |letters| json!([{ "name": "a", "schema": titled(1_000) }, { "name": "b", "schema": titled(letters) }]);
        let rest = SCHEMA_BYTES - 1_000 - 2 * r#"{"title":""}"#.len();
        assert!(Field::all(&two(rest)).is_ok());
        assert!(Field::all(&two(rest + 1)).unwrap_err().starts_with("the schema of the field b is none"));
        let list = one(json!({ "items": { "type": "integer" } }));
        let (value, mut steps) = (json!(vec![1; 1_200_000]), Steps::default());
        assert_eq!(list.misfit(&value, &mut steps), None);
        assert!(list.misfit(&value, &mut steps).unwrap().contains("steps"), "the second time is too much");
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
        let whole = Schema::read(&offered, "schema", &mut Room::default()).unwrap();
        let misfits = whole.misfits(&json!({ "a/b": ["x"] }), &mut Steps::default()).unwrap();
        assert!(misfits.iter().any(|misfit| misfit.place == "/a~1b/0"), "it is found");
    }
}
