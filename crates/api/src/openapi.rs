//! The OpenAPI 3.1 document, generated from the table of endpoints.

use crate::{
    Access, Endpoint, Op,
    endpoints::{Body, ENDPOINTS, ERROR, Query, QueryKind},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use utoipa::openapi::{RefOr, Schema};

/// The whole document.
pub fn document(version: &str) -> Value {
    let mut paths: BTreeMap<&str, BTreeMap<String, Value>> = BTreeMap::new();
    let mut schemas: BTreeMap<String, Value> = BTreeMap::new();
    for endpoint in ENDPOINTS {
        paths.entry(endpoint.path).or_default().insert(endpoint.method.to_lowercase(), operation(endpoint));
        for body in [&endpoint.body, &endpoint.success.1, &ERROR].into_iter().flatten() {
            collect(body, &mut schemas);
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Cardwire",
            "version": version,
            "description": "A context kernel for multi-agent LLM systems.",
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "security": [{ "bearer": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
        },
    })
}

fn operation(endpoint: &Endpoint) -> Value {
    let (status, out) = &endpoint.success;
    let mut responses = BTreeMap::from([(status.to_string(), response("Done.", out.as_ref()))]);
    if *status == 201 {
        responses.insert("200".to_owned(), response("It was there already.", out.as_ref()));
    }
    for (status, what) in errors(endpoint) {
        responses.insert(status.to_string(), response(what, ERROR.as_ref()));
    }
    let mut operation = json!({
        "operationId": format!("{:?}", endpoint.op),
        "summary": endpoint.summary,
        "parameters": parameters(endpoint),
        "responses": responses,
    });
    if let Some(body) = &endpoint.body {
        operation["requestBody"] = json!({ "required": true, "content": content(body) });
    }
    if endpoint.access == Access::Open {
        operation["security"] = json!([]);
    }
    operation
}

fn errors(endpoint: &Endpoint) -> Vec<(u16, &'static str)> {
    let mut errors = vec![
        (400, "Malformed; the message names the field."),
        (404, "No such thing here."),
        (405, "The path exists, the method does not."),
        (413, "Over a size limit."),
        (503, "The store cannot be used now."),
        (504, "It took too long."),
    ];
    if endpoint.access != Access::Open {
        errors.push((401, "No token, or one that opens nothing."));
        errors.push((403, "The token may not do this."));
        errors.push((429, "Too many requests by this token."));
    }
    if matches!(endpoint.op, Op::TakeInKnowledge | Op::SearchKnowledge) {
        errors.push((502, "The embedding provider failed."));
    }
    if matches!(
        endpoint.op,
        Op::CreateHandoff
            | Op::LoadHandoff
            | Op::ValidateHandoff
            | Op::ValidateProjectHandoff
            | Op::PackHandoff
            | Op::WriteFiles
    ) {
        errors.push((422, "Files are missing, or the report is not one."));
    }
    if endpoint.method != "GET" {
        errors.push((409, "Not as the caller assumed."));
    }
    errors
}

fn response(description: &str, body: Option<&Body>) -> Value {
    let mut response = json!({
        "description": description,
        "headers": { "traceparent": { "schema": { "type": "string" }, "description": "W3C trace context." } },
    });
    if let Some(body) = body {
        response["content"] = content(body);
    }
    response
}

fn content(body: &Body) -> Value {
    let one = json!({ "$ref": format!("#/components/schemas/{}", (body.name)()) });
    let schema = match (body.list, is_named(body)) {
        (true, _) => json!({ "type": "array", "items": one }),
        (false, true) => one,
        (false, false) => schema_value((body.schema)()),
    };
    body.content_types.iter().map(|content_type| (*content_type, json!({ "schema": schema }))).collect()
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
        let pattern = match name {
            "project_id" | "agent_id" | "session_id" | "profile_name" | "recipe_name" | "team_name"
            | "tool_name" | "tool" => "^[A-Za-z0-9_-]{1,128}$",
            "token_id" => "^tok_[0-9a-f]{32}$",
            "agent_turn_id" => "^turn_[0-9a-f]{32}$",
            _ => "^[0-9a-f]{32}$",
        };
        json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string", "pattern": pattern } })
    });
    let query = endpoint.query.iter().map(|query| {
        let Query { name, kind, summary } = query;
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
        json!({ "name": name, "in": "query", "required": false, "description": summary, "schema": schema })
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
    path.chain(query).chain(key).collect()
}
