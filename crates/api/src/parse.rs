//! From request text to typed values, with the field named in every refusal (API-06, SEC-08).

use cardwire_kernel::composer::compose::ComposeError;
use cardwire_model::{CanonicalJson, Invalid, limits};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, value::RawValue};
use std::{collections::BTreeMap, str::FromStr, time::Duration};

/// Reads a JSON body. An empty body counts as `{}`, so that a body whose fields are all optional may be left out.
pub fn body<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Invalid> {
    let text = std::str::from_utf8(bytes).map_err(|_| Invalid::field("body", "must be UTF-8"))?;
    let text = if text.trim().is_empty() { "{}" } else { text };
    // A list would pass for an object whose fields are all optional.
    if text.trim_start().starts_with('[') {
        return Err(Invalid::field("body", "must be an object"));
    }
    // To know at every moment where one is takes longer than to read; only what is wrong is read so.
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(value);
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let path = if path == "." { String::new() } else { path.replace('.', "/") };
        let reason = reason(error.inner());
        match reason.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
            Some(name) if path.is_empty() => Invalid::field(name, "is required"),
            Some(name) => Invalid::field(format!("{path}/{name}"), "is required"),
            None if path.is_empty() => Invalid::field("body", reason),
            None => Invalid::field(path, reason),
        }
    })?;
    reader.end().map_err(|error| Invalid::field("body", reason(&error)))?;
    Ok(value)
}

/// serde_json's words without the position, which says little about a body that no person typed.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

/// Reads ids or names, naming the list and the index of a bad one.
pub fn list<T: FromStr<Err = Invalid>>(field: &str, texts: &[String]) -> Result<Vec<T>, Invalid> {
    let parse = |(index, text): (usize, &String)| {
        text.parse().map_err(|invalid| at(invalid, &format!("{field}/{index}")))
    };
    texts.iter().enumerate().map(parse).collect()
}

/// Reads one id or name found in `field`.
pub fn one<T: FromStr<Err = Invalid>>(field: &str, text: &str) -> Result<T, Invalid> {
    text.parse().map_err(|invalid| at(invalid, field))
}

/// Reads one id or name that may be left out.
pub fn given<T: FromStr<Err = Invalid>>(field: &str, text: Option<&str>) -> Result<Option<T>, Invalid> {
    text.map(|text| one(field, text)).transpose()
}

/// Reads one of some words.
pub fn word<T>(
    field: &str,
    text: &str,
    read: impl FnOnce(&str) -> Option<T>,
    words: impl IntoIterator<Item = &'static str>,
) -> Result<T, Invalid> {
    read(text).ok_or_else(|| {
        let words: Vec<_> = words.into_iter().collect();
        Invalid::field(field, format!("must be one of {}", words.join(", ")))
    })
}

/// A member that may be left out and may be null, which are not the same; to be used with `default`.
pub fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Box<RawValue>>, D::Error> {
    serde::Deserialize::deserialize(from).map(Some)
}

/// A whole number that is clamped anyhow: one too large for its type is the largest there is, as in a query. To be used with
/// `default`.
pub fn clamped<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    let number: Option<serde_json::Number> = serde::Deserialize::deserialize(from)?;
    let whole = |number: serde_json::Number| {
        let large = number.as_f64().filter(|real| real.abs() >= i64::MAX as f64);
        match (number.as_i64(), large) {
            (Some(whole), _) => Ok(whole),
            (None, Some(large)) => Ok(if large < 0.0 { i64::MIN } else { i64::MAX }),
            (None, None) => {
                Err(serde::de::Error::custom(format!("invalid type: {number}, expected a whole number")))
            }
        }
    };
    number.map(whole).transpose()
}

/// How long to wait, in milliseconds; not longer than a claim may.
pub fn wait(milliseconds: Option<i64>) -> Duration {
    let most = limits::CLAIM_WAIT_MS as i64;
    Duration::from_millis(milliseconds.map_or(0, |wait| wait.clamp(0, most)).unsigned_abs())
}

/// Canonical JSON of a raw member.
pub fn canonical(field: &str, raw: &RawValue) -> Result<CanonicalJson, Invalid> {
    CanonicalJson::parse(raw.get(), field)
}

