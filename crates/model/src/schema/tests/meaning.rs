//! What keywords mean, where it is easily got wrong.

use super::*;

fn check(schema: Value, fitting: &[Value], misfitting: &[Value]) {
    for value in fitting {
        assert!(fits(&schema, value), "{value} fits {schema}");
    }
    for value in misfitting {
        assert!(!fits(&schema, value), "{value} does not fit {schema}");
    }
}

#[test]
fn values_are_compared_by_what_they_are() {
    check(json!({ "const": 1 }), &[json!(1.0)], &[json!(true), json!("1")]);
    check(json!({ "enum": [{ "a": [1, 0.0] }] }), &[json!({ "a": [1.0, 0] })], &[json!({ "a": [0, 1] })]);
    check(
        json!({ "uniqueItems": true }),
        &[json!([1, true, "1", [1], { "a": 1 }, null, 0, false]), json!([[1, 2], [2, 1]])],
        &[json!([1, 1.0]), json!([{ "a": 1, "b": 2 }, { "b": 2.0, "a": 1 }]), json!([[0], [-0.0]])],
    );
    check(json!({ "type": "integer" }), &[json!(1.0), json!(1e30)], &[json!(1.5)]);
    check(json!({ "minLength": 2, "maxLength": 2 }), &[json!("😀é")], &[json!("é"), json!("abc")]);
}

#[test]
fn keywords_are_about_values_of_their_type() {
    let schema = json!({
        "minimum": 5, "pattern": "^a", "required": ["x"], "minItems": 3, "propertyNames": false, "contains": false,
        "unevaluatedProperties": false,
    });
    check(
        schema,
        &[json!(true), json!(5), json!("a"), json!(null)],
        &[json!(1), json!("b"), json!({}), json!([1, 2, 3])],
    );
}

#[test]
fn members_items_and_conditions() {
    check(
        json!({ "properties": { "a": true }, "patternProperties": { "^p": { "type": "null" } }, "additionalProperties": { "type": "string" } }),
        &[json!({ "a": 1, "p1": null, "z": "x" })],
        &[json!({ "p1": "x" }), json!({ "z": null })],
    );
    check(
        json!({ "prefixItems": [{ "const": 1 }], "items": { "const": 2 } }),
        &[json!([]), json!([1, 2, 2])],
        &[json!([2]), json!([1, 1])],
    );
    check(
        json!({ "contains": { "const": 1 }, "minContains": 2, "maxContains": 3 }),
        &[json!([1, 0, 1]), json!([1, 1, 1])],
        &[json!([1]), json!([1, 1, 1, 1])],
    );
    check(json!({ "contains": false, "minContains": 0 }), &[json!([]), json!([1])], &[]);
    check(
        json!({ "if": { "required": ["a"] }, "then": { "required": ["b"] }, "else": { "required": ["c"] } }),
        &[json!({ "a": 1, "b": 1 }), json!({ "c": 1 })],
        &[json!({ "a": 1, "c": 1 }), json!({ "b": 1 })],
    );
    check(
        json!({ "dependentRequired": { "a": ["b"] }, "dependentSchemas": { "c": { "maxProperties": 1 } } }),
        &[json!({ "a": 1, "b": 1 }), json!({ "c": 1 })],
        &[json!({ "a": 1 }), json!({ "c": 1, "d": 1 })],
    );
}

#[test]
fn references_lead_anywhere_in_the_schema() {
    let tree =
        json!({ "type": "object", "properties": { "left": { "$ref": "#" }, "right": { "$ref": "#" } } });
    check(tree, &[json!({ "left": { "right": {} } })], &[json!({ "left": { "right": 1 } })]);
    let named = json!({
        "$id": "https://schemas.example/a",
        "properties": {
            "a": { "$ref": "#/$defs/x~1y%25" }, "b": { "$ref": "#near" },
            "c": { "$ref": "https://schemas.example/a#/elsewhere/0" }, "d": { "$dynamicRef": "#near" },
        },
        "$defs": { "x/y%": { "const": 1 }, "near": { "$anchor": "near", "const": 2 } },
        "elsewhere": [{ "const": 3 }],
    });
    check(
        named,
        &[json!({ "a": 1, "b": 2, "c": 3, "d": 2 })],
        &[json!({ "a": 2 }), json!({ "b": 1 }), json!({ "c": 1 }), json!({ "d": 1 })],
    );
    // What only looks like a reference is none.
    check(
        json!({ "properties": { "$ref": { "const": "x" } }, "const": { "$ref": "x" } }),
        &[json!({ "$ref": "x" })],
        &[],
    );
}

#[test]
fn what_was_evaluated_is_seen_through_whatever_holds() {
    let object = json!({
        "allOf": [{ "properties": { "a": true } }],
        "anyOf": [{ "properties": { "b": { "const": 1 } }, "required": ["b"] }, { "patternProperties": { "^c": true } }],
        "if": { "properties": { "d": { "const": 1 } }, "required": ["d"] },
        "unevaluatedProperties": false,
    });
    check(
        object,
        &[json!({ "a": 1, "b": 1, "c": 1, "d": 1 }), json!({})],
        &[json!({ "b": 2 }), json!({ "d": 2 }), json!({ "e": 1 })],
    );
    check(
        json!({ "prefixItems": [true], "contains": { "const": 7 }, "unevaluatedItems": { "type": "string" } }),
        &[json!([1, 7, "x"]), json!([7])],
        &[json!([7, 7, 1])],
    );
    // Not beside it.
    check(
        json!({ "allOf": [{ "properties": { "a": true } }, { "unevaluatedProperties": false }] }),
        &[json!({})],
        &[json!({ "a": 1 })],
    );
}

#[test]
fn older_drafts_are_read_as_they_were_meant() {
    let draft = |number: &str, more: Value| {
        let mut schema = more;
        schema["$schema"] = json!(format!("http://json-schema.org/draft-{number}/schema#"));
        schema
    };
    check(
        draft("07", json!({ "items": [{ "const": 1 }], "additionalItems": false })),
        &[json!([1])],
        &[json!([2]), json!([1, 1])],
    );
    check(
        draft("07", json!({ "dependencies": { "a": ["b"], "c": { "required": ["d"] } } })),
        &[json!({ "a": 1, "b": 1 })],
        &[json!({ "a": 1 }), json!({ "c": 1 })],
    );
    check(draft("04", json!({ "minimum": 1, "exclusiveMinimum": true })), &[json!(2)], &[json!(1)]);
    check(
        draft("07", json!({ "definitions": { "a": {} }, "$ref": "#/definitions/a", "type": "null" })),
        &[json!(1)],
        &[],
    );
}
