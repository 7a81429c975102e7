//! Requests to a server.

use super::{Answer, ByteStream, Payload, pinned};
use crate::{failure::Failure, route::Route};
use axum::http::{HeaderValue, Method, header};
use cardwire_model::TokenSecret;
use futures_util::{StreamExt, TryStreamExt, stream};
use reqwest::{Url, redirect};
use std::{error::Error, net::IpAddr, time::Duration};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longer than the server takes before it gives up by itself.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(90);
/// The same for what takes long.
const LONG_TIMEOUT: Duration = Duration::from_secs(3_660);
/// Longer than the pause between two heartbeats of an event stream.
const SILENCE: Duration = Duration::from_secs(40);
const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) url: String,
    /// Its certificate (PEM), where we know it; the system's authorities vouch for others.
    pub(crate) certificate: Option<String>,
}

/// A server and the token for it.
pub(crate) struct Http {
    client: reqwest::Client,
    base: String,
    bearer: HeaderValue,
}

impl Http {
    pub(crate) fn new(place: &Place, token: &TokenSecret) -> Result<Self, Failure> {
        let (client, base) = connection(place)?;
        let mut bearer = HeaderValue::try_from(format!("Bearer {}", token.expose()))
            .map_err(|_| Failure::usage("the token holds characters that cannot be sent"))?;
        bearer.set_sensitive(true);
        Ok(Self { client, base, bearer })
    }

    /// Where it is.
    pub(crate) fn address(&self) -> &str {
        &self.base
    }

    fn request(&self, method: Method, route: &Route) -> reqwest::RequestBuilder {
        let url = format!("{}{}", self.base, route.as_str());
        self.client.request(method, url).header(header::AUTHORIZATION, self.bearer.clone())
    }

    pub(crate) async fn ask(
        &self,
        method: Method,
        route: &Route,
        body: Option<Payload>,
    ) -> Result<Answer, Failure> {
        let limit = if route.is_long() { LONG_TIMEOUT } else { REQUEST_TIMEOUT };
        let mut request = self.request(method, route).timeout(limit);
        if let Some(body) = body {
            request = request.header(header::CONTENT_TYPE, body.content_type).body(body.text);
        }
        match request.send().await {
            Ok(response) => self.read(response).await,
            Err(error) => Err(unreachable(&self.base, &error).await),
        }
    }

    async fn read(&self, response: reqwest::Response) -> Result<Answer, Failure> {
        let status = response.status().as_u16();
        match response.text().await {
            Ok(text) => Ok(Answer { status, text }),
            Err(error) => Err(unreachable(&self.base, &error).await),
        }
    }

    pub(crate) async fn open(
        &self,
        route: &Route,
        last_event_id: Option<u64>,
    ) -> Result<Result<ByteStream, Answer>, Failure> {
        let mut request = self.request(Method::GET, route);
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let silent = |_| Failure::unreachable(format!("cannot reach {}: it does not answer", self.base));
        let response = match tokio::time::timeout(SILENCE, request.send()).await.map_err(silent)? {
            Ok(response) => response,
            Err(error) => return Err(unreachable(&self.base, &error).await),
        };
        if !response.status().is_success() {
            return tokio::time::timeout(SILENCE, self.read(response)).await.map_err(silent)?.map(Err);
        }
        let lost = |error| Failure::unreachable(format!("the connection was lost: {}", reason(&error)));
        Ok(Ok(unless_silent(response.bytes_stream().map_err(lost).boxed())))
    }
}

/// What it means that no answer came. HTTP and HTTPS are easily mistaken for each other, so it is tried which of the two is
/// spoken there; no token is sent.
async fn unreachable(base: &str, error: &reqwest::Error) -> Failure {
    let failure = Failure::unreachable(format!("cannot reach {base}: {}", reason(error)));
    let Some((scheme, rest)) = base.split_once("://").filter(|_| !error.is_timeout()) else {
        return failure.hint(NOBODY);
    };
    let (other, spoken, is_there) = if scheme == "https" {
        let other = format!("http://{rest}");
        let is_there = is_healthy(&Place { url: other.clone(), certificate: None }).await;
        (other, "plain HTTP, without TLS", is_there)
    } else {
        let other = format!("https://{rest}");
        let is_there = speaks_tls(&other).await;
        (other, "TLS", is_there)
    };
    match is_there {
        true => Failure::failed(format!("cannot reach {base}: the server there speaks {spoken}"))
            .hint(format!("use `--server {other}`, or set `CARDWIRE_URL` to it")),
        false => failure.hint(NOBODY),
    }
}