/// Refuses a text that no card can hold.
pub fn plain(field: &str, text: Option<&str>) -> Result<(), Invalid> {
    match text {
        Some(text) if text.contains('\0') => Err(Invalid::field(field, "must not contain NUL")),
        Some(_) | None => Ok(()),
    }
}

/// An object of canonical values.
pub fn object(field: &str, raw: &RawValue) -> Result<Map<String, Value>, Invalid> {
    match canonical(field, raw)?.to_value() {
        Value::Object(members) => Ok(members),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(Invalid::field(field, "must be an object"))
        }
    }
}

/// A list of canonical values.
pub fn values(field: &str, raw: &RawValue) -> Result<Vec<Value>, Invalid> {
    match canonical(field, raw)?.to_value() {
        Value::Array(items) => Ok(items),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            Err(Invalid::field(field, "must be a list"))
        }
    }
}

/// Blocks by key: an object of strings (CM-04).
pub fn contexts(raw: Option<&RawValue>) -> Result<BTreeMap<String, String>, Invalid> {
    let Some(raw) = raw else { return Ok(BTreeMap::new()) };
    let text = |(key, value): (String, Value)| match value {
        Value::String(text) => Ok((key, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(ComposeError::BlockNotText { key }.into())
        }
    };
    object("contexts", raw)?.into_iter().map(text).collect()
}

/// The same refusal, of a field inside another.
pub fn within(prefix: &str, invalid: Invalid) -> Invalid {
    let field = format!("{prefix}/{}", invalid.field_name());
    at(invalid, &field)
}

/// The same refusal, of another field.
pub fn at(invalid: Invalid, field: &str) -> Invalid {
    match invalid {
        Invalid::Field { reason, .. } => Invalid::field(field, reason),
        Invalid::Coded { code, reason, .. } => Invalid::coded(code, field, reason),
        Invalid::TooLarge { limit, actual, unit, .. } => {
            Invalid::TooLarge { field: field.to_owned(), limit, actual, unit }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        boxes::{AppendIn, BoxBatchIn},
        claim::ClaimIn,
    };

    /// API-06
    #[test]
    fn a_refusal_names_the_field() {
        let error = |text: &str| body::<AppendIn>(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            error(r#"{"card_ids":["a",1]}"#),
            "card_ids[1]: invalid type: integer `1`, expected a string"
        );
        assert!(
            error(r#"{"card_ids":[],"x":1}"#).starts_with("x: unknown field `x`"),
            "{}",
            error(r#"{"card_ids":[],"x":1}"#)
        );
        assert!(error(r#"{"card_ids":[],"card_ids":[]}"#).contains("duplicate field"));
        assert_eq!(error("{}"), "card_ids: is required");
        assert!(error("[").starts_with("body: "));
        assert!(error(r#"{"card_ids":[]} x"#).starts_with("body: trailing characters"));
    }

    /// API-02
    #[test]
    fn what_is_clamped_may_be_any_whole_number() {
        let limit = |text: &str| {
            body::<BoxBatchIn>(format!(r#"{{"box_ids":[],"limit":{text}}}"#).as_bytes())
                .map(|body| body.limit)
        };
        assert_eq!(limit("7"), Ok(Some(7)));
        assert_eq!(limit("-7"), Ok(Some(-7)));
        assert_eq!(limit("null"), Ok(None));
        assert_eq!(limit("99999999999999999999"), Ok(Some(i64::MAX)));
        assert_eq!(limit("-99999999999999999999"), Ok(Some(i64::MIN)));
        assert_eq!(limit(&u64::MAX.to_string()), Ok(Some(i64::MAX)));
        for bad in ["1.5", "2.0", "\"7\"", "true", "[]"] {
            assert_eq!(limit(bad).unwrap_err().field_name(), "limit", "{bad}");
        }
    }

    #[test]
    fn a_wait_has_bounds() {
        let text = r#"{"worker_target":"w","worker_id":"x","wait_ms":99999999999999999999}"#;
        let claim: ClaimIn = body(text.as_bytes()).unwrap();
        assert_eq!(wait(claim.wait_ms), Duration::from_millis(limits::CLAIM_WAIT_MS));
        assert_eq!((wait(Some(-1)), wait(None)), (Duration::ZERO, Duration::ZERO));
        assert_eq!(wait(Some(5)), Duration::from_millis(5));
    }
}
