//! What stands between a worker and the server: it passes everything on and keeps a record. When the server is not
//! there, the worker's connection ends as the server's own would.

use super::{
    line::{Cut, Lines},
    record::{Record, Sent},
};
use crate::failure::Failure;
use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::{ConnectInfo, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use cardwire_kernel::spawn::Tasks;
use std::{net::Ipv4Addr, sync::Arc};
use tokio::net::TcpListener;

/// More than any server takes.
const BODY_BYTES: usize = 64 << 20;
/// What belongs to one connection, and not to the message.
const OF_THE_CONNECTION: [HeaderName; 5] =
    [header::HOST, header::CONNECTION, header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::EXPECT];

/// A proxy, until it is dropped.
pub(crate) struct Proxy {
    pub(crate) url: String,
    pub(crate) record: Arc<Record>,
    _tasks: Tasks,
}

struct Upstream {
    base: String,
    client: reqwest::Client,
    record: Arc<Record>,
}

impl Proxy {
    /// A proxy for the server at this address.
    pub(crate) async fn start(base: &str) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| Failure::failed(format!("cannot start the proxy: {error}"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(failed)?;
        let url = format!("http://{}", listener.local_addr().map_err(failed)?);
        let record = Arc::<Record>::default();
        let upstream = Upstream { base: base.to_owned(), client: client()?, record: Arc::clone(&record) };
        let service = Router::new()
            .fallback(pass_on)
            .with_state(Arc::new(upstream))
            .into_make_service_with_connect_info::<Cut>();
        let tasks = Tasks::default();
        tasks.spawn("the proxy", |mut stop| async move {
            let serving = axum::serve(Lines(listener), service);
            let _ = serving.with_graceful_shutdown(async move { stop.stopped().await }).await;
        });
        Ok(Self { url, record, _tasks: tasks })
    }
}

fn client() -> Result<reqwest::Client, Failure> {
    // The server is on this machine and speaks no TLS; its connections are not kept, because it is killed at times.
    let tls = rustls::ClientConfig::builder()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    reqwest::Client::builder()
        .no_proxy()
        .pool_max_idle_per_host(0)
        .redirect(reqwest::redirect::Policy::none())
        .tls_backend_preconfigured(tls)
        .build()
        .map_err(|error| Failure::failed(format!("cannot set up HTTP: {error}")))
}

async fn pass_on(
    State(upstream): State<Arc<Upstream>>,
    ConnectInfo(line): ConnectInfo<Cut>,
    request: Request,
) -> Response {
    match upstream.exchange(request).await {
        Ok(response) => response,
        Err(Lost) => {
            upstream.record.unanswered();
            line.cut();
            StatusCode::BAD_GATEWAY.into_response()
        }
    }
}

impl Upstream {
    async fn exchange(&self, request: Request) -> Result<Response, Lost> {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path();
        let body = to_bytes(body, BODY_BYTES).await.map_err(|_| Lost)?;
        self.record.sent(&Sent {
            method: parts.method.as_str(),
            path,
            bearer: bearer(&parts.headers),
            body: &body,
        });
        let target = parts.uri.path_and_query().map_or(path, |target| target.as_str());
        let sending = self
            .client
            .request(parts.method.clone(), format!("{}{target}", self.base))
            .headers(message_headers(&parts.headers))
            .body(body);
        let answer = sending.send().await.map_err(|_| Lost)?;
        let (status, headers) = (answer.status(), message_headers(answer.headers()));
        let body = if is_endless(&headers) {
            Body::from_stream(answer.bytes_stream())
        } else {
            let body: Bytes = answer.bytes().await.map_err(|_| Lost)?;
            self.record.answered(path, status.as_u16(), &body);
            Body::from(body)
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        Ok(response)
    }
}

/// The server did not answer, or not to the end.
struct Lost;

fn message_headers(headers: &HeaderMap) -> HeaderMap {
    let mut kept = headers.clone();
    for name in OF_THE_CONNECTION {
        kept.remove(name);
    }
    kept
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// A worker may follow the event log as well.
fn is_endless(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    kind.is_some_and(|kind| kind.starts_with(b"text/event-stream"))
}
