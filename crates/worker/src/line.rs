//! A port with patience: what could not be asked, or found the server too busy, is asked again for a while.

use crate::{
    port::{Ask, Method, Port, Reply},
    trouble::Trouble,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::{sync::Arc, time::Duration};

/// Pauses between two attempts. A server that restarts is back within this.
const PAUSES_MS: [u64; 9] = [50, 100, 250, 500, 1_000, 2_000, 5_000, 10_000, 20_000];

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
        self.ask(Ask { method: Method::Get, path, token, body: None, trace, key: None }).await
    }

    pub(crate) async fn post(
        &self,
        path: String,
        token: Option<&str>,
        body: &(impl Serialize + Sync),
        trace: Option<&str>,
        key: Option<String>,
    ) -> Result<Value, Trouble> {
        let body = serde_json::to_string(body).map_err(|error| Trouble::Refused {
            status: 400,
            code: "unspeakable_request".to_owned(),
            message: error.to_string(),
        })?;
        let body = Some(body);
        self.ask(Ask { method: Method::Post, path, token, body, trace, key }).await
    }

    async fn ask(&self, ask: Ask<'_>) -> Result<Value, Trouble> {
        let mut pauses = PAUSES_MS.into_iter();
        loop {
            let trouble = match self.port.ask(&ask).await {
                Ok(Reply { status: 200..=299, body }) => return Ok(body),
                Ok(Reply { status: status @ (429 | 502 | 503 | 504), body }) => Trouble::of(status, &body),
                Ok(Reply { status, body }) => return Err(Trouble::of(status, &body)),
                Err(unreachable) => Trouble::Unreachable(unreachable.0),
            };
            // A request that does something is repeated only if it is named.
            let may_repeat = ask.method == Method::Get || ask.key.is_some();
            let Some(pause) = pauses.next().filter(|_| may_repeat) else { return Err(trouble) };
            tokio::time::sleep(Duration::from_millis(pause)).await;
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
