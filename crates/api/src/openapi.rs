//! The OpenAPI 3.1 document, generated from the table of endpoints: programs that make clients from it are users, too.
//!
//! Invariant: what it says is what is served. Tests hold every answer of the server against it, and send every example.

mod codes;
mod examples;
mod names;
mod sample;

use crate::{
    Access, Endpoint, ErrorCode, Op,
    endpoints::{AREAS, Body, ENDPOINTS, ERROR, Query, QueryKind},
};
pub use codes::codes;
pub use examples::request as example;
use names::NAME;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use utoipa::openapi::{RefOr, Schema};

/// How streams are sent.
const EVENT_STREAM: &str = "text/event-stream";

const ABOUT: &str = "\
A context kernel for multi-agent LLM systems.

Send `Authorization: Bearer TOKEN`; `/health`, `/ready` and this document need none. Errors have one body everywhere: \
`error.code` is for programs, `error.message` for people, `error.detail.field` names the place in the request as \
`tasks/0/name`. Lists give `items`, and `next_cursor` while there is more: send it as `cursor`. A POST that takes \
`Idempotency-Key` can be repeated: the same key with the same request gets the first answer. Moments are RFC 3339 in UTC. \
New members of answers, and new error codes, may be added.";

/// The whole document.
pub fn document(version: &str) -> Value {
    let schemas = schemas();
    let mut paths: BTreeMap<&str, BTreeMap<String, Value>> = BTreeMap::new();
    for endpoint in ENDPOINTS {
        let operation = operation(endpoint, &schemas);
        paths.entry(endpoint.path).or_default().insert(endpoint.method.to_lowercase(), operation);
    }
    let tags: Vec<_> =
        AREAS.iter().map(|area| json!({ "name": area.name, "description": area.summary })).collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Cardwire",
            "version": version,
            "description": ABOUT,
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "tags": tags,
        "security": [{ "bearer": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
        },
    })
}

/// One operation, and the schemas that it refers to by their names.
pub fn one(endpoint: &Endpoint) -> (Value, BTreeMap<String, Value>) {
    let schemas = schemas_of(std::slice::from_ref(endpoint));
    (operation(endpoint, &schemas), schemas)
}

/// Every schema by its name.
pub fn schemas() -> BTreeMap<String, Value> {
    schemas_of(ENDPOINTS)
}

fn schemas_of(endpoints: &[Endpoint]) -> BTreeMap<String, Value> {
    let mut schemas = BTreeMap::new();
    for endpoint in endpoints {
        for body in [&endpoint.body, &endpoint.success.1, &ERROR].into_iter().flatten() {
            collect(body, &mut schemas);
        }
    }
    schemas.values_mut().for_each(names::describe);
    schemas
}

/// How the operation is called by programs: a verb and what it is done to.
pub fn operation_id(op: Op) -> String {
    const OTHERS: [(Op, &str); 13] = [
        (Op::Health, "GetHealth"),
        (Op::Ready, "GetReadiness"),
        (Op::Metrics, "GetMetrics"),
        (Op::OpenApi, "GetOpenapi"),
        (Op::Verify, "VerifyStore"),
        (Op::Tick, "TickWatchdog"),
        (Op::BeatTurn, "HeartbeatTurn"),
        (Op::TakeStep, "WriteStep"),
        (Op::ReportTool, "ReportToolResult"),
        (Op::TakeInKnowledge, "PutKnowledge"),
        (Op::DropKnowledge, "DeleteKnowledge"),
        (Op::NoteExperience, "AddExperience"),
        (Op::GetProvenance, "GetBoxProvenance"),
    ];
    let other = OTHERS.iter().find(|(other, _)| *other == op);
    let name = other.map_or_else(|| format!("{op:?}"), |(_, name)| (*name).to_owned());
    let mut letters = name.chars();
    letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect()
}

fn operation(endpoint: &Endpoint, schemas: &BTreeMap<String, Value>) -> Value {
    let mut operation = json!({
        "operationId": operation_id(endpoint.op),
        "tags": [endpoint.area()],
        "summary": endpoint.summary,
        "parameters": parameters(endpoint),
        "responses": responses(endpoint, schemas),
    });
    if let Some(body) = &endpoint.body {
        let example = examples::request(endpoint.op);
        // An empty body counts as `{}`.
        let required = schemas.get(&(body.name)()).is_some_and(|schema| schema.get("required").is_some());
        operation["requestBody"] =
            json!({ "required": required, "content": content(body, example.as_ref()) });
    }
    match endpoint.access {
        // A token may be sent; to say that it may would make generated clients demand one.
        Access::Open | Access::Guest(_) => operation["security"] = json!([]),
        Access::Any(_) | Access::Global(_) | Access::Project(_) | Access::Turn(_) => {}
    }
    operation
}

