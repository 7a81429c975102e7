//! What may be said of a model: the `model` of a team or of a member, and the `llm_config` of a profile (F-01). One list for
//! all who read them.

use crate::Invalid;
use serde_json::{Map, Value};

/// What Cardwire reads.
pub const MODEL_KEYS: [&str; 14] = [
    "provider",
    "model",
    "base_url",
    "key",
    "prices",
    "params",
    "context_window",
    "reserve",
    "timeout_seconds",
    "retries",
    "stream",
    "script",
    "format",
    "agent",
];

/// What the provider reads: sent with every request, as what stands in `params` is. An option that is not here goes into
/// `params`, of which nothing is read.
pub const MODEL_OPTIONS: [&str; 21] = [
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
    "max_completion_tokens",
    "stop",
    "stop_sequences",
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "response_format",
    "reasoning_effort",
    "verbosity",
    "thinking",
    "tool_choice",
    "parallel_tool_calls",
    "service_tier",
    "user",
];

/// What the prices of a model may say.
const PRICES: [&str; 3] = ["input", "cached", "output"];

/// Refuses what nobody would read. `at` is where the settings stand.
pub fn check_model_settings(settings: &Value, at: &str) -> Result<(), Invalid> {
    let Some(members) = settings.as_object() else { return Ok(()) };
    let known = [&MODEL_KEYS[..], &MODEL_OPTIONS[..]].concat();
    if let Some(name) = members.keys().find(|name| !known.contains(&name.as_str())) {
        let refused = Invalid::unknown(format!("{at}/{name}"), name, &known);
        let is_open = refused.to_string().ends_with("is not known");
        return Err(match is_open {
            true => Invalid::field(
                refused.field_name(),
                "is not known; an option that only the provider knows goes into `params`",
            ),
            false => refused,
        });
    }
    let prices = members.get("prices").and_then(Value::as_object);
    match prices.into_iter().flat_map(Map::keys).find(|name| !PRICES.contains(&name.as_str())) {
        Some(name) => Err(Invalid::unknown(format!("{at}/prices/{name}"), name, &PRICES)),
        None => Ok(()),
    }
}

/// What is sent to the provider besides the messages: the options, and `params` over them.
pub fn model_params(settings: &Value) -> Map<String, Value> {
    let option = |name: &&str| Some(((*name).to_owned(), settings.get(name)?.clone()));
    let mut params: Map<String, Value> =
        MODEL_OPTIONS.iter().filter_map(option).filter(|(_, value)| !value.is_null()).collect();
    params.extend(settings.get("params").and_then(Value::as_object).cloned().unwrap_or_default());
    params
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// F-01
    #[test]
    fn a_setting_that_nobody_reads_is_refused() {
        for legal in [
            json!(null),
            json!({}),
            json!({ "model": "gpt-4o" }),
            json!({ "model": "m", "temperature": 0.25, "seed": i64::MAX, "params": { "anything": { "at": "all" } } }),
            json!({ "provider": "openai", "prices": { "input": 1, "cached": 0.5, "output": 2 } }),
        ] {
            assert_eq!(check_model_settings(&legal, "model"), Ok(()), "{legal}");
        }
        for (settings, said) in [
            (json!({ "baseurl": "http://x" }), "model/baseurl: is not known; did you mean `base_url`?"),
            (json!({ "temprature": 0 }), "model/temprature: is not known; did you mean `temperature`?"),
            (json!({ "prices": { "in": 1 } }), "model/prices/in: is not known"),
            (
                json!({ "colour": "red" }),
                "model/colour: is not known; an option that only the provider knows goes into `params`",
            ),
        ] {
            assert_eq!(check_model_settings(&settings, "model").unwrap_err().to_string(), said);
        }
        let key = check_model_settings(&json!({ "api_key": 7 }), "llm_config").unwrap_err().to_string();
        assert!(key.starts_with("llm_config/api_key: looks like a secret"), "{key}");
    }

    /// F-01: an option that is accepted is sent.
    #[test]
    fn options_are_sent_and_params_say_it_last() {
        let settings = json!({
            "model": "m", "temperature": 0.5, "seed": 7, "stop": null, "params": { "seed": 8, "mine": true },
        });
        assert_eq!(
            Value::Object(model_params(&settings)),
            json!({ "temperature": 0.5, "seed": 8, "mine": true })
        );
        assert!(model_params(&Value::Null).is_empty());
    }
}
