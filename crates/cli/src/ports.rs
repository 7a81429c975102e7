//! Ways for a worker to the kernel: into this process, or to a server.

use crate::{
    client::{Place, connection, reason},
    failure::Failure,
};
use async_trait::async_trait;
use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderValue, Request, header},
};
use cardwire_bus::{Bus, ToolCall};
use cardwire_handoff::Files;
use cardwire_kernel::{
    Kernel,
    ids::{IdSource, SystemIds},
};
use cardwire_model::{Channel, TokenSecret, trace::TRACEPARENT};
use cardwire_server::ServerConfig;
use cardwire_worker::{Ask, BusCall, Key, Method, Port, Reply, ToolBus, Unreachable};
use serde_json::Value;
use std::{fmt, sync::Arc, time::Duration};
use tower::ServiceExt;

/// Longer than a claim waits.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The server's own router in this process. It loses no answers, so only what another process may ask again needs a name.
pub(crate) struct RouterPort {
    router: Router,
    token: TokenSecret,
}

impl fmt::Debug for RouterPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RouterPort").finish_non_exhaustive()
    }
}

impl RouterPort {
    /// A router of its own, so that the worker does not use up what others may ask.
    pub(crate) fn new(kernel: &Arc<Kernel>, token: TokenSecret, files: Arc<dyn Files>) -> Self {
        let config = ServerConfig {
            requests_per_second: u32::MAX,
            workspace: Some(files),
            ..ServerConfig::new(env!("CARGO_PKG_VERSION"))
        };
        Self { router: cardwire_server::router(Arc::clone(kernel), config), token }
    }
}

#[async_trait]
impl Port for RouterPort {
    async fn ask(&self, ask: &Ask<'_>) -> Result<Reply, Unreachable> {
        let token = ask.token.unwrap_or_else(|| self.token.expose());
        let mut request = Request::builder()
            .method(method(ask.method))
            .uri(&ask.path)
            .header(header::HOST, "localhost")
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(Key::Everywhere(key)) = &ask.key {
            request = request.header(IDEMPOTENCY_KEY, key);
        }
        if let Some(trace) = ask.trace {
            request = request.header(TRACEPARENT, trace);
        }
        let request = request
            .body(Body::from(ask.body.clone().unwrap_or_default()))
            .map_err(|error| Unreachable(error.to_string()))?;
        let response = match Box::pin(self.router.clone().oneshot(request)).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), usize::MAX).await;
        let bytes = bytes.map_err(|error| Unreachable(error.to_string()))?;
        Ok(Reply { status, body: serde_json::from_slice(&bytes).unwrap_or(Value::Null) })
    }
}

/// A server.
pub(crate) struct HttpPort {
    client: reqwest::Client,
    base: String,
    token: TokenSecret,
    /// Of this process: the server remembers what the one before it asked.
    name: String,
}

impl fmt::Debug for HttpPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpPort").field("base", &self.base).finish_non_exhaustive()
    }
}

impl HttpPort {
    pub(crate) fn new(place: &Place, token: TokenSecret) -> Result<Self, Failure> {
        let (client, base) = connection(place)?;
        Ok(Self { client, base, token, name: SystemIds.uuid().simple().to_string() })
    }
}

#[async_trait]
impl Port for HttpPort {
    async fn ask(&self, ask: &Ask<'_>) -> Result<Reply, Unreachable> {
        let token = ask.token.unwrap_or_else(|| self.token.expose());
        let mut bearer = HeaderValue::try_from(format!("Bearer {token}"))
            .map_err(|error| Unreachable(error.to_string()))?;
        bearer.set_sensitive(true);
        let url = format!("{}{}", self.base, ask.path);
        let mut request = self
            .client
            .request(method(ask.method), url)
            .timeout(REQUEST_TIMEOUT)
            .header(header::AUTHORIZATION, bearer)
            .header(header::CONTENT_TYPE, "application/json");
        request = match &ask.key {
            Some(Key::Here(key)) => request.header(IDEMPOTENCY_KEY, format!("{}-{key}", self.name)),
            Some(Key::Everywhere(key)) => request.header(IDEMPOTENCY_KEY, key),
            None => request,
        };
        if let Some(trace) = ask.trace {
            request = request.header(TRACEPARENT, trace);
        }
        if let Some(body) = &ask.body {
            request = request.body(body.clone());
        }
        let unreachable = |error: reqwest::Error| Unreachable(reason(&error));
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status().as_u16();
        let bytes = response.bytes().await.map_err(unreachable)?;
        Ok(Reply { status, body: serde_json::from_slice(&bytes).unwrap_or(Value::Null) })
    }
}

