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
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        self.read(response).await
    }

    async fn read(&self, response: reqwest::Response) -> Result<Answer, Failure> {
        let status = response.status().as_u16();
        let text = response.text().await.map_err(|error| self.unreachable(&error))?;
        Ok(Answer { status, text })
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
        let silent = |_| Failure::failed(format!("cannot reach {}: it does not answer", self.base));
        let sent = tokio::time::timeout(SILENCE, request.send()).await.map_err(silent)?;
        let response = sent.map_err(|error| self.unreachable(&error))?;
        if !response.status().is_success() {
            return tokio::time::timeout(SILENCE, self.read(response)).await.map_err(silent)?.map(Err);
        }
        let lost = |error| Failure::failed(format!("the connection was lost: {}", reason(&error)));
        Ok(Ok(unless_silent(response.bytes_stream().map_err(lost).boxed())))
    }

    fn unreachable(&self, error: &reqwest::Error) -> Failure {
        Failure::failed(format!("cannot reach {}: {}", self.base, reason(error)))
            .hint("is the server running? `cardwire up` starts one")
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
