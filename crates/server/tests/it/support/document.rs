//! Holds every answer that a test gets against the OpenAPI document (F-14): its status, its content type, its schema, and
//! whether its error is one that the operation is said to answer with.

use cardwire_api::{ENDPOINTS, Endpoint, Op, openapi};
use cardwire_model::schema::{Room, Schema, Steps};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, LazyLock, Mutex},
};

/// What the document says of an answer: its operation and its status.
static ANSWERS: LazyLock<Mutex<Answers>> = LazyLock::new(Mutex::default);

type Answers = HashMap<(Op, u16), Option<Arc<Described>>>;

/// Longer answers look like shorter ones.
const LONGEST: usize = 64 * 1024;

/// An answer as the document has it.
struct Described {
    /// Schemas by content type.
    contents: Vec<(String, Schema)>,
    /// Codes, of an error.
    codes: Option<Value>,
}

/// What is wrong with an answer; nothing, or a sentence.
pub(crate) fn fault(
    method: &str,
    path: &str,
    status: u16,
    content_type: Option<&str>,
    body: &[u8],
) -> Option<String> {
    let endpoint = endpoint(method, path.split('?').next().unwrap_or(path))?;
    let told = |what: &str| Some(format!("{method} {path} answered {status}: {what}"));
    let Some(described) = described(endpoint, status) else {
        return told("the document has no such status");
    };
    if body.is_empty() {
        return None;
    }
    let essence = content_type.and_then(|text| text.split(';').next()).unwrap_or("no content type");
    let Some((_, schema)) = described.contents.iter().find(|(described, _)| described == essence) else {
        return told(&format!("the document has no {essence}"));
    };
    if essence != "application/json" || body.len() > LONGEST {
        return None;
    }
    let Ok(value) = serde_json::from_slice::<Value>(body) else { return told("no JSON") };
    if let Ok(misfits) = schema.misfits(&value, &mut Steps::default())
        && let Some(misfit) = misfits.first()
    {
        return told(&format!("{}: {} in {value}", misfit.place, misfit.message));
    }
    let code = &value["error"]["code"];
    let is_listed =
        described.codes.as_ref().and_then(Value::as_array).is_none_or(|codes| codes.contains(code));
    if is_listed { None } else { told(&format!("{code} is not listed for {:?}", endpoint.op)) }
}

fn described(endpoint: &Endpoint, status: u16) -> Option<Arc<Described>> {
    let mut described = ANSWERS.lock().unwrap();
    described.entry((endpoint.op, status)).or_insert_with(|| read(endpoint, status).map(Arc::new)).clone()
}

fn read(endpoint: &Endpoint, status: u16) -> Option<Described> {
    let (operation, schemas) = openapi::one(endpoint);
    let response = operation["responses"].get(status.to_string())?;
    let contents = response["content"].as_object().into_iter().flatten();
    let contents = contents.map(|(content_type, media)| {
        let mut used = Map::new();
        let mut whole = gather(&media["schema"], &schemas, &mut used);
        whole["$defs"] = json!(used);
        (content_type.clone(), Schema::read(&whole, "schema", &mut Room::default()).unwrap())
    });
    Some(Described { contents: contents.collect(), codes: response.get("x-error-codes").cloned() })
}

/// The endpoint that a path leads to, if one does: the one with the fewest parameters.
fn endpoint(method: &str, path: &str) -> Option<&'static Endpoint> {
    let leads = |endpoint: &&Endpoint| endpoint.method == method && leads_to(endpoint.path, path);
    ENDPOINTS.iter().filter(leads).min_by_key(|endpoint| endpoint.parameters().count())
}

fn leads_to(pattern: &str, path: &str) -> bool {
    let (mut patterns, mut parts) = (pattern.split('/'), path.split('/'));
    loop {
        match (patterns.next(), parts.next()) {
            (None, None) => return true,
            (Some(pattern), Some(part)) if fits(pattern, part) => {}
            _ => return false,
        }
    }
}

/// `{box_id}`, `{box_id}:fork`, or a word.
fn fits(pattern: &str, part: &str) -> bool {
    match pattern.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
        Some((_, "")) => !part.contains(':'),
        Some((_, verb)) => part.ends_with(verb),
        None => pattern == part,
    }
}

/// The schema with references to `$defs`, which are gathered.
fn gather(schema: &Value, all: &BTreeMap<String, Value>, used: &mut Map<String, Value>) -> Value {
    let text = schema.to_string();
    for (name, referred) in all {
        if text.contains(&format!("\"#/components/schemas/{name}\"")) && !used.contains_key(name) {
            used.insert(name.clone(), Value::Null);
            let referred = gather(referred, all, used);
            used.insert(name.clone(), referred);
        }
    }
    serde_json::from_str(&text.replace("#/components/schemas/", "#/$defs/")).unwrap()
}

#[test]
fn an_answer_that_the_document_does_not_describe_is_a_fault() {
    let json = Some("application/json");
    let fault = |path: &str, status, content_type, body: Value| {
        fault("GET", path, status, content_type, body.to_string().as_bytes())
    };
    let error = |code: &str| json!({ "error": { "code": code, "message": "x" } });
    assert_eq!(fault("/health", 200, json, json!({ "status": "ok" })), None);
    assert_eq!(fault("/projects/p/cards/x", 404, json, error("not_found")), None);
    for (path, status, content_type, body, expected) in [
        ("/health", 204, json, json!({ "status": "ok" }), "no such status"),
        ("/health", 200, Some("text/html"), json!({ "status": "ok" }), "no text/html"),
        ("/health", 200, None, json!({ "status": "ok" }), "no content type"),
        ("/health", 200, json, json!({}), "status"),
        ("/projects/p/cards/x", 404, json, error("unheard_of"), "unheard_of"),
        ("/projects/p/cards/x", 404, json, error("unknown_output_box"), "not listed"),
    ] {
        let told = fault(path, status, content_type, body).expect(expected);
        assert!(told.contains(expected), "{told}");
    }
}
