//! For tests: a kernel that answers as it is told and remembers what it was asked.

use crate::{
    desk::Desk,
    line::Line,
    port::{Ask, Key, Port, Reply, Unreachable},
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::{
    fmt,
    sync::{Arc, Mutex},
};

/// The turn of [`Asked::desk`].
pub(crate) const TURN: &str = "turn_0190b0a0000070008000000000000001";
/// Its trace.
pub(crate) const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// A request that was made.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) body: Value,
    pub(crate) trace: Option<String>,
    pub(crate) key: Option<Key>,
}

/// What becomes of a request.
pub(crate) enum Said {
    Answer(u16, Value),
    /// Nobody answers.
    Lost,
    /// The answer never comes.
    Never,
}

/// A kernel.
pub(crate) struct Asked {
    answer: Box<dyn Fn(&Request) -> Said + Send + Sync>,
    requests: Mutex<Vec<Request>>,
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asked").finish_non_exhaustive()
    }
}

impl Asked {
    pub(crate) fn new(answer: impl Fn(&Request) -> Said + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { answer: Box::new(answer), requests: Mutex::default() })
    }

    /// One that has nothing to say.
    pub(crate) fn content() -> Arc<Self> {
        Self::new(|_| Said::Answer(200, json!({})))
    }

    /// The holder of a turn.
    pub(crate) fn desk(self: &Arc<Self>) -> Desk {
        self.desk_of(TURN)
    }

    pub(crate) fn desk_of(self: &Arc<Self>, turn: &str) -> Desk {
        let lease = json!({
            "project_id": "p", "agent_id": "a", "agent_turn_id": turn, "turn_epoch": 1, "trace_id": TRACE,
            "kind": "turn", "turn_token": "t",
        });
        Desk::new(Line::new(Arc::clone(self) as _), serde_json::from_value(lease).unwrap(), 7)
    }

    /// What was asked of paths that end so, in order.
    pub(crate) fn requests(&self, end: &str) -> Vec<Request> {
        let requests = self.requests.lock().unwrap();
        requests.iter().filter(|request| request.path.ends_with(end)).cloned().collect()
    }
}

#[async_trait]
impl Port for Asked {
    async fn ask(&self, ask: &Ask<'_>) -> Result<Reply, Unreachable> {
        let request = Request {
            path: ask.path.clone(),
            body: ask.body.as_deref().map_or(Value::Null, |body| serde_json::from_str(body).unwrap()),
            trace: ask.trace.map(str::to_owned),
            key: ask.key.clone(),
        };
        let said = (self.answer)(&request);
        self.requests.lock().unwrap().push(request);
        match said {
            Said::Answer(status, body) => Ok(Reply { status, body }),
            Said::Lost => Err(Unreachable("reset".to_owned())),
            Said::Never => std::future::pending().await,
        }
    }
}
