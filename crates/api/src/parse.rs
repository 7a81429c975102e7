//! From request text to typed values, with the field named in every refusal (API-06, SEC-08).

use cardwire_kernel::composer::compose::ComposeError;
use cardwire_model::{CanonicalJson, Invalid, json, limits};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, value::RawValue};
use std::{collections::BTreeMap, str::FromStr, time::Duration};

/// Reads a JSON body. An empty body counts as `{}`, so that a body whose fields are all optional may be left out.
pub fn body<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Invalid> {
    let text = std::str::from_utf8(bytes).map_err(|_| Invalid::field("body", "must be UTF-8"))?;
    let text = if text.trim().is_empty() { "{}" } else { text };
    // Some bodies are kept as they are; they are objects, too.
    if text.trim_start().starts_with('[') {
        return Err(Invalid::field("body", "must be an object"));
    }
    json::read(text, "body")
}

/// Reads ids or names, naming the list and the index of a bad one.
pub fn list<T: FromStr<Err = Invalid>>(field: &str, texts: &[String]) -> Result<Vec<T>, Invalid> {
    let parse = |(index, text): (usize, &String)| {
        text.parse().map_err(|invalid: Invalid| invalid.at(format!("{field}/{index}")))
    };
    texts.iter().enumerate().map(parse).collect()
}

/// Reads one id or name found in `field`.
pub fn one<T: FromStr<Err = Invalid>>(field: &str, text: &str) -> Result<T, Invalid> {
    text.parse().map_err(|invalid: Invalid| invalid.at(field))
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
    match invalid.field_name() {
        json::BODY => invalid.at(prefix),
        field => {
            let field = format!("{prefix}/{field}");
            invalid.at(field)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        boxes::{AppendIn, BoxBatchIn},
        claim::ClaimIn,
        projects::ProjectIn,
        sessions::PatchIn,
    };
    use cardwire_model::ProjectSettings;
    use serde_json::json;

    /// API-06
    #[test]
    fn a_refusal_names_the_field() {
        let error = |text: &str| body::<AppendIn>(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            error(r#"{"card_ids":["a",1]}"#),
            "card_ids/1: invalid type: integer `1`, expected a string"
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

    /// API-06
    #[test]
    fn a_list_does_not_pass_for_an_object() {
        let refused = |text: &str| body::<PatchIn>(text.as_bytes()).unwrap_err().field_name().to_owned();
        assert_eq!(refused(r#"{"messages":[]}"#), "messages");
        assert_eq!(refused(r#"{"messages":{"append":[["m1","human","hi"]]}}"#), "messages/append/0");
        assert_eq!(refused(r#"{"finish_agent":["a","completed"]}"#), "finish_agent");
        assert_eq!(refused(r#"{"messages":{"append":[{"role":7}]}}"#), "messages/append/0/role");
        let fine = r#"{"messages":{"append":[{"role":"human","content":{"raw": 1}}]},"todo":null}"#;
        assert!(body::<PatchIn>(fine.as_bytes()).is_ok());
    }

    /// API-06: every object in a project's settings, found in the settings themselves.
    #[test]
    fn no_object_of_the_settings_is_taken_as_a_list() {
        let full = json!({
            "acl": { "inherit": "audit" },
            "max_recursion_depth": 3,
            "pmo": { "max_tree_turns": 5 },
            "delegation": { "require_policy": true },
            "context": {
                "reproducible_contexts": ["todo__context"],
                "knowledge": { "top_k": 1 },
                "experience": { "shown": 1 },
            },
        });
        let kept: ProjectSettings = serde_json::from_value(full.clone()).unwrap();
        assert_eq!(kept.to_json().to_value(), full, "each is of the settings");
        for pointer in
            ["", "/acl", "/pmo", "/delegation", "/context", "/context/knowledge", "/context/experience"]
        {
            for list in [json!([]), json!([{}]), json!(["audit"])] {
                let mut settings = full.clone();
                *settings.pointer_mut(pointer).unwrap() = list;
                let text = json!({ "project_id": "p", "settings": settings }).to_string();
                let refused = body::<ProjectIn>(text.as_bytes()).unwrap_err();
                assert_eq!(refused.field_name(), format!("settings{pointer}"), "{text}");
            }
        }
    }
}
