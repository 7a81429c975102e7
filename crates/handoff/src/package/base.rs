//! What every package has (HO-01).

use super::fields;
use crate::{
    Refusal, RefusalKind, Types, iso8601,
    problem::{Findings, Place, code},
    types::Known,
};
use serde_json::{Map, Value};

const VERSION: &str = "2.0";

/// Another major version means other fields, so that nothing else can be judged.
pub(super) fn version(map: &mut Map<String, Value>, findings: &mut Findings) -> Result<(), Refusal> {
    match map.entry("version").or_insert_with(|| VERSION.into()) {
        Value::String(version) if is_supported(version) => Ok(()),
        Value::String(_) => {
            let message = "this version is not supported; 2.0 and what follows it up to 3.0 are";
            Err(Refusal::new(RefusalKind::Invalid, code::UNSUPPORTED_VERSION, Some("version"), message))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            findings.error(code::INVALID_PACKAGE, Place::field("version"), "must be a string");
            Ok(())
        }
    }
}

fn is_supported(version: &str) -> bool {
    let mut numbers = version.split('.');
    let is_number = |number: &str| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    numbers.next() == Some("2") && numbers.all(is_number)
}

pub(super) fn metadata(map: &mut Map<String, Value>, findings: &mut Findings) {
    let metadata = map.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if !metadata.is_object() {
        findings.error(code::INVALID_PACKAGE, Place::field("metadata"), "must be an object");
    }
}

pub(super) fn timestamp(map: &Map<String, Value>, findings: &mut Findings) {
    let fields = fields(map);
    let Some(timestamp) = fields.string(findings, "timestamp") else { return };
    if !iso8601::is_moment(timestamp) {
        fields.error(findings, "timestamp", "must be ISO 8601, e.g. 2026-01-04T10:30:00");
    }
}

/// The type of the package, filled in when it is fixed already.
pub(super) fn handoff_type<'a>(
    map: &mut Map<String, Value>,
    typed: Option<&str>,
    types: &'a Types,
    findings: &mut Findings,
) -> Option<Known<'a>> {
    let mut error =
        |message: String| findings.error(code::INVALID_PACKAGE, Place::field("handoff_type"), message);
    let name = match (map.get("handoff_type"), typed) {
        (None, None) => {
            error(format!("is missing; it is one of {}", types.names()));
            return None;
        }
        (None, Some(typed)) => typed.to_owned(),
        (Some(Value::String(name)), Some(typed)) if name != typed => {
            error(format!("must be {typed} here"));
            return None;
        }
        (Some(Value::String(name)), _) => name.clone(),
        (Some(_), _) => {
            error("must be a string".to_owned());
            return None;
        }
    };
    let known = types.find(&name);
    if known.is_none() {
        error(format!("must be one of {}", types.names()));
    }
    map.insert("handoff_type".to_owned(), Value::String(name));
    known
}
