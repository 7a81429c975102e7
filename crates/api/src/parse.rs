//! From request text to typed values, with the field named in every refusal (API-06, SEC-08).

use cardwire_model::{CanonicalJson, Invalid};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::str::FromStr;

/// Reads a JSON body. An empty body counts as `{}`, so that a body whose fields are all optional may be left out.
pub fn body<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Invalid> {
    let text = std::str::from_utf8(bytes).map_err(|_| Invalid::field("body", "must be UTF-8"))?;
    let text = if text.trim().is_empty() { "{}" } else { text };
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let field = if path == "." { "body".to_owned() } else { path.replace('.', "/") };
        Invalid::field(field, reason(error.inner()))
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

/// Canonical JSON of a raw member.
pub fn canonical(field: &str, raw: &RawValue) -> Result<CanonicalJson, Invalid> {
    CanonicalJson::parse(raw.get(), field)
}

fn at(invalid: Invalid, field: &str) -> Invalid {
    match invalid {
        Invalid::Field { reason, .. } => Invalid::field(field, reason),
        Invalid::TooLarge { limit, actual, unit, .. } => {
            Invalid::TooLarge { field: field.to_owned(), limit, actual, unit }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boxes::AppendIn;

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
        assert!(error("[").starts_with("body: "));
        assert!(error(r#"{"card_ids":[]} x"#).starts_with("body: trailing characters"));
    }
}
