//! From the `model` object of a team file, or the `llm_config` of a profile, to a model.
//!
//! Where keys come from and where requests may go is known by the door. Invariant: an error names the field and holds no
//! key.

use crate::{ChatModel, ModelInfo, Prices, Remote, Retry, Script, Scripted, http, with_retry};
use cardwire_egress::{Asker, Door, key_variables};
use cardwire_model::{Provider, check_model_settings, limits};
use reqwest::Url;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use thiserror::Error;

const TIMEOUT_SECONDS: u64 = 300;
/// The longest that one request may be waited for.
const MAX_TIMEOUT_SECONDS: u64 = 3_600;
/// How often a failed request is sent again, unless the file says otherwise.
const RETRIES: u32 = 2;
const MAX_RETRIES: u32 = 10;
const RETRY_BASE: Duration = Duration::from_millis(500);
const RETRY_MAX: Duration = Duration::from_secs(30);

/// What is said about a model. Other fields belong to others, or are options of the provider; which there are is checked
/// where they are written ([`check`]).
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ModelConfig {
    /// `openai`, `openai-chat`, `anthropic`, `anthropic-messages` or `scripted`.
    pub provider: String,
    /// Its name at the provider.
    pub model: Option<String>,
    /// Where the provider is, if not at its own address.
    pub base_url: Option<String>,
    /// The name of a key, never the key itself.
    pub key: Option<String>,
    /// What it costs.
    pub prices: Option<Prices>,
    /// How long one request may take.
    pub timeout_seconds: Option<u64>,
    /// How often a failed request is sent again.
    pub retries: Option<u32>,
    /// The script of a scripted model.
    pub script: Option<Value>,
    /// Whether answers are streamed; they are unless this says no.
    pub stream: Option<bool>,
    /// The format of the requests that a scripted model reads: `openai-chat`, which is the default, or
    /// `anthropic-messages`.
    pub format: Option<String>,
}

/// A model that cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{field}: {reason}")]
pub struct ConfigError {
    /// Which field, as in `model/base_url`.
    pub field: String,
    /// What is wrong, as a short clause.
    pub reason: String,
}

impl ConfigError {
    pub(crate) fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { field: field.into(), reason: reason.into() }
    }
}

/// The model that this object describes. `asker` is who wrote the object.
pub fn build(config: &Value, door: &Door, asker: Asker<'_>) -> Result<Arc<dyn ChatModel>, ConfigError> {
    let config = ModelConfig::parse(config)?;
    let (model, retries): (Arc<dyn ChatModel>, u32) = match config.kind()? {
        Kind::Remote(provider) => (config.remote(provider, door, asker)?, RETRIES),
        // A script that fails means it.
        Kind::Scripted => (config.scripted()?, 0),
    };
    let retries = config.retries.unwrap_or(retries);
    if retries == 0 {
        return Ok(model);
    }
    let asked = Duration::from_secs(limits::RETRY_AFTER_SECONDS);
    Ok(with_retry(model, Retry { attempts: retries + 1, base: RETRY_BASE, max: RETRY_MAX, asked }))
}

/// Whether this object describes a model, as far as can be said without its key and without asking anybody.
pub fn check(config: &Value) -> Result<(), ConfigError> {
    check_model_settings(config, "model").map_err(|invalid| {
        let reason = invalid.to_string();
        let field = invalid.field_name();
        ConfigError::new(field, reason.strip_prefix(&format!("{field}: ")).unwrap_or(&reason))
    })?;
    let config = ModelConfig::parse(config)?;
    match config.kind()? {
        Kind::Remote(provider) => {
            config.name()?;
            config.check_key()?;
            http::address(provider, config.base_url.as_deref()).map(drop)
        }
        Kind::Scripted => config.scripted().map(drop),
    }
}

/// Where keys come from.
const WHERE: &str =
    "in the environment of the process that runs the agents (`cardwire run`, `up` or `worker`)";
/// Names of keys that are longer are not repeated.
const NAME_CHARS: usize = 32;

/// Whether a text is the name of a key and surely no key: letters, and no more digits than a name has.
fn is_name(text: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let starts_as_key = ["sk-", "sk_", "pk_", "key-", "ghp_"].iter().any(|start| text.starts_with(start));
    let digits = text.chars().filter(char::is_ascii_digit).count();
    !text.is_empty() && text.len() <= NAME_CHARS && text.chars().all(legal) && digits <= 4 && !starts_as_key
}

