//! One provider over HTTP: its address, its headers, and how what comes back is read within bounds.
//!
//! Invariant: the key is in one header of each request and nowhere else.

use crate::{ConfigError, ModelError, fault};
use cardwire_model::Provider;
use futures_util::StreamExt;
use reqwest::{
    Response, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER},
    redirect,
};
use secrecy::{ExposeSecret, SecretString};
use std::{error::Error, fmt, net::IpAddr, sync::Arc, time::Duration};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// More than the longest answer takes as JSON.
const ANSWER_BYTES: usize = 32 << 20;
/// How much of a refusal is read.
const REFUSAL_BYTES: usize = 64 << 10;
const VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");

/// Where requests go.
pub(crate) struct Endpoint {
    client: reqwest::Client,
    url: Url,
    headers: HeaderMap,
}

/// The rest of the address may hold a secret.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("host", &self.url.host_str()).finish_non_exhaustive()
    }
}

impl Endpoint {
    pub(crate) fn new(
        provider: Provider,
        base_url: Option<&str>,
        key: Option<&SecretString>,
    ) -> Result<Self, ConfigError> {
        let url = address(provider, base_url)?;
        if key.is_some() && url.scheme() == "http" && !is_loopback(&url) {
            tracing::warn!(host = url.host_str(), "the key of this model crosses the network in clear text");
        }
        let headers = headers(provider, key)?;
        Ok(Self { client: client(&url)?, url, headers })
    }

    /// Sends the body as it is; what comes back is an answer, or the beginning of one.
    pub(crate) async fn post(&self, body: String) -> Result<Response, ModelError> {
        let request = self.client.post(self.url.clone()).headers(self.headers.clone()).body(body);
        let response = request.send().await.map_err(|error| broken(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let retry_after = response.headers().get(RETRY_AFTER).and_then(seconds);
        // A refusal without its reason is still one.
        let (mut bytes, mut stream) = (vec![], response.bytes_stream());
        while let Some(Ok(chunk)) = stream.next().await {
            let room = REFUSAL_BYTES - bytes.len();
            bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if bytes.len() == REFUSAL_BYTES {
                break;
            }
        }
        Err(fault::of_response(status.as_u16(), retry_after, &String::from_utf8_lossy(&bytes)))
    }
}

/// The whole body.
pub(crate) async fn read(response: Response) -> Result<String, ModelError> {
    let (mut bytes, mut stream) = (vec![], response.bytes_stream());
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| broken(&error))?;
        if bytes.len() + chunk.len() > ANSWER_BYTES {
            return Err(ModelError::malformed("the answer has no end"));
        }
        bytes.extend_from_slice(&chunk);
    }
    String::from_utf8(bytes).map_err(|_| ModelError::malformed("the answer is no text"))
}

/// Whether the body is a stream of events.
pub(crate) fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream")
}

/// What it means that a connection failed. The innermost cause is told: the outer ones name the address, which may hold
/// a secret.
pub(crate) fn broken(error: &reqwest::Error) -> ModelError {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    // Without a source, what is left is the outermost.
    let message = if cause.source().is_none() && error.source().is_none() {
        "the request could not be sent".to_owned()
    } else {
        cause.to_string()
    };
    if error.is_timeout() { ModelError::Timeout { message } } else { ModelError::Network { message } }
}

/// Where requests go.
pub(crate) fn address(provider: Provider, base_url: Option<&str>) -> Result<Url, ConfigError> {
    let wrong = |reason: &str| ConfigError::new("model/base_url", reason);
    let (own, path): (_, &[&str]) = match provider {
        Provider::OpenAiChat => ("https://api.openai.com/v1", &["chat", "completions"]),
        Provider::AnthropicMessages => ("https://api.anthropic.com", &["v1", "messages"]),
    };
    let url = Url::parse(base_url.unwrap_or(own)).ok().filter(Url::has_host);
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
    let mut url = url.ok_or_else(|| wrong("is not an address, such as `https://api.example.com/v1`"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("takes no user and no password; name a key instead"));
    }
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty();
    }
    let has_version =
        url.path_segments().and_then(|mut segments| segments.next_back()) == path.first().copied();
    let path = if has_version && provider == Provider::AnthropicMessages { &path[1..] } else { path };
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.extend(path);
    }
    Ok(url)
}