const NOBODY: &str =
    "is the server running, and is the address right? `cardwire up` starts one on this machine";

/// Whether TLS is spoken there. Whoever shows a certificate does so, also one that nobody vouches for.
async fn speaks_tls(url: &str) -> bool {
    let Ok((client, base)) = connection(&Place { url: url.to_owned(), certificate: None }) else {
        return false;
    };
    match client.get(format!("{base}/health")).timeout(HEALTH_TIMEOUT).send().await {
        Ok(_) => true,
        Err(error) => reason(&error).contains("certificate"),
    }
}

/// A stream of events that ends when nothing is heard for too long. Only a stream: whoever looks at a whole store is silent
/// meanwhile.
fn unless_silent(stream: ByteStream) -> ByteStream {
    let heard = |stream: Option<ByteStream>| async move {
        let mut stream = stream?;
        match tokio::time::timeout(SILENCE, stream.next()).await {
            Ok(next) => Some((next?, Some(stream))),
            Err(_) => {
                let lost = Failure::failed("the connection was lost: nothing was heard for too long");
                Some((Err(lost), None))
            }
        }
    };
    stream::unfold(Some(stream), heard).boxed()
}

/// Whether a server answers at this address, or why not. No token is sent.
pub(crate) async fn health(place: &Place) -> Result<(), Failure> {
    let (client, base) = connection(place)?;
    match client.get(format!("{base}/health")).timeout(HEALTH_TIMEOUT).send().await {
        Ok(response) if response.status().is_success() => Ok(()),
        Ok(response) => Err(Failure::failed(format!(
            "{base} answers {} where a server of ours says that it is well",
            response.status()
        ))
        .hint("see whether the address is that of a Cardwire server")),
        Err(error) => Err(unreachable(&base, &error).await),
    }
}

/// Whether a server answers at this address. No token is sent.
pub(crate) async fn is_healthy(place: &Place) -> bool {
    let Ok((client, base)) = connection(place) else { return false };
    let answer = client.get(format!("{base}/health")).timeout(HEALTH_TIMEOUT).send().await;
    answer.is_ok_and(|response| response.status().is_success())
}

/// A client for this address, and the address without a slash at its end.
pub(crate) fn connection(place: &Place) -> Result<(reqwest::Client, String), Failure> {
    let url = &place.url;
    let parsed = Url::parse(url)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or_else(|| Failure::usage(format!("`{url}` is not an address of a server")).hint(EXAMPLE))?;
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(Failure::usage("the address of a server takes no user and no password")
            .hint("put the token into `CARDWIRE_TOKEN`"));
    }
    let mut builder = builder(&parsed);
    if parsed.scheme() == "https"
        && let Some(certificate) = &place.certificate
    {
        builder = builder.tls_backend_preconfigured(pinned::config(certificate)?);
    }
    let client = builder
        .build()
        .map_err(|error| Failure::failed(format!("cannot set up HTTP: {}", reason(&error))))?;
    Ok((client, parsed.as_str().trim_end_matches('/').to_owned()))
}

/// What every client of ours has in common.
fn builder(url: &Url) -> reqwest::ClientBuilder {
    let mut builder = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        // A redirect could carry a secret somewhere else.
        .redirect(redirect::Policy::none());
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    if url.scheme() == "http" {
        // Reading the system's certificates takes time, and fails where there are none.
        let config = rustls::ClientConfig::builder()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        builder = builder.tls_backend_preconfigured(config);
    }
    builder
}

const EXAMPLE: &str = "an address looks like `http://127.0.0.1:7117` or `https://cardwire.example`";

/// Whether this address leads nowhere else.
fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// The innermost cause: the outer ones only say that a request failed.
pub(crate) fn reason(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
