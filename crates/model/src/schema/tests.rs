//! What schemas say, what they may cost, and what is told.

mod costs;
mod meaning;

use super::*;
use serde_json::json;

fn read(schema: &Value) -> Result<Schema, Invalid> {
    Schema::read(schema, "schema", &mut Room::default())
}

/// Places and messages of all that does not fit.
fn told(schema: Value, value: Value) -> Vec<(String, String)> {
    let misfits = read(&schema).unwrap().misfits(&value, &mut Steps::default()).unwrap();
    misfits.into_iter().map(|misfit| (misfit.place, misfit.message)).collect()
}

fn fits(schema: &Value, value: &Value) -> bool {
    read(schema).unwrap().misfits(value, &mut Steps::default()).unwrap().is_empty()
}

#[test]
fn everything_that_does_not_fit_is_told_with_its_place() {
    let schema = json!({
        "type": "object",
        "required": ["name", "size"],
        "properties": {
            "name": { "type": "string", "pattern": "^[a-z]+$", "maxLength": 3 },
            "list": { "items": { "minimum": 1 }, "uniqueItems": true },
            "a/b": { "enum": [1, "x", null, true] },
        },
        "additionalProperties": false,
    });
    let value = json!({ "name": "SECRET", "list": [0, 2, 2], "a/b": 7, "more": 1 });
    let expected = [
        ("/a~1b", "value is not one of 1, \"x\" or 2 other candidates"),
        ("/list/0", "value is less than the minimum of 1"),
        ("/list", "value has non-unique elements"),
        ("/name", "value is longer than 3 characters"),
        ("/name", "value does not match \"^[a-z]+$\""),
        ("", "Additional properties are not allowed ('more' was unexpected)"),
        ("", "\"size\" is a required property"),
    ];
    let found = told(schema, value);
    let found: Vec<(&str, &str)> = found.iter().map(|(place, message)| (&place[..], &message[..])).collect();
    assert_eq!(found, expected);
}

#[test]
fn messages_are_those_that_people_know() {
    for (schema, value, message) in [
        (json!(false), json!(1), "False schema does not allow value"),
        (json!({ "type": "integer" }), json!(1.5), "value is not of type \"integer\""),
        (json!({ "type": ["string", "null"] }), json!(1), "value is not of types \"null\", \"string\""),
        (json!({ "const": 1 }), json!(2), "1 was expected"),
        (json!({ "enum": [1, 2] }), json!(3), "value is not one of 1 or 2"),
        (json!({ "exclusiveMinimum": 1 }), json!(1), "value is less than or equal to the minimum of 1"),
        (json!({ "maximum": 1.5 }), json!(2), "value is greater than the maximum of 1.5"),
        (json!({ "exclusiveMaximum": 1 }), json!(1), "value is greater than or equal to the maximum of 1"),
        (json!({ "multipleOf": 2 }), json!(3), "value is not a multiple of 2"),
        (json!({ "minLength": 1 }), json!(""), "value is shorter than 1 character"),
        (json!({ "minItems": 2 }), json!([]), "value has less than 2 items"),
        (json!({ "maxItems": 0 }), json!([1]), "value has more than 0 items"),
        (json!({ "minProperties": 1 }), json!({}), "value has less than 1 property"),
        (json!({ "contains": false }), json!([1]), "None of value are valid under the given schema"),
        (
            json!({ "anyOf": [false] }),
            json!(1),
            "value is not valid under any of the schemas listed in the 'anyOf' keyword",
        ),
        (
            json!({ "oneOf": [false] }),
            json!(1),
            "value is not valid under any of the schemas listed in the 'oneOf' keyword",
        ),
        (
            json!({ "oneOf": [true, {}] }),
            json!(1),
            "value is valid under more than one of the schemas listed in the 'oneOf' keyword",
        ),
        (json!({ "not": {} }), json!(1), "value is valid under the schema of 'not'"),
        (
            json!({ "propertyNames": { "maxLength": 1 } }),
            json!({ "ab": 1 }),
            "value is longer than 1 character",
        ),
        (
            json!({ "unevaluatedProperties": false }),
            json!({ "a": 1, "b": 2 }),
            "Unevaluated properties are not allowed ('a', 'b' were unexpected)",
        ),
        (json!({ "unevaluatedItems": false }), json!([1]), "Unevaluated items are not allowed (1 item)"),
    ] {
        assert_eq!(told(schema.clone(), value), [(String::new(), message.to_owned())], "{schema}");
    }
}