/// Who answers.
enum Kind {
    Remote(Provider),
    Scripted,
}

/// The name of a key that is no model's.
const TOOLS_KEY: &str = "tools";

impl ModelConfig {
    /// Reads the object and checks what does not depend on the provider.
    pub fn parse(config: &Value) -> Result<Self, ConfigError> {
        let Some(fields) = config.as_object() else {
            return Err(ConfigError::new("model", "must be an object"));
        };
        if !fields.contains_key("provider") {
            return Err(ConfigError::new("model/provider", "is missing"));
        }
        let this: Self = serde_path_to_error::deserialize(config).map_err(|error| {
            let path = error.path().to_string().replace('.', "/");
            ConfigError::new(format!("model/{path}"), error.inner().to_string())
        })?;
        if let Some(price) = this.prices.and_then(|prices| prices.fault()) {
            return Err(ConfigError::new(format!("model/prices/{price}"), "must be a number from 0"));
        }
        if !(1..=MAX_TIMEOUT_SECONDS).contains(&this.timeout_seconds.unwrap_or(TIMEOUT_SECONDS)) {
            let reason = format!("must be from 1 to {MAX_TIMEOUT_SECONDS}");
            return Err(ConfigError::new("model/timeout_seconds", reason));
        }
        if this.retries.unwrap_or(0) > MAX_RETRIES {
            return Err(ConfigError::new("model/retries", format!("must be from 0 to {MAX_RETRIES}")));
        }
        Ok(this)
    }

    fn kind(&self) -> Result<Kind, ConfigError> {
        match self.provider.as_str() {
            "openai" | "openai-chat" => Ok(Kind::Remote(Provider::OpenAiChat)),
            "anthropic" | "anthropic-messages" => Ok(Kind::Remote(Provider::AnthropicMessages)),
            "scripted" => Ok(Kind::Scripted),
            "recorded" => Err(ConfigError::new("model/provider", "`recorded` is for replays only")),
            other => {
                let reason = format!("`{other}` is unknown; there are openai, anthropic and scripted");
                Err(ConfigError::new("model/provider", reason))
            }
        }
    }

    /// The name of a model at its provider.
    fn name(&self) -> Result<&str, ConfigError> {
        let model = self.model.as_deref().filter(|model| !model.is_empty());
        model.ok_or_else(|| ConfigError::new("model/model", "is missing"))
    }

    fn remote(
        &self,
        provider: Provider,
        door: &Door,
        asker: Asker<'_>,
    ) -> Result<Arc<dyn ChatModel>, ConfigError> {
        let info = self.info(provider, self.name()?);
        let timeout = Duration::from_secs(self.timeout_seconds.unwrap_or(TIMEOUT_SECONDS));
        let url = http::address(provider, self.base_url.as_deref())?;
        let key = self.secret(provider, &url, door, asker)?;
        let destination = door.destination(asker, url);
        let destination =
            destination.map_err(|refused| ConfigError::new("model/base_url", refused.to_string()))?;
        Ok(Arc::new(Remote::new(info, destination, key, timeout)?))
    }

    /// The key. A provider of one's own may need none; those whose addresses we know do.
    fn secret(
        &self,
        provider: Provider,
        url: &Url,
        door: &Door,
        asker: Asker<'_>,
    ) -> Result<Option<SecretString>, ConfigError> {
        let by_default = match provider {
            Provider::OpenAiChat => "openai",
            Provider::AnthropicMessages => "anthropic",
        };
        self.check_key()?;
        if self.key.is_none() && self.base_url.is_some() {
            // The key of a provider is not for whoever else has an address.
            return Ok(None);
        }
        let key = door.key(asker, self.key.as_deref().unwrap_or(by_default), url);
        let key = key.map_err(|refused| ConfigError::new("model/key", refused.to_string()))?;
        if key.is_some() {
            return Ok(key);
        }
        // A name that does not look like one may be a key that was put into the wrong place: it is not repeated.
        let name = self.key.as_deref().unwrap_or(by_default);
        let reason = match is_name(name) {
            true => {
                format!("there is no key named `{name}`: set {} {WHERE}", key_variables(name).join(" or "))
            }
            false => format!(
                "there is no key of this name, which must be that of a variable: `key: prod` is CARDWIRE_KEY_PROD, {WHERE}"
            ),
        };
        Err(ConfigError::new("model/key", reason))
    }

