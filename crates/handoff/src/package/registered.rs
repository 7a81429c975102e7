//! Packages of registered types: what the schema asks for, and paths where the type says they are.

use super::{PathField, safe_path};
use crate::{fields::Fields, problem::Findings, types::Registered};
use cardwire_model::schema::Steps;
use serde_json::Value;

pub(super) fn read(
    registered: &Registered,
    value: &Value,
    steps: &mut Steps,
    fields: &Fields<'_>,
    findings: &mut Findings,
) -> Option<Vec<PathField>> {
    registered.check(value, steps, fields, findings);
    let mut paths = Vec::new();
    for pointer in &registered.path_fields {
        // Whether the field must be there is for the schema to say.
        let Some(value) = value.pointer(pointer) else { continue };
        let field = pointer.trim_start_matches('/');
        match value {
            Value::String(_) => one(value, field.to_owned(), fields, findings, &mut paths),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    one(item, format!("{field}/{index}"), fields, findings, &mut paths);
                }
            }
            Value::Object(members) => {
                for (key, member) in members {
                    one(member, format!("{field}/{key}"), fields, findings, &mut paths);
                }
            }
            Value::Null => {}
            Value::Bool(_) | Value::Number(_) => fields.error(findings, field, "must be a path, or several"),
        }
    }
    Some(paths)
}

fn one(
    value: &Value,
    field: String,
    fields: &Fields<'_>,
    findings: &mut Findings,
    paths: &mut Vec<PathField>,
) {
    match value.as_str() {
        Some(text) => paths.extend(safe_path(text, &field, findings).map(|path| PathField { field, path })),
        None => fields.error(findings, &field, "must be a path"),
    }
}
