//! Recognises text that looks like a credential (SEC-09). A hit flags the card; nothing is ever altered.
//!
//! The shapes are those of widely used keys, so that a hit is worth a person's attention. What a person writes for good, in
//! the file of a team, a profile, a tool or a recipe, must hold none (F-01).

use crate::Invalid;
use serde_json::Value;

/// A shape: a prefix and how many characters of the given alphabet must follow.
struct Shape {
    prefix: &'static str,
    length: usize,
    legal: fn(u8) -> bool,
}

const SHAPES: &[Shape] = &[
    Shape { prefix: "sk-", length: 20, legal: word },
    Shape { prefix: "ghp_", length: 36, legal: alphanumeric },
    Shape { prefix: "github_pat_", length: 22, legal: word },
    Shape { prefix: "xoxb-", length: 20, legal: word },
    Shape { prefix: "xoxp-", length: 20, legal: word },
    Shape { prefix: "AKIA", length: 16, legal: upper },
    Shape { prefix: "AIza", length: 35, legal: word },
    Shape { prefix: "cw_", length: 64, legal: alphanumeric },
    Shape { prefix: "cwturn_", length: 64, legal: dotted },
];

/// Whether `text` contains something that looks like a credential.
pub fn looks_like_credential(text: &str) -> bool {
    text.contains("-----BEGIN ") && text.contains("PRIVATE KEY-----")
        || SHAPES.iter().any(|shape| shape.is_in(text))
}

/// What is said of a secret that stands where it would be kept.
pub const WHERE_KEYS_GO: &str = "looks like a secret, and what is written here is kept for ever: put the key into the environment of \
    the process that runs the agents, as OPENAI_API_KEY, ANTHROPIC_API_KEY or CARDWIRE_KEY_<NAME>, and write `key: NAME` into the \
    model";

/// Names under which people write secrets, without separators and in small letters.
const SECRET_NAMES: [&str; 15] = [
    "apikey",
    "xapikey",
    "apitoken",
    "accesstoken",
    "authtoken",
    "bearertoken",
    "authorization",
    "proxyauthorization",
    "secret",
    "secretkey",
    "clientsecret",
    "privatekey",
    "password",
    "passwd",
    "passphrase",
];

/// Whether a member of this name holds a secret, as in `api_key` or `Authorization`.
pub fn is_secret_name(name: &str) -> bool {
    let plain: String = name.chars().filter(|letter| !matches!(letter, '_' | '-' | ' ')).collect();
    let plain = plain.to_ascii_lowercase();
    SECRET_NAMES.contains(&plain.as_str()) || plain.ends_with("apikey")
}

/// Refuses a document that holds a secret, by its place and without repeating it. What a scripted model says is content like
/// that of any other model, and is passed over.
pub fn check_no_secrets(document: &Value) -> Result<(), Invalid> {
    match place_of_secret("", document) {
        Some(place) => {
            Err(Invalid::field(if place.is_empty() { "body".to_owned() } else { place }, WHERE_KEYS_GO))
        }
        None => Ok(()),
    }
}

fn place_of_secret(at: &str, value: &Value) -> Option<String> {
    let below = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}/{name}") };
    match value {
        Value::String(text) => (looks_like_credential(text) || is_authorization(text)).then(|| at.to_owned()),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .find_map(|(index, item)| place_of_secret(&below(&index.to_string()), item)),
        Value::Object(members) => members.iter().find_map(|(name, value)| {
            if looks_like_credential(name) {
                return Some(at.to_owned());
            }
            let is_script = name == "script" && value.get("rules").is_some();
            let is_told = value.as_str().is_some_and(|text| !text.trim().is_empty());
            match is_secret_name(name) && is_told {
                true => Some(below(name)),
                false if is_script => None,
                false => place_of_secret(&below(name), value),
            }
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// A header's value that lets somebody in. What only stands for one, as in `Bearer ${TOKEN}`, is none.
fn is_authorization(text: &str) -> bool {
    const LEAST: usize = 12;
    let text = text.trim();
    let rest = ["Bearer ", "bearer ", "Basic ", "basic "].iter().find_map(|scheme| text.strip_prefix(scheme));
    rest.is_some_and(|rest| {
        let legal =
            |byte: u8| alphanumeric(byte) || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'+' | b'/' | b'=');
        rest.len() >= LEAST && rest.bytes().all(legal)
    })
}

impl Shape {
    fn is_in(&self, text: &str) -> bool {
        text.match_indices(self.prefix).any(|(at, _)| {
            let starts_word = at == 0 || !alphanumeric(text.as_bytes()[at - 1]);
            let rest = &text.as_bytes()[at + self.prefix.len()..];
            starts_word && rest.iter().take_while(|b| (self.legal)(**b)).count() >= self.length
        })
    }
}

fn alphanumeric(b: u8) -> bool {
    b.is_ascii_alphanumeric()
}

fn upper(b: u8) -> bool {
    b.is_ascii_uppercase() || b.is_ascii_digit()
}

fn word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'-' || b == b'_'
}

fn dotted(b: u8) -> bool {
    word(b) || b == b'.'
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// SEC-09
    #[test]
    fn keys_are_noticed_and_prose_is_not() {
        assert!(looks_like_credential("key=sk-abcdefghijklmnopqrstuv"));
        assert!(looks_like_credential("AKIAIOSFODNN7EXAMPLE"));
        assert!(looks_like_credential("-----BEGIN RSA PRIVATE KEY-----\nMIIE"));
        let turn_token = format!("cwturn_p.turn_{}.{}", "0a".repeat(16), "0a".repeat(32));
        assert!(looks_like_credential(&turn_token));
        assert!(
            !looks_like_credential(&turn_token[..turn_token.len() - 64]),
            "which turn it is, is no secret"
        );
        assert!(!looks_like_credential("ask-me-about-the-weather-in-november"));
        assert!(!looks_like_credential("sk-short"));
        assert!(!looks_like_credential("AKIA is a prefix"));
    }

    /// F-01
    #[test]
    fn a_document_with_a_secret_is_refused_by_its_place_and_without_the_secret() {
        let key = "sk-abcdefghijklmnopqrstuv";
        for (document, place) in [
            (json!({ "model": { "api_key": "hunter2" } }), "model/api_key"),
            (json!({ "model": { "key": key } }), "model/key"),
            (
                json!({ "agents": [{ "profile": { "system_prompt": format!("use {key}") } }] }),
                "agents/0/profile/system_prompt",
            ),
            (json!({ "target": { "headers": { "Authorization": "x" } } }), "target/headers/Authorization"),
            (json!({ "metadata": { "header": "Bearer abcdefghijklmnop" } }), "metadata/header"),
            (json!({ "metadata": { key: 1 } }), "metadata"),
            (json!(key), "body"),
        ] {
            let refused = check_no_secrets(&document).unwrap_err();
            assert_eq!(refused.field_name(), place, "{document}");
            let said = refused.to_string();
            assert!(
                said.contains("CARDWIRE_KEY_<NAME>") && !said.contains(key) && !said.contains("hunter2"),
                "{said}"
            );
        }
        for harmless in [
            json!({ "model": { "key": "openai", "params": { "max_tokens": 3 } } }),
            json!({ "parameters": { "properties": { "password": { "type": "string" } }, "required": ["password"] } }),
            json!({ "header": "Bearer ${TOKEN}", "api_key": null, "secret": " " }),
            json!({ "model": { "script": { "rules": [{ "reply": key }] } } }),
        ] {
            assert_eq!(check_no_secrets(&harmless), Ok(()), "{harmless}");
        }
    }
}