const fn method(method: Method) -> axum::http::Method {
    match method {
        Method::Get => axum::http::Method::GET,
        Method::Post => axum::http::Method::POST,
    }
}

/// The bus, for a worker whose tools listen there.
pub(crate) struct BusTools(pub(crate) Arc<Bus>);

impl fmt::Debug for BusTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BusTools").finish_non_exhaustive()
    }
}

#[async_trait]
impl ToolBus for BusTools {
    async fn tell(&self, call: &BusCall<'_>) -> Result<(), String> {
        self.0.tell_tool(&tool_call(call)?).await.map_err(|error| error.to_string())
    }

    async fn ask(&self, call: &BusCall<'_>, wait: Duration) -> Result<Option<Value>, String> {
        self.0.ask_tool(&tool_call(call)?, wait).await.map_err(|error| error.to_string())
    }
}

fn tool_call(call: &BusCall<'_>) -> Result<ToolCall, String> {
    let read = || {
        Ok::<_, cardwire_model::Invalid>(ToolCall {
            project: call.project_id.parse()?,
            channel: call.channel_id.map_or_else(|| Ok(Channel::public()), str::parse)?,
            target: call.target.parse()?,
            card_id: call.tool_call_card_id.parse()?,
            tool_call_id: call.tool_call_id.to_owned(),
            agent_id: call.agent_id.to_owned(),
            turn_id: call.agent_turn_id.to_owned(),
            epoch: call.turn_epoch,
            traceparent: call.traceparent.clone(),
        })
    };
    read().map_err(|invalid| invalid.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{client::Embedded, data_dir::DataDir};
    use cardwire_handoff::LocalFiles;
    use cardwire_server::{Listening, Room};
    use tempfile::TempDir;

    /// What a port is asked to create, and the same again by another port, as if the first one's process had gone.
    async fn twice(ports: [&dyn Port; 2], project: &str, key: impl Fn(String) -> Key) -> [u16; 2] {
        let ask = Ask {
            method: Method::Post,
            path: "/projects".to_owned(),
            token: None,
            body: Some(format!(r#"{{"project_id":"{project}"}}"#)),
            trace: None,
            key: Some(key(project.to_owned())),
        };
        let [first, next] = ports;
        [first.ask(&ask).await.unwrap().status, next.ask(&ask).await.unwrap().status]
    }

    /// API-16
    #[tokio::test]
    async fn a_name_for_everywhere_is_good_in_the_next_process_and_one_for_here_is_not() {
        let (home, root) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let (dir, files) = (DataDir::new(home.path()), Arc::new(LocalFiles::open(root.path()).unwrap()));
        let Ok(embedded) = Embedded::open(&dir, None, files).await else { panic!("no store") };
        let (kernel, token, files) = embedded.inside();
        let port = || RouterPort::new(kernel, token.clone(), Arc::clone(files));
        let (first, next) = (port(), port());
        assert_eq!(twice([&first, &next], "a", Key::Everywhere).await, [201, 201]);
        assert_eq!(twice([&first, &next], "b", Key::Here).await, [201, 409]);

        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = Place { url: format!("http://{}", listener.local_addr().unwrap()), certificate: None };
        let router = cardwire_server::router(Arc::clone(kernel), ServerConfig::new("test"));
        let (listening, never) =
            (Listening::plain(listener, Room::within(64)), Box::pin(std::future::pending()));
        let serving = cardwire_server::serve(listening, router, Arc::clone(kernel), never);
        let asking = async {
            let port = || HttpPort::new(&place, token.clone());
            let (Ok(first), Ok(next)) = (port(), port()) else { panic!("no client") };
            assert_eq!(twice([&first, &next], "c", Key::Everywhere).await, [201, 201]);
            assert_eq!(twice([&first, &next], "d", Key::Here).await, [201, 409]);
            assert_eq!(twice([&first, &first], "e", Key::Here).await, [201, 201]);
        };
        tokio::select! {
            () = asking => {}
            served = serving => panic!("{served:?}"),
        }
    }
}