fn responses(endpoint: &Endpoint, schemas: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let (status, out) = &endpoint.success;
    let example = out.as_ref().and_then(|body| sample::answer(body, schemas));
    let done = |what: &str| response(what, out.as_ref(), example.as_ref(), &[]);
    let mut responses = BTreeMap::from([(status.to_string(), done("Done."))]);
    if *status == 201 {
        responses.insert("200".to_owned(), done("It was there already, or was only tried."));
    }
    let mut by_status: BTreeMap<u16, Vec<ErrorCode>> = BTreeMap::new();
    for code in codes(endpoint) {
        by_status.entry(code.status()).or_default().push(code);
    }
    for (status, codes) in by_status {
        responses.insert(status.to_string(), refusal(status, &codes));
    }
    responses
}

/// An error, with all its codes.
fn refusal(status: u16, codes: &[ErrorCode]) -> Value {
    let line = |code: &ErrorCode| format!("`{}`: {}", code.as_str(), code.meaning());
    let lines: Vec<_> = codes.iter().map(line).collect();
    let example =
        codes.first().map(|code| json!({ "error": { "code": code.as_str(), "message": code.meaning() } }));
    let headers: &[_] = match status {
        401 => &["WWW-Authenticate"],
        405 => &["Allow"],
        429 | 503 => &["Retry-After"],
        _ => &[],
    };
    let mut response = response(&lines.join("\n\n"), ERROR.as_ref(), example.as_ref(), headers);
    response["x-error-codes"] = codes.iter().map(|code| code.as_str()).collect();
    response
}

fn response(what: &str, body: Option<&Body>, example: Option<&Value>, headers: &[&str]) -> Value {
    let text = |name: &&str| ((*name).to_owned(), json!({ "schema": { "type": "string" } }));
    let headers: Map<String, Value> = ["traceparent"].iter().chain(headers).map(text).collect();
    let mut response = json!({ "description": what, "headers": headers });
    if let Some(body) = body {
        response["content"] = content(body, example);
    }
    response
}

fn content(body: &Body, example: Option<&Value>) -> Value {
    let one = json!({ "$ref": reference(&(body.name)()) });
    let schema = match (body.list, is_named(body)) {
        (true, _) => json!({ "type": "array", "items": one.clone() }),
        (false, true) => one.clone(),
        (false, false) => schema_value((body.schema)()),
    };
    let media = |content_type: &&'static str| {
        // A stream is text to programs that know nothing of streams; the `data:` of its events is JSON.
        let mut media = match *content_type {
            EVENT_STREAM => json!({ "schema": { "type": "string" }, "x-event-data": one.clone() }),
            _ => json!({ "schema": schema.clone() }),
        };
        if let Some(example) = example {
            media["example"] = match *content_type {
                EVENT_STREAM => json!(format!("data: {example}\n\n")),
                _ => example.clone(),
            };
        }
        ((*content_type).to_owned(), media)
    };
    body.content_types.iter().map(media).collect::<Map<_, _>>().into()
}

fn reference(name: &str) -> String {
    format!("#/components/schemas/{name}")
}

/// Types of the standard library have a schema but no entry of their own.
fn is_named(body: &Body) -> bool {
    !matches!((body.name)().as_str(), "String" | "Value")
}

fn collect(body: &Body, schemas: &mut BTreeMap<String, Value>) {
    if !is_named(body) {
        return;
    }
    schemas.insert((body.name)(), schema_value((body.schema)()));
    let mut referred = vec![];
    (body.collect)(&mut referred);
    schemas.extend(referred.into_iter().map(|(name, schema)| (name, schema_value(schema))));
}

fn schema_value(schema: RefOr<Schema>) -> Value {
    serde_json::to_value(schema).unwrap_or_default()
}

fn parameters(endpoint: &Endpoint) -> Vec<Value> {
    let path = endpoint.parameters().map(|name| {
        let (pattern, example) = names::id(name).unwrap_or((NAME, "name"));
        json!({
            "name": name,
            "in": "path",
            "required": true,
            "schema": { "type": "string", "pattern": pattern },
            "example": example,
        })
    });
    let query = endpoint.query.iter().map(|query| {
        let Query { name, kind, summary, required } = query;
        let summary = match query.spelling() {
            Some(spelling) => format!("{summary} `{spelling}` is taken for it, too."),
            None => (*summary).to_owned(),
        };
        let schema = match kind {
            QueryKind::Integer => json!({ "type": "integer", "format": "int64" }),
            QueryKind::Boolean => json!({ "type": "boolean" }),
            QueryKind::Text => json!({ "type": "string" }),
            QueryKind::Time => json!({ "type": "string", "format": "date-time" }),
        };
        json!({ "name": name, "in": "query", "required": required, "description": summary, "schema": schema })
    });
    let key = endpoint.repeatable.then(|| {
        json!({
            "name": "Idempotency-Key",
            "in": "header",
            "required": false,
            "description": "The same key with the same request gets the first answer.",
            "schema": { "type": "string", "pattern": "^[!-~]{1,255}$" },
        })
    });
    // What a client that goes on after a broken connection sends.
    let last = (endpoint.op == Op::ReadEvents).then(|| {
        json!({
            "name": "Last-Event-ID",
            "in": "header",
            "required": false,
            "description": "Start after this position. It goes before `after`.",
            "schema": { "type": "string", "pattern": "^[0-9]{1,18}$" },
        })
    });
    path.chain(query).chain(key).chain(last).collect()
}

#[cfg(test)]
mod tests;