fn headers(provider: Provider, key: Option<&SecretString>) -> Result<HeaderMap, ConfigError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let secret = |prefix: &str, key: &SecretString| {
        let mut value = HeaderValue::try_from(format!("{prefix}{}", key.expose_secret()))
            .map_err(|_| ConfigError::new("model/key", "holds characters that cannot be sent"))?;
        value.set_sensitive(true);
        Ok(value)
    };
    match provider {
        Provider::OpenAiChat => {
            if let Some(key) = key {
                headers.insert(AUTHORIZATION, secret("Bearer ", key)?);
            }
        }
        Provider::AnthropicMessages => {
            headers.insert("anthropic-version", VERSION);
            if let Some(key) = key {
                headers.insert("x-api-key", secret("", key)?);
            }
        }
    }
    Ok(headers)
}

fn client(url: &Url) -> Result<reqwest::Client, ConfigError> {
    let mut builder = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        // The environment is read in one place, and not here.
        .no_proxy()
        // A redirect could carry the key somewhere else.
        .redirect(redirect::Policy::none());
    if url.scheme() == "http" {
        // Reading the system's certificates takes time, and fails where there are none.
        let config =
            rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .map_err(|error| ConfigError::new("model", format!("cannot set up HTTP: {error}")))?
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth();
        builder = builder.tls_backend_preconfigured(config);
    } else if rustls::crypto::CryptoProvider::get_default().is_none() {
        return Err(ConfigError::new("model", "the program installs no cryptography for TLS"));
    }
    builder.build().map_err(|_| ConfigError::new("model", "cannot set up HTTP"))
}

fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// A number of seconds. The other form, a date, would need a clock.
fn seconds(value: &HeaderValue) -> Option<Duration> {
    Duration::try_from_secs_f64(value.to_str().ok()?.trim().parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_the_one_given_with_the_path_of_the_provider() {
        use Provider::{AnthropicMessages, OpenAiChat};
        for (provider, given, asked) in [
            (OpenAiChat, None, "https://api.openai.com/v1/chat/completions"),
            (OpenAiChat, Some("http://x/v1/"), "http://x/v1/chat/completions"),
            (OpenAiChat, Some("http://x"), "http://x/chat/completions"),
            (OpenAiChat, Some("http://x/chat"), "http://x/chat/chat/completions"),
            (OpenAiChat, Some("http://x/d?api-version=1"), "http://x/d/chat/completions?api-version=1"),
            (AnthropicMessages, None, "https://api.anthropic.com/v1/messages"),
            (AnthropicMessages, Some("http://x/"), "http://x/v1/messages"),
            (AnthropicMessages, Some("http://x/v1"), "http://x/v1/messages"),
            (AnthropicMessages, Some("http://x/proxy/v1/"), "http://x/proxy/v1/messages"),
        ] {
            assert_eq!(address(provider, given).unwrap().as_str(), asked);
        }
        for wrong in ["", "api.openai.com", "ftp://x/", "http://me:hunter2@x/"] {
            let error = address(OpenAiChat, Some(wrong)).unwrap_err();
            assert_eq!(error.field, "model/base_url");
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }

    /// SEC-09
    #[test]
    fn the_key_is_in_a_header_that_is_not_printed() {
        for (provider, name, value) in [
            (Provider::OpenAiChat, "authorization", "Bearer hunter2"),
            (Provider::AnthropicMessages, "x-api-key", "hunter2"),
        ] {
            let headers = headers(provider, Some(&"hunter2".into())).unwrap();
            assert_eq!(headers[name], value);
            assert!(!format!("{headers:?}").contains("hunter2"));
            let error = super::headers(provider, Some(&"hunter\n2".into())).unwrap_err();
            assert_eq!(error.to_string(), "model/key: holds characters that cannot be sent");
        }
    }

    /// SEC-09
    #[test]
    fn a_printed_endpoint_names_the_host_alone() {
        let url = Some("http://127.0.0.1/hunter2?key=hunter2");
        let endpoint = Endpoint::new(Provider::OpenAiChat, url, Some(&"hunter2".into())).unwrap();
        assert_eq!(format!("{endpoint:?}"), "Endpoint { host: Some(\"127.0.0.1\"), .. }");
    }

    #[test]
    fn a_wait_is_a_number_of_seconds() {
        let read = |text| seconds(&HeaderValue::from_static(text));
        assert_eq!(read("7"), Some(Duration::from_secs(7)));
        assert_eq!(read(" 0.5 "), Some(Duration::from_millis(500)));
        for nonsense in ["", "-1", "nan", "Fri, 31 Dec 1999 23:59:59 GMT"] {
            assert_eq!(read(nonsense), None, "{nonsense}");
        }
    }
}
