//! A port with patience: what could not be asked, or found the server too busy, is asked again for a while.

use crate::{
    port::{Ask, Key, Method, Port, Reply},
    trouble::Trouble,
};
use cardwire_llm::spread;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::{sync::Arc, time::Duration};

/// Where turns are claimed.
pub(crate) const CLAIM: &str = "/l0/claim";
/// Pauses between two attempts, each a little longer for some than for others: turns that met a server that restarts do not
/// all come back at once. It is back within this.
const PAUSES_MS: [u64; 9] = [50, 100, 250, 500, 1_000, 2_000, 5_000, 10_000, 20_000];

/// Whether a request is asked again when no answer came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Again {
    /// Yes: it has this name, under which it is done once.
    Named(Key),
    /// Yes: to do it twice does no harm.
    Harmless,
    /// No.
    Never,
}

/// A port with patience.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    port: Arc<dyn Port>,
}

impl Line {
    pub(crate) fn new(port: Arc<dyn Port>) -> Self {
        Self { port }
    }

    pub(crate) async fn get(
        &self,
        path: String,
        token: Option<&str>,
        trace: Option<&str>,
    ) -> Result<Value, Trouble> {
        let ask = Ask { method: Method::Get, path, token, body: None, trace, key: None };
        self.ask(ask, true).await
    }

    pub(crate) async fn post(
        &self,
        path: String,
        token: Option<&str>,
        body: &(impl Serialize + Sync),
        trace: Option<&str>,
        again: Again,
    ) -> Result<Value, Trouble> {
        let body = serde_json::to_string(body).map_err(|error| Trouble::Refused {
            status: 400,
            code: "unspeakable_request".to_owned(),
            message: error.to_string(),
        })?;
        let body = Some(body);
        let (may_repeat, key) = match again {
            Again::Named(key) => (true, Some(key)),
            Again::Harmless => (true, None),
            Again::Never => (false, None),
        };
        self.ask(Ask { method: Method::Post, path, token, body, trace, key }, may_repeat).await
    }

    async fn ask(&self, ask: Ask<'_>, may_repeat: bool) -> Result<Value, Trouble> {
        let mut pauses = (1..).zip(PAUSES_MS);
        loop {
            let trouble = match self.port.ask(&ask).await {
                Ok(Reply { status: 200..=299, body }) => return Ok(body),
                Ok(Reply { status: status @ (429 | 502 | 503 | 504), body }) => Trouble::of(status, &body),
                // Who claims has no turn that could be gone. Whoever has one leaves it to those who may go on with it.
                Ok(Reply { status: 401, body }) if ask.path == CLAIM => {
                    return Err(Trouble::refused(401, &body));
                }
                Ok(Reply { status, body }) => return Err(Trouble::of(status, &body)),
                Err(unreachable) => Trouble::Unreachable(unreachable.0),
            };
            let Some((failures, pause)) = pauses.next().filter(|_| may_repeat) else { return Err(trouble) };
            // The path names the turn.
            tokio::time::sleep(spread(Duration::from_millis(pause), &ask.path, failures)).await;
        }
    }
}

/// Reads what was answered. An answer that makes no sense is a refusal of its own.
pub(crate) fn read<T: DeserializeOwned>(value: Value) -> Result<T, Trouble> {
    serde_json::from_value(value).map_err(|error| Trouble::Refused {
        status: 200,
        code: "malformed_answer".to_owned(),
        message: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::Unreachable;
    use async_trait::async_trait;
    use serde_json::json;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Does not answer the first time.
    #[derive(Debug, Default)]
    struct Shaky(AtomicUsize);

    #[async_trait]
    impl Port for Shaky {
        async fn ask(&self, _: &Ask<'_>) -> Result<Reply, Unreachable> {
            match self.0.fetch_add(1, Ordering::Relaxed) {
                0 => Err(Unreachable("reset".to_owned())),
                _ => Ok(Reply { status: 200, body: Value::Null }),
            }
        }
    }

    /// SEC-02: a claim with a token that opens nothing says so.
    #[tokio::test]
    async fn a_claim_that_is_refused_is_no_turn_that_is_gone() {
        let refuse = json!({ "error": { "code": "unauthenticated", "message": "m" } });
        let asked = crate::fixtures::Asked::new(move |_| crate::fixtures::Said::Answer(401, refuse.clone()));
        let line = Line::new(asked as _);
        let claim = line.post(CLAIM.to_owned(), None, &Value::Null, None, Again::Never).await;
        assert_eq!(claim.unwrap_err().code(), "unauthenticated");
        for token in [None, Some("turn")] {
            assert_eq!(line.get("/x".to_owned(), token, None).await, Err(Trouble::Gone));
        }
    }

    #[tokio::test]
    async fn what_may_be_done_twice_or_has_a_name_is_asked_again() {
        let post = async |again: Again| {
            let port = Arc::new(Shaky::default());
            let line = Line::new(Arc::clone(&port) as _);
            (
                line.post("/x".to_owned(), None, &Value::Null, None, again).await,
                port.0.load(Ordering::Relaxed),
            )
        };
        assert_eq!(post(Again::Named(Key::Here("k".to_owned()))).await, (Ok(Value::Null), 2));
        assert_eq!(post(Again::Harmless).await, (Ok(Value::Null), 2));
        assert_eq!(post(Again::Never).await, (Err(Trouble::Unreachable("reset".to_owned())), 1));
        let line = Line::new(Arc::new(Shaky::default()));
        assert_eq!(line.get("/x".to_owned(), None, None).await, Ok(Value::Null));
    }
}
