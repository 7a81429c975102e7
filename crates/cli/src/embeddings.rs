//! An embedding provider that speaks as OpenAI does: `POST {url}/embeddings`.
//!
//! The operator names the provider and its key. Every vector it answers is checked before texts are compared by it.
//! Invariant: the key is in one header of one request, and never in an error.

use crate::failure::Failure;
use async_trait::async_trait;
use axum::http::HeaderValue;
use cardwire_egress::{self as egress, Asker, Destination, Door, innermost};
use cardwire_kernel::Embedder;
use cardwire_model::{Embedding, limits};
use futures_util::StreamExt;
use reqwest::{
    Response,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// Less than the server gives a request: a call goes on without the block when nobody answers.
const TIMEOUT: Duration = Duration::from_secs(20);
/// More than the longest embeddings of all texts of a request take as text.
const ANSWER_BYTES: usize = 32 << 20;
/// How much of what a provider says about an error is passed on.
const REASON_CHARS: usize = 200;

/// The client of a provider.
pub(crate) struct Embeddings {
    destination: Destination,
    model: String,
    key: Option<SecretString>,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    /// Which text it is of; the place in the list where it is absent.
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl Embeddings {
    /// A client for the provider at this address, which needs no key if it is one of our own.
    pub(crate) fn new(url: &str, model: &str, key: Option<SecretString>) -> Result<Self, Failure> {
        let mut parsed = egress::parse(url).map_err(|refused| {
            Failure::usage(format!("`--embeddings-url` is not an address of a provider: it {refused}")).hint(
                "put the key into `CARDWIRE_EMBEDDINGS_KEY`; an address looks like `https://api.openai.com/v1`",
            )
        })?;
        if let Some(key) = &key {
            bearer(key)?;
        }
        if let Ok(mut path) = parsed.path_segments_mut() {
            path.pop_if_empty().push("embeddings");
        }
        let destination = Door::bare().with_proxies().destination(Asker::Operator, parsed);
        let destination = destination.map_err(|refused| Failure::failed(refused.to_string()))?;
        Ok(Self { destination, model: model.to_owned(), key })
    }

    /// Whether the key would cross the network in clear text.
    pub(crate) fn shows_key(&self) -> bool {
        self.key.is_some() && self.destination.shows_what_is_sent()
    }

    async fn ask(&self, texts: &[String]) -> Result<String, String> {
        let body = json!({ "model": self.model, "input": texts }).to_string();
        let mut request = self.destination.post().timeout(TIMEOUT).header(CONTENT_TYPE, "application/json");
        if let Some(key) = &self.key {
            request = request.header(AUTHORIZATION, bearer(key).map_err(|failure| failure.message)?);
        }
        let answer = request.body(body).send().await;
        let answer = answer.map_err(|error| {
            format!(
                "cannot reach the embedding provider at {}: {}",
                self.destination.place(),
                innermost(&error)
            )
        })?;
        let status = answer.status();
        let text = read(answer).await?;
        if status.is_success() {
            return Ok(text);
        }
        let said = self.said(&text).map_or_else(String::new, |said| format!(": {said}"));
        Err(format!("the embedding provider answered {}{said}", status.as_u16()))
    }

    /// What the provider says about an error, unless that holds our key.
    fn said(&self, body: &str) -> Option<String> {
        let body: Value = serde_json::from_str(body).ok()?;
        let error = &body["error"];
        let said = error["message"].as_str().or_else(|| error.as_str())?;
        let has_key = self.key.as_ref().is_some_and(|key| said.contains(key.expose_secret()));
        (!has_key).then(|| said.chars().take(REASON_CHARS).collect())
    }
}

#[async_trait]
impl Embedder for Embeddings {
    async fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, String> {
        if texts.is_empty() {
            return Ok(vec![]);
        }
        parse(&self.ask(texts).await?, texts.len())
    }
}

fn bearer(key: &SecretString) -> Result<HeaderValue, Failure> {
    let mut value = HeaderValue::try_from(format!("Bearer {}", key.expose_secret()))
        .map_err(|_| Failure::usage("`CARDWIRE_EMBEDDINGS_KEY` holds characters that cannot be sent"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// The body, as long as it is no longer than any answer should be.
async fn read(answer: Response) -> Result<String, String> {
    let (mut bytes, mut stream) = (vec![], answer.bytes_stream());
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| format!("the embedding provider: {}", innermost(&error)))?;
        if bytes.len() + chunk.len() > ANSWER_BYTES {
            return Err("the embedding provider's answer has no end".to_owned());
        }
        bytes.extend_from_slice(&chunk);
    }
    String::from_utf8(bytes).map_err(|_| "the embedding provider's answer is no text".to_owned())
}

/// One embedding for each text, all of one length, in the order of the texts.
fn parse(text: &str, texts: usize) -> Result<Vec<Embedding>, String> {
    let answer: Answer = serde_json::from_str(text)
        .map_err(|error| format!("the embedding provider's answer makes no sense: {error}"))?;
    let mut items: Vec<_> = answer.data.into_iter().enumerate().collect();
    items.sort_by_key(|(place, item)| item.index.unwrap_or(*place));
    if items.iter().enumerate().any(|(n, (place, item))| item.index.unwrap_or(*place) != n)
        || items.len() != texts
    {
        return Err(format!("the embedding provider answered {} for {texts} texts", items.len()));
    }
    let numbers = items.first().map_or(0, |(_, item)| item.embedding.len());
    let sound = |(_, item): &(usize, Item)| {
        item.embedding.len() == numbers && item.embedding.iter().all(|number| number.is_finite())
    };
    if !(1..=limits::EMBEDDING_NUMBERS).contains(&numbers) || !items.iter().all(sound) {
        return Err("the embedding provider answered what is no embedding".to_owned());
    }
    Ok(items.iter().map(|(_, item)| Embedding::from_floats(&item.embedding)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_numbers(text: &str, texts: usize) -> Result<Vec<f32>, String> {
        let first = |embedding: &Embedding| embedding.floats().next().unwrap();
        parse(text, texts).map(|all| all.iter().map(first).collect())
    }

    #[test]
    fn embeddings_come_in_the_order_of_the_texts() {
        let named = r#"{"data":[{"index":1,"embedding":[2.0,0]},{"index":0,"embedding":[1.0,0]}]}"#;
        assert_eq!(first_numbers(named, 2), Ok(vec![1.0, 2.0]));
        let unnamed = r#"{"data":[{"embedding":[1.0]},{"embedding":[2.0]}],"model":"m"}"#;
        assert_eq!(first_numbers(unnamed, 2), Ok(vec![1.0, 2.0]));
    }

    #[test]
    fn an_answer_that_does_not_fit_is_refused() {
        for (text, texts) in [
            ("[]", 1),
            (r#"{"data":[]}"#, 1),
            (r#"{"data":[{"embedding":[1.0]}]}"#, 2),
            (r#"{"data":[{"embedding":[1.0]},{"embedding":[1.0,2.0]}]}"#, 2),
            (r#"{"data":[{"index":0,"embedding":[1.0]},{"index":0,"embedding":[1.0]}]}"#, 2),
            (r#"{"data":[{"embedding":[]}]}"#, 1),
            (r#"{"data":[{"embedding":[1e39]}]}"#, 1),
            (r#"{"data":[{"embedding":["a"]}]}"#, 1),
        ] {
            assert!(parse(text, texts).is_err(), "{text}");
        }
    }

    #[test]
    fn an_embedding_has_so_many_numbers_and_no_more() {
        let of = |numbers: usize| format!(r#"{{"data":[{{"embedding":{:?}}}]}}"#, vec![0.5_f32; numbers]);
        assert!(parse(&of(limits::EMBEDDING_NUMBERS), 1).is_ok());
        assert!(parse(&of(limits::EMBEDDING_NUMBERS + 1), 1).is_err());
    }

    #[test]
    fn the_address_is_the_one_given_with_one_more_segment() {
        for (given, asked) in [
            ("https://api.openai.com/v1", "https://api.openai.com/v1/embeddings"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/embeddings"),
            ("http://localhost/v1/?api-version=1", "http://localhost/v1/embeddings?api-version=1"),
        ] {
            let _ = rustls::crypto::ring::default_provider().install_default();
            let request = Embeddings::new(given, "m", None).unwrap().destination.post().build().unwrap();
            assert_eq!(request.url().as_str(), asked);
        }
        for wrong in ["", "api.openai.com", "ftp://x/", "http://me:hunter2@x/"] {
            let failure = Embeddings::new(wrong, "m", None).err().unwrap();
            assert!(!failure.message.contains("hunter2"), "{failure:?}");
        }
    }

    /// SEC-09
    #[test]
    fn the_key_is_never_repeated() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let embeddings = Embeddings::new("http://x.example/", "m", Some("hunter2".into())).unwrap();
        assert!(embeddings.shows_key());
        assert_eq!(embeddings.said(r#"{"error":{"message":"wrong key hunter2"}}"#), None);
        assert_eq!(embeddings.said(r#"{"error":{"message":"no such model"}}"#).unwrap(), "no such model");
        assert_eq!(embeddings.said(r#"{"error":"down"}"#).unwrap(), "down");
        let bad = Embeddings::new("http://localhost/", "m", Some("a\nb".into())).err().unwrap();
        assert!(bad.message.contains("CARDWIRE_EMBEDDINGS_KEY"), "{bad:?}");
    }
}
