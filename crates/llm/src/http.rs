//! One provider over HTTP: its address, its headers, and how what comes back is read within bounds.
//!
//! Invariant: the key is in one header of each request and nowhere else.

use crate::{ConfigError, ModelError, fault};
use cardwire_egress::{Destination, innermost, parse, refusal};
use cardwire_model::Provider;
use futures_util::StreamExt;
use reqwest::{
    Response, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER},
};
use secrecy::{ExposeSecret, SecretString};
use std::time::Duration;

/// More than the longest answer takes as JSON.
const ANSWER_BYTES: usize = 32 << 20;
/// How much of a refusal is read.
const REFUSAL_BYTES: usize = 64 << 10;
const VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");

/// Where requests go, and with what.
#[derive(Debug)]
pub(crate) struct Endpoint {
    destination: Destination,
    headers: HeaderMap,
}

impl Endpoint {
    pub(crate) fn new(
        provider: Provider,
        destination: Destination,
        key: Option<&SecretString>,
    ) -> Result<Self, ConfigError> {
        if key.is_some() && destination.shows_what_is_sent() {
            tracing::warn!(?destination, "the key of this model crosses the network in clear text");
        }
        Ok(Self { destination, headers: headers(provider, key)? })
    }

    /// Sends the body as it is; what comes back is an answer, or the beginning of one.
    pub(crate) async fn post(&self, body: String) -> Result<Response, ModelError> {
        let request = self.destination.post().headers(self.headers.clone()).body(body);
        let response = request.send().await.map_err(|error| self.broken(&error))?;
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
        let fault = fault::of_response(status.as_u16(), retry_after, &String::from_utf8_lossy(&bytes));
        Err(match status.as_u16() {
            // The key or the address is wrong, and whoever has to put that right asks which.
            401 | 403 | 404 | 405 => fault.at(&self.destination.place()),
            _ => fault,
        })
    }

    /// The whole body.
    pub(crate) async fn read(&self, response: Response) -> Result<String, ModelError> {
        let (mut bytes, mut stream) = (vec![], response.bytes_stream());
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|error| self.broken(&error))?;
            if bytes.len() + chunk.len() > ANSWER_BYTES {
                return Err(ModelError::malformed("the answer has no end"));
            }
            bytes.extend_from_slice(&chunk);
        }
        String::from_utf8(bytes).map_err(|_| ModelError::malformed("the answer is no text"))
    }

    /// What it means that a connection failed: where it led, why it failed, and what to look at.
    pub(crate) fn broken(&self, error: &reqwest::Error) -> ModelError {
        let (place, cause) = (self.destination.place(), innermost(error));
        if refusal(error).is_some() {
            // It would be refused again.
            ModelError::Failed { message: cause }
        } else if error.is_timeout() {
            ModelError::Timeout { message: format!("{place} did not answer in time: {cause}") }
        } else if error.is_connect() {
            let look = "see whether `base_url` is right, and whether somebody listens there";
            ModelError::Network { message: format!("cannot reach {place}: {cause}; {look}") }
        } else {
            ModelError::Network { message: format!("the connection to {place} broke: {cause}") }
        }
    }

    /// A stream that is over before the answer is.
    pub(crate) fn cut_off(&self) -> ModelError {
        let message = format!("the stream from {} ended before the answer did", self.destination.place());
        ModelError::Network { message }
    }
}

/// Whether the body is a stream of events.
pub(crate) fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream")
}

/// Where requests go.
pub(crate) fn address(provider: Provider, base_url: Option<&str>) -> Result<Url, ConfigError> {
    let (own, path): (_, &[&str]) = match provider {
        Provider::OpenAiChat => ("https://api.openai.com/v1", &["chat", "completions"]),
        Provider::AnthropicMessages => ("https://api.anthropic.com", &["v1", "messages"]),
    };
    let url = parse(base_url.unwrap_or(own));
    let mut url = url.map_err(|refused| ConfigError::new("model/base_url", refused.to_string()))?;
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

/// A number of seconds. The other form, a date, would need a clock.
fn seconds(value: &HeaderValue) -> Option<Duration> {
    Duration::try_from_secs_f64(value.to_str().ok()?.trim().parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_egress::OWN_HOSTS;

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

    /// F-38: the door knows the addresses of providers that are asked by default.
    #[test]
    fn the_address_of_a_provider_is_its_own_host() {
        for &provider in Provider::ALL {
            let url = address(provider, None).unwrap();
            assert!(OWN_HOSTS.iter().any(|(_, _, host)| url.host_str() == Some(host)), "{url}");
        }
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