    fn check_key(&self) -> Result<(), ConfigError> {
        if self.key.as_deref() == Some(TOOLS_KEY) {
            return Err(ConfigError::new("model/key", "is the key that signs calls of tools"));
        }
        Ok(())
    }

    fn scripted(&self) -> Result<Arc<dyn ChatModel>, ConfigError> {
        let script = self.script.as_ref().ok_or_else(|| ConfigError::new("model/script", "is missing"))?;
        let script = Script::parse_at("model/script", script)?;
        let format = self.format.as_deref().unwrap_or(Provider::OpenAiChat.as_str());
        let provider = Provider::from_name(format).ok_or_else(|| {
            let names: Vec<_> = Provider::ALL.iter().map(|provider| provider.as_str()).collect();
            ConfigError::new("model/format", format!("must be one of {}", names.join(", ")))
        })?;
        let model = self.model.as_deref().unwrap_or("scripted");
        Ok(Arc::new(Scripted::new(self.info(provider, model), script)))
    }

    fn info(&self, provider: Provider, model: &str) -> ModelInfo {
        let streams = self.stream.unwrap_or(true);
        ModelInfo { provider, model: model.to_owned(), prices: self.prices, streams }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_egress::{Allowed, Keyring};
    use serde_json::json;

    fn built_for(asker: Asker<'_>, config: &Value) -> Result<Arc<dyn ChatModel>, ConfigError> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let keys =
            ["OPENAI_API_KEY", "CARDWIRE_KEY_MINE"].map(|name| (name.to_owned(), "hunter2".to_owned()));
        build(config, &Door::new(Keyring::from_variables(keys).unwrap(), Allowed::default()), asker)
    }

    fn built(config: Value) -> Result<Arc<dyn ChatModel>, ConfigError> {
        built_for(Asker::Operator, &config)
    }

    /// F-38, F-39: what a project says is judged; what the operator says is not.
    #[test]
    fn a_project_sends_no_key_to_a_host_of_its_own_and_nothing_into_the_servers_network() {
        let model = |more: Value| {
            let mut config = json!({ "provider": "openai", "model": "m" });
            config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            config
        };
        for (config, field, words) in [
            (
                model(json!({ "base_url": "https://evil.example", "key": "mine" })),
                "model/key",
                "CARDWIRE_KEY_MINE_HOSTS",
            ),
            (
                model(json!({ "base_url": "https://evil.example", "key": "openai" })),
                "model/key",
                "CARDWIRE_KEY_OPENAI_HOSTS",
            ),
            (
                model(json!({ "base_url": "http://api.openai.com", "key": "openai" })),
                "model/key",
                "api.openai.com:80",
            ),
            (
                model(json!({ "base_url": "http://169.254.169.254" })),
                "model/base_url",
                "CARDWIRE_EGRESS_ALLOW",
            ),
        ] {
            let refused = built_for(Asker::Project("p1"), &config).unwrap_err();
            assert_eq!(refused.field, field, "{config}");
            assert!(refused.reason.contains(words) && !refused.reason.contains("hunter2"), "{refused}");
            assert!(built(config.clone()).is_ok(), "{config}");
        }
        for config in [
            model(json!({})),
            model(json!({ "key": "mine" })),
            model(json!({ "base_url": "https://other.example" })),
        ] {
            assert!(built_for(Asker::Project("p1"), &config).is_ok(), "{config}");
        }
    }

    #[test]
    fn a_model_is_what_its_object_says() {
        let model = built(json!({
            "provider": "anthropic", "model": "claude", "key": "mine", "base_url": "http://127.0.0.1:1/v1",
            "prices": { "input": 3, "output": 15 }, "stream": false, "context_window": 5, "params": {},
        }));
        let model = model.unwrap();
        let prices = Some(Prices { input: 3.0, cached: None, output: 15.0 });
        let provider = Provider::AnthropicMessages;
        let expected = ModelInfo { provider, model: "claude".to_owned(), prices, streams: false };
        assert_eq!(*model.info(), expected);
        assert!(!format!("{model:?}").contains("hunter2"), "{model:?}");

        let script = json!({ "provider": "scripted", "script": { "rules": [] } });
        let info = built(script).unwrap().info().clone();
        assert_eq!(
            (info.provider, info.model.as_str(), info.streams),
            (Provider::OpenAiChat, "scripted", true)
        );
    }

    #[test]
    fn a_key_is_needed_unless_the_provider_is_ones_own() {
        let own = "http://127.0.0.1:1";
        assert!(built(json!({ "provider": "openai", "model": "m", "base_url": own })).is_ok());
        assert!(built(json!({ "provider": "anthropic", "model": "m", "base_url": own })).is_ok());
        let error = built(json!({ "provider": "anthropic", "model": "m" })).unwrap_err();
        let told = "model/key: there is no key named `anthropic`: set ANTHROPIC_API_KEY or CARDWIRE_KEY_ANTHROPIC in the \
                    environment of the process that runs the agents (`cardwire run`, `up` or `worker`)";
        assert_eq!(error.to_string(), told);
        let named = json!({ "provider": "openai", "model": "m", "key": "my-gateway", "base_url": own });
        let error = built(named).unwrap_err().to_string();
        assert!(error.contains("`my-gateway`: set CARDWIRE_KEY_MY_GATEWAY in"), "{error}");
        assert_eq!(check(&json!({ "provider": "anthropic", "model": "m" })), Ok(()), "keys are elsewhere");
        let pasted = json!({ "provider": "openai", "model": "m", "key": "sk-pasted", "base_url": own });
        let error = built(pasted).unwrap_err().to_string();
        assert!(
            error.starts_with("model/key: there is no key of this name") && !error.contains("pasted"),
            "{error}"
        );
        for key in ["", "AIzaSyA1234567890abcdefghijklmnopqrstu", "0123456789abcdef", "a b"] {
            assert!(!is_name(key), "{key}");
        }
        let tools = json!({ "provider": "openai", "model": "m", "key": "tools", "base_url": own });
        assert_eq!(built(tools.clone()).unwrap_err().field, "model/key", "it signs calls of tools");
        assert_eq!(check(&tools).unwrap_err().field, "model/key");
    }

    #[test]
    fn a_field_that_is_wrong_is_named() {
        for (config, field) in [
            (json!([]), "model"),
            (json!({}), "model/provider"),
            (json!({ "provider": "hal" }), "model/provider"),
            (json!({ "provider": "recorded" }), "model/provider"),
            (json!({ "provider": 7 }), "model/provider"),
            (json!({ "provider": "openai" }), "model/model"),
            (json!({ "provider": "openai", "model": "m", "retries": 11 }), "model/retries"),
            (json!({ "provider": "openai", "model": "m", "timeout_seconds": 0 }), "model/timeout_seconds"),
            (
                json!({ "provider": "openai", "model": "m", "prices": { "input": "x", "output": 1 } }),
                "model/prices/input",
            ),
            (
                json!({ "provider": "openai", "model": "m", "prices": { "input": -1, "output": 1 } }),
                "model/prices/input",
            ),
            (json!({ "provider": "openai", "model": "m", "base_url": "api.openai.com" }), "model/base_url"),
            (json!({ "provider": "scripted" }), "model/script"),
            (json!({ "provider": "scripted", "script": "a.yaml" }), "model/script"),
            (json!({ "provider": "scripted", "script": { "rules": [], "x": 1 } }), "model/script/x"),
            (json!({ "provider": "scripted", "script": { "rules": [] }, "format": "x" }), "model/format"),
        ] {
            assert_eq!(built(config.clone()).unwrap_err().field, field, "{config}");
            assert_eq!(check(&config).unwrap_err().field, field, "told before a model is made: {config}");
        }
        let file = built(json!({ "provider": "scripted", "script": "a.yaml" })).unwrap_err();
        assert_eq!(file.to_string(), "model/script: files are read by the command line");
    }

    #[tokio::test(start_paused = true)]
    async fn a_failed_request_is_sent_again_only_if_the_script_says_so() {
        let request = crate::ModelRequest {
            body: "{}".to_owned(),
            agent_id: "a".to_owned(),
            role: None,
            turn_id: "t".to_owned(),
            call_id: "c".to_owned(),
            step: 1,
        };
        let rules = json!([{ "match": { "times": 1 }, "error": "server" }, { "reply": "x" }]);
        let script = json!({ "rules": rules });
        let once = built(json!({ "provider": "scripted", "script": script })).unwrap();
        assert_eq!(once.call(&request, &()).await.unwrap_err().kind(), "server");
        let twice = built(json!({ "provider": "scripted", "script": script, "retries": 1 })).unwrap();
        assert_eq!(twice.call(&request, &()).await.unwrap().text, "x");
    }
}
