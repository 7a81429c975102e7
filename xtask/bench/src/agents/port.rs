//! The way to the kernel in this process, which sees how turns come to rest and tells those who wait for it.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, header};
use cardwire_kernel::Kernel;
use cardwire_model::TokenSecret;
use cardwire_server::ServerConfig;
use cardwire_worker::{Ask, Method, Port, Reply, Unreachable};
use serde_json::Value;
use tokio::sync::oneshot;

/// How a turn came to rest.
#[derive(Debug)]
pub(super) enum Rest {
    Delivered,
    /// What its holder said of it.
    Failed(String),
    Waits,
}

/// The server's own router.
pub(super) struct RouterPort {
    router: Router,
    token: TokenSecret,
    asked: AtomicU64,
    /// Who waits for which turn.
    waiting: Mutex<HashMap<String, oneshot::Sender<Rest>>>,
}

impl fmt::Debug for RouterPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RouterPort").finish_non_exhaustive()
    }
}

impl RouterPort {
    pub(super) fn new(kernel: &Arc<Kernel>, token: TokenSecret) -> Self {
        let config = ServerConfig { requests_per_second: u32::MAX, ..ServerConfig::new("bench") };
        let router = cardwire_server::router(Arc::clone(kernel), config);
        Self { router, token, asked: AtomicU64::new(0), waiting: Mutex::default() }
    }

    /// Requests so far.
    pub(super) fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// How a turn comes to rest, the next time it does.
    pub(super) fn rest_of(&self, turn: &str) -> oneshot::Receiver<Rest> {
        let (sender, receiver) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(turn.to_owned(), sender);
        receiver
    }

    fn tell(&self, ask: &Ask<'_>) {
        let Some((turn, rest)) = rest(&ask.path, ask.body.as_deref().unwrap_or_default()) else { return };
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(turn);
        if let Some(waiting) = waiting {
            // Who went away does not need to know.
            let _ = waiting.send(rest);
        }
    }
}

/// The turn that a request brought to rest, and how.
fn rest<'a>(path: &'a str, body: &str) -> Option<(&'a str, Rest)> {
    let (_, turn) = path.split_once("/l0/turns/")?;
    match turn.split_once(':')? {
        (turn, "suspend") => Some((turn, Rest::Waits)),
        (turn, "finish") if body.contains(r#""status":"success""#) => Some((turn, Rest::Delivered)),
        (turn, "finish") => Some((turn, Rest::Failed(body.to_owned()))),
        _ => None,
    }
}

#[async_trait]
impl Port for RouterPort {
    async fn ask(&self, ask: &Ask<'_>) -> Result<Reply, Unreachable> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let method = match ask.method {
            Method::Get => axum::http::Method::GET,
            Method::Post => axum::http::Method::POST,
        };
        let token = ask.token.unwrap_or_else(|| self.token.expose());
        let request = Request::builder()
            .method(method)
            .uri(&ask.path)
            .header(header::HOST, "localhost")
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(ask.body.clone().unwrap_or_default()))
            .map_err(|error| Unreachable(error.to_string()))?;
        let response = match tower::ServiceExt::oneshot(self.router.clone(), request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), usize::MAX).await;
        let bytes = bytes.map_err(|error| Unreachable(error.to_string()))?;
        if status == 200 {
            self.tell(ask);
        }
        Ok(Reply { status, body: serde_json::from_slice(&bytes).unwrap_or(Value::Null) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_end_or_suspend_a_turn_bring_it_to_rest() {
        let of = |path: &str, body: &str| rest(path, body).map(|(turn, rest)| (turn.to_owned(), rest));
        let turn = "/projects/p/l0/turns/turn_1";
        assert!(matches!(of(&format!("{turn}:suspend"), ""), Some((id, Rest::Waits)) if id == "turn_1"));
        let ended = of(&format!("{turn}:finish"), r#"{"status":"success"}"#);
        assert!(matches!(ended, Some((_, Rest::Delivered))));
        let ended = of(&format!("{turn}:finish"), r#"{"status":"failed"}"#);
        assert!(matches!(ended, Some((_, Rest::Failed(_)))));
        assert!(of(&format!("{turn}/calls"), "").is_none() && of("/l0/claim", "").is_none());
    }
}
