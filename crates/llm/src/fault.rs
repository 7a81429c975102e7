//! What a provider's refusal means: its status, and the words by which programs tell refusals apart.
//!
//! Sentences of providers are read but never passed on, because they may quote the request (SEC-09).

use crate::ModelError;
use serde_json::Value;
use std::time::Duration;

/// A longer word is none.
const WORD_CHARS: usize = 64;
/// How providers put it that a request is longer than the model can read.
const TOO_LONG: [&str; 6] = [
    "maximum context length",
    "prompt is too long",
    "exceed context limit",
    "context window",
    "available context size",
    "input is too long",
];
const TOO_LONG_CODES: [&str; 3] =
    ["context_length_exceeded", "exceed_context_size_error", "request_too_large"];
const FILTER_CODES: [&str; 3] =
    ["content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"];

/// What it means that a request was answered with this.
pub(crate) fn of_response(status: u16, retry_after: Option<Duration>, body: &str) -> ModelError {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    // Some put the error into a list.
    let body = body.get(0).unwrap_or(&body);
    let error = body.get("error").unwrap_or(body);
    let words = words(error);
    let message = format!("the provider answered {status}{}", listed(&words));
    classify(status, retry_after, error, &words, message)
}

/// What it means that an answer that had begun well turned out to be an error.
pub(crate) fn of_answer(error: &Value) -> ModelError {
    let words = words(error);
    let numbered = error["code"].as_u64().and_then(|code| u16::try_from(code).ok());
    let named = words.iter().find_map(|word| status_of(word));
    let message = format!("the provider broke off its answer{}", listed(&words));
    classify(named.or(numbered).unwrap_or(500), None, error, &words, message)
}

fn classify(
    status: u16,
    retry_after: Option<Duration>,
    error: &Value,
    words: &[&str],
    message: String,
) -> ModelError {
    let has = |codes: &[&str]| words.iter().any(|word| codes.contains(word));
    match status {
        401 | 403 => ModelError::Authentication { message },
        429 => ModelError::RateLimited { message, retry_after },
        408 | 504 => ModelError::Timeout { message },
        503 | 529 => ModelError::Overloaded { message, retry_after },
        500.. => ModelError::Server { message },
        413 => ModelError::ContextLength { message },
        _ if has(&TOO_LONG_CODES) || says_too_long(error) => ModelError::ContextLength { message },
        _ if has(&FILTER_CODES) => ModelError::Filtered { message },
        _ => ModelError::BadRequest { message },
    }
}

fn says_too_long(error: &Value) -> bool {
    let said = error["message"].as_str().or_else(|| error.as_str()).unwrap_or_default().to_lowercase();
    TOO_LONG.iter().any(|text| said.contains(text))
}

/// The status that an error of this name has when it comes as a response.
fn status_of(word: &str) -> Option<u16> {
    Some(match word {
        "authentication_error" | "permission_error" | "invalid_api_key" => 401,
        "rate_limit_error" | "rate_limit_exceeded" | "insufficient_quota" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        "invalid_request_error" | "not_found_error" | "content_filter" | "context_length_exceeded" => 400,
        "request_too_large" => 413,
        "api_error" | "server_error" => 500,
        _ => return None,
    })
}

/// The type and the code, and the name of the parameter that is wrong: words, not sentences.
fn words(error: &Value) -> Vec<&str> {
    let fields = ["type", "code", "param"].map(|field| error[field].as_str());
    let is_word = |word: &&str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_.-[]".contains(c);
        !word.is_empty() && word.len() <= WORD_CHARS && word.chars().all(plain)
    };
    fields.into_iter().flatten().filter(is_word).collect()
}

fn listed(words: &[&str]) -> String {
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_status_says_what_kind_of_error_it_is() {
        for (status, kind) in [
            (400, "bad_request"),
            (401, "authentication"),
            (402, "bad_request"),
            (403, "authentication"),
            (404, "bad_request"),
            (408, "timeout"),
            (413, "context_length"),
            (422, "bad_request"),
            (429, "rate_limited"),
            (500, "server"),
            (502, "server"),
            (503, "overloaded"),
            (504, "timeout"),
            (529, "overloaded"),
            (307, "bad_request"),
        ] {
            assert_eq!(of_response(status, None, "<html>").kind(), kind, "{status}");
        }
        let later = Some(Duration::from_secs(7));
        let limited = of_response(429, later, r#"{"error":{"type":"tokens","code":"rate_limit_exceeded"}}"#);
        let message = "the provider answered 429 (tokens, rate_limit_exceeded)".to_owned();
        assert_eq!(limited, ModelError::RateLimited { message, retry_after: later });
    }

    #[test]
    fn a_request_that_is_too_long_is_told_from_one_that_is_wrong() {
        for (error, kind) in [
            (json!({ "code": "context_length_exceeded" }), "context_length"),
            (json!({ "message": "This model's maximum context length is 8192 tokens" }), "context_length"),
            (
                json!({ "type": "invalid_request_error", "message": "prompt is too long: 9 > 8" }),
                "context_length",
            ),
            (json!("Prompt is too long"), "context_length"),
            (json!({ "code": "content_filter" }), "filtered"),
            (json!({ "code": "unknown_parameter", "message": "hm" }), "bad_request"),
        ] {
            let body = json!({ "error": error });
            assert_eq!(of_response(400, None, &body.to_string()).kind(), kind, "{body}");
            assert_eq!(of_response(400, None, &json!([body]).to_string()).kind(), kind, "{body}");
        }
    }

    #[test]
    fn an_error_within_an_answer_is_known_by_its_name() {
        for (error, kind) in [
            (json!({ "type": "overloaded_error", "message": "x" }), "overloaded"),
            (json!({ "type": "api_error" }), "server"),
            (json!({ "type": "rate_limit_error" }), "rate_limited"),
            (json!({ "type": "authentication_error" }), "authentication"),
            (json!({ "type": "invalid_request_error", "message": "prompt is too long" }), "context_length"),
            (json!({ "code": 429, "message": "x" }), "rate_limited"),
            (json!({ "code": 524_288 }), "server"),
            (json!("down"), "server"),
        ] {
            assert_eq!(of_answer(&error).kind(), kind, "{error}");
        }
    }

    /// SEC-09
    #[test]
    fn what_a_provider_says_is_not_repeated() {
        let quoted = json!({ "error": {
            "message": "cannot read: the secret plan", "type": "not a word", "code": "x".repeat(65), "param": "messages[0].role",
        } });
        let error = of_response(400, None, &quoted.to_string());
        assert_eq!(error.to_string(), "bad request: the provider answered 400 (messages[0].role)");
    }
}