/// SEC-08
#[test]
fn what_is_no_schema_is_refused_with_its_place() {
    for (schema, field) in [
        (json!(1), "schema"),
        (json!({ "type": "boat" }), "schema/type"),
        (json!({ "type": [] }), "schema/type"),
        (json!({ "enum": 1 }), "schema/enum"),
        (json!({ "minimum": "1" }), "schema/minimum"),
        (json!({ "multipleOf": 0 }), "schema/multipleOf"),
        (json!({ "minLength": -1 }), "schema/minLength"),
        (json!({ "maxItems": 1.5 }), "schema/maxItems"),
        (json!({ "pattern": "(" }), "schema/pattern"),
        (json!({ "pattern": "(?=a)" }), "schema/pattern"),
        (json!({ "patternProperties": { "[": {} } }), "schema/patternProperties/["),
        (json!({ "properties": [] }), "schema/properties"),
        (json!({ "properties": { "a": { "items": 1 } } }), "schema/properties/a/items"),
        (json!({ "items": [{}] }), "schema/items"),
        (json!({ "required": "a" }), "schema/required"),
        (json!({ "required": [1] }), "schema/required"),
        (json!({ "dependentRequired": { "a": "b" } }), "schema/dependentRequired/a"),
        (json!({ "allOf": {} }), "schema/allOf"),
        (json!({ "anyOf": [] }), "schema/anyOf"),
        (json!({ "uniqueItems": 1 }), "schema/uniqueItems"),
        (json!({ "$defs": { "a": 1 } }), "schema/$defs/a"),
        (json!({ "$ref": 1 }), "schema/$ref"),
        (json!({ "$ref": "#/$defs/a" }), "schema/$ref"),
        (json!({ "$ref": "#a" }), "schema/$ref"),
        (json!({ "items": { "$ref": "https://schemas.example/boat" } }), "schema/items/$ref"),
        (json!({ "$dynamicRef": "file:///etc/passwd" }), "schema/$dynamicRef"),
        (json!({ "$ref": "#/enum", "enum": [1] }), "schema/$ref"),
        (json!({ "$schema": "https://schemas.example/own" }), "schema/$schema"),
        (json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$id": "a.json" } } }), "schema/$defs/a/$id"),
        (json!({ "$ref": "#" }), "schema"),
        (
            json!({ "anyOf": [{ "$ref": "#/$defs/a" }], "$defs": { "a": { "not": { "$ref": "#" } } } }),
            "schema",
        ),
    ] {
        assert_eq!(read(&schema).unwrap_err().field_name(), field, "{schema}");
    }
}

/// SEC-07
#[test]
fn size_depth_subschemas_and_patterns_are_bounded() {
    let title = |bytes: usize| json!({ "title": "x".repeat(bytes - r#"{"title":""}"#.len()) });
    let deep = |levels: usize| (1..levels).fold(json!({}), |inner, _| json!({ "not": inner }));
    let many = |schemas: usize| json!({ "allOf": vec![true; schemas - 1] });
    let pattern = |bytes: usize| json!({ "pattern": "x".repeat(bytes) });
    for (limit, schema) in [
        (limits::SCHEMA_BYTES, &title as &dyn Fn(usize) -> Value),
        (limits::SCHEMA_DEPTH, &deep),
        (limits::SUBSCHEMAS, &many),
        (limits::SCHEMA_PATTERN_BYTES, &pattern),
    ] {
        assert!(read(&schema(limit)).is_ok(), "{limit}");
        let refused = read(&schema(limit + 1)).unwrap_err();
        assert!(matches!(refused, Invalid::TooLarge { limit: told, .. } if told == limit), "{refused}");
    }
    // What patterns take once they are compiled is known for the whole of them only.
    let mut room = Room::default();
    let refused =
        (0..100).find_map(|_| Schema::read(&json!({ "pattern": "\\p{L}{20}" }), "schema", &mut room).err());
    assert!(refused.unwrap().to_string().contains("with the others it takes more than 1048576 bytes"));
    // Schemas that are read together share what there is.
    let mut room = Room::default();
    assert!(Schema::read(&title(limits::SCHEMA_BYTES - 2), "a", &mut room).is_ok());
    assert!(Schema::read(&json!({}), "b", &mut room).is_ok());
    assert_eq!(Schema::read(&json!({}), "c", &mut room).unwrap_err().field_name(), "c");
}

/// SEC-07
#[test]
fn no_more_than_a_hundred_misfits_are_told() {
    let schema = json!({ "items": { "type": "string" } });
    for (items, expected) in [
        (limits::SCHEMA_MISFITS, limits::SCHEMA_MISFITS),
        (limits::SCHEMA_MISFITS + 1, limits::SCHEMA_MISFITS),
    ] {
        assert_eq!(told(schema.clone(), json!(vec![1; items])).len(), expected);
    }
}

#[test]
fn long_names_are_told_by_their_beginning() {
    let name = "x".repeat(100_000);
    let found = told(json!({ "additionalProperties": { "const": 2 } }), json!({ name.clone(): 1 }));
    assert!(found.len() == 1 && found[0].0.len() < 600 && found[0].1.len() < 400);
    let found = told(json!({ "additionalProperties": false }), json!({ name: 1 }));
    assert!(found[0].1.len() < 400);
}
