//! What clients that are made from the document rely on (F-14).

use super::*;
use cardwire_model::schema::{Room, Schema as Checker, Steps};
use std::collections::{HashMap, HashSet};

/// Holds values against schemas of the document.
struct Checks {
    schemas: BTreeMap<String, Value>,
    made: HashMap<String, Checker>,
}

impl Checks {
    fn new() -> Self {
        Self { schemas: schemas(), made: HashMap::new() }
    }

    /// Why a value does not fit.
    fn misfits(&mut self, schema: &Value, value: &Value) -> Vec<String> {
        let checker = self.made.entry(schema.to_string()).or_insert_with(|| {
            let mut used = Map::new();
            let mut whole = gather(schema, &self.schemas, &mut used);
            whole["$defs"] = json!(used);
            Checker::read(&whole, "schema", &mut Room::default()).unwrap()
        });
        let found = checker.misfits(value, &mut Steps::default()).unwrap();
        found.iter().map(|misfit| format!("{}: {}", misfit.place, misfit.message)).collect()
    }
}

fn gather(schema: &Value, all: &BTreeMap<String, Value>, used: &mut Map<String, Value>) -> Value {
    let text = schema.to_string();
    for (name, referred) in all {
        if text.contains(&format!("\"{}\"", reference(name))) && !used.contains_key(name) {
            used.insert(name.clone(), Value::Null);
            let referred = gather(referred, all, used);
            used.insert(name.clone(), referred);
        }
    }
    serde_json::from_str(&text.replace("#/components/schemas/", "#/$defs/")).unwrap()
}

fn operations(document: &Value) -> Vec<(String, Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    let of = |(path, methods): (&String, &Value)| {
        let methods = methods.as_object().unwrap().iter();
        let named = methods.map(|(method, operation)| (format!("{method} {path}"), operation.clone()));
        named.collect::<Vec<_>>()
    };
    paths.flat_map(of).collect()
}

#[test]
fn every_operation_has_a_name_of_its_own_a_tag_and_a_summary() {
    let document = document("test");
    let tags: Vec<_> = document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].clone()).collect();
    let mut names = HashSet::new();
    for (route, operation) in operations(&document) {
        let name = operation["operationId"].as_str().unwrap();
        assert!(name.starts_with(|c: char| c.is_ascii_lowercase()), "{name}");
        assert!(names.insert(name.to_owned()), "{name} twice");
        assert!(tags.contains(&operation["tags"][0]), "{route}");
        assert!(operation["summary"].as_str().is_some_and(|summary| summary.ends_with('.')), "{route}");
    }
    assert_eq!(names.len(), ENDPOINTS.len());
}

#[test]
fn every_body_has_an_example_that_fits_its_schema() {
    let mut checks = Checks::new();
    for (route, operation) in operations(&document("test")) {
        let mut contents = vec![];
        if let Some(body) = operation.get("requestBody") {
            contents.push(("request".to_owned(), body["content"].clone()));
        }
        for (status, response) in operation["responses"].as_object().unwrap() {
            contents.extend(response.get("content").map(|content| (status.clone(), content.clone())));
        }
        for (what, content) in contents {
            for (content_type, media) in content.as_object().unwrap() {
                let example = media.get("example").unwrap_or_else(|| panic!("{route} {what}: no example"));
                let wrong = checks.misfits(&media["schema"], example);
                assert!(wrong.is_empty(), "{route} {what} {content_type}: {wrong:?} in {example}");
            }
        }
    }
}

#[test]
fn every_error_is_listed_with_its_status_and_the_shared_body() {
    let document = document("test");
    let listed = document["components"]["schemas"]["ErrorCode"]["enum"].as_array().unwrap();
    let all: Vec<_> = ErrorCode::ALL.iter().map(|code| json!(code.as_str())).collect();
    assert_eq!(listed, &all);
    let mut seen = HashSet::new();
    for (route, operation) in operations(&document) {
        for (status, response) in operation["responses"].as_object().unwrap() {
            let Some(codes) = response["x-error-codes"].as_array() else { continue };
            let body = &response["content"]["application/json"]["schema"]["$ref"];
            assert_eq!(body, "#/components/schemas/ErrorBody", "{route}");
            for code in codes {
                let known = ErrorCode::ALL.iter().find(|known| *code == known.as_str()).unwrap();
                assert_eq!(known.status().to_string(), *status);
                assert!(response["description"].as_str().unwrap().contains(known.meaning()), "{route}");
                seen.insert(*known);
            }
        }
    }
    let never: Vec<_> = ErrorCode::ALL.iter().filter(|code| !seen.contains(code)).collect();
    assert!(never.is_empty(), "no operation answers with {never:?}");
}

#[test]
fn what_must_be_there_is_marked() {
    let schemas = schemas();
    let required = |name: &str| schemas[name]["required"].clone();
    assert_eq!(required("DispatchIn"), json!(["agent_id", "context_box_id"]));
    assert_eq!(required("CardIn"), json!(["content", "metadata"]));
    let always = required("TurnOut");
    for name in ["agent_turn_id", "turn_epoch", "deliverable_card_id", "ended_at"] {
        assert!(always.as_array().unwrap().contains(&json!(name)), "{name} may be null and is always there");
    }
    assert!(
        !required("CardOut").as_array().unwrap().contains(&json!("expires_at")),
        "absent when there is none"
    );
    let document = document("test");
    let operation = |path: &str, method: &str| document["paths"][path][method].clone();
    assert_eq!(operation("/projects/{project_id}/l0/turns", "post")["requestBody"]["required"], true);
    let fork = operation("/projects/{project_id}/l0/boxes/{box_id}:fork", "post");
    assert_eq!(fork["requestBody"]["required"], false, "an empty body is one with nothing in it");
    let diff = operation("/projects/{project_id}/context:diff", "get");
    assert!(diff["parameters"].as_array().unwrap().iter().all(|parameter| parameter["required"] == true));
}

#[test]
fn streams_are_text_and_say_what_is_in_them() {
    let document = document("test");
    let events = &document["paths"]["/projects/{project_id}/events"]["get"]["responses"]["200"];
    let media = &events["content"][EVENT_STREAM];
    assert_eq!(media["schema"], json!({ "type": "string" }));
    assert_eq!(media["x-event-data"]["$ref"], "#/components/schemas/EventOut");
    assert!(document["components"]["schemas"]["EventOut"].is_object());
}

#[test]
fn no_schema_refers_to_one_that_is_missing() {
    let schemas = schemas();
    let text = document("test").to_string();
    let referred = text.split("\"#/components/schemas/").skip(1).filter_map(|rest| rest.split('"').next());
    let missing: HashSet<_> = referred.filter(|name| !schemas.contains_key(*name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
