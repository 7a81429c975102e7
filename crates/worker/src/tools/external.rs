//! Tools that run elsewhere, over HTTP: the call goes out signed, and is answered at once or later with a report.

use super::WAIT_SECONDS;
use crate::{card::Answer, desk::Desk, tool_bus::ToolBus, transcript::Call};
use cardwire_egress::{Asker, Door, Refused, innermost, parse, refusal};
use cardwire_model::{limits::TOOL_ANSWER_BYTES, trace::TRACEPARENT};
use futures_util::StreamExt;
use ring::hmac::{self, HMAC_SHA256};
use secrecy::ExposeSecret;
use serde_json::{Map, Value, json};
use std::{fmt, sync::Arc, time::Duration};

/// The name of the key that requests are signed with.
const KEY: &str = "tools";
/// Where the signature stands.
const SIGNATURE: &str = "x-cardwire-signature";

/// What became of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ran {
    /// It was answered.
    Answered(Answer),
    /// It will be, by a report; the turn waits for so many seconds.
    Later(u32),
}

/// Why there is no answer.
enum Unsent {
    /// The call may not go there.
    Refused(Refused),
    /// It went wrong.
    Failed(String),
}

impl From<Refused> for Unsent {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<reqwest::Error> for Unsent {
    fn from(error: reqwest::Error) -> Self {
        refusal(&error).cloned().map_or_else(|| Self::Failed(innermost(&error)), Self::Refused)
    }
}

/// Calls of tools elsewhere.
pub(crate) struct External {
    door: Arc<Door>,
    bus: Option<Arc<dyn ToolBus>>,
}

impl fmt::Debug for External {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("External").finish_non_exhaustive()
    }
}

impl External {
    pub(crate) fn new(door: Arc<Door>, bus: Option<Arc<dyn ToolBus>>) -> Self {
        Self { door, bus }
    }

    /// Where tools listen that have no address.
    pub(crate) fn bus(&self) -> Option<&dyn ToolBus> {
        self.bus.as_deref()
    }

    /// Calls the tool. Whatever goes wrong is an answer.
    pub(crate) async fn run(
        &self,
        desk: &Desk,
        call: &Call,
        arguments: &Map<String, Value>,
        target: &Map<String, Value>,
        seconds: u64,
    ) -> Ran {
        let Some(url) = target.get("url").and_then(Value::as_str) else {
            let message = format!("the target of {} has no url", call.name);
            return Ran::Answered(Answer::failed("tool_unsupported", message));
        };
        let lease = &desk.lease;
        let body = json!({
            "tool_call_id": call.id, "tool_name": call.name, "arguments": arguments,
            "project_id": lease.project_id, "agent_id": lease.agent_id,
            "agent_turn_id": lease.agent_turn_id, "turn_epoch": lease.turn_epoch,
        });
        let asker = Asker::Project(&lease.project_id);
        let sent = self.send(asker, url, body.to_string(), desk.trace.header());
        match tokio::time::timeout(Duration::from_secs(seconds), sent).await {
            Ok(Ok(ran)) => ran,
            Ok(Err(Unsent::Refused(refused))) => {
                Ran::Answered(Answer::failed("egress_refused", refused.to_string()))
            }
            Ok(Err(Unsent::Failed(message))) => Ran::Answered(Answer::failed("tool_failed", message)),
            Err(_) => {
                let message = format!("{} did not answer within {seconds} s", call.name);
                Ran::Answered(Answer::failed("tool_timeout", message))
            }
        }
    }

    async fn send(
        &self,
        asker: Asker<'_>,
        url: &str,
        body: String,
        trace: Option<String>,
    ) -> Result<Ran, Unsent> {
        let url = parse(url)?;
        let key = self.door.signing_key(asker, KEY, &url)?;
        let destination = self.door.destination(asker, url)?;
        let mut request = destination.post().header("content-type", "application/json");
        if let Some(key) = key {
            request = request.header(SIGNATURE, signature(key.expose_secret().as_bytes(), body.as_bytes()));
        }
        if let Some(trace) = trace {
            request = request.header(TRACEPARENT, trace);
        }
        let response = request.body(body).send().await.map_err(|error| match Unsent::from(error) {
            Unsent::Failed(cause) => {
                Unsent::Failed(format!("cannot reach the tool at {}: {cause}", destination.origin()))
            }
            refused @ Unsent::Refused(_) => refused,
        })?;
        let status = response.status().as_u16();
        if status == 202 {
            return Ok(Ran::Later(WAIT_SECONDS));
        }
        let text = read(response).await?;
        if !(200..300).contains(&status) {
            return Err(Unsent::Failed(format!("the tool at {} answered {status}", destination.origin())));
        }
        Ok(Ran::Answered(Answer::Success(serde_json::from_str(&text).unwrap_or(Value::String(text)))))
    }
}

/// The body, bounded.
async fn read(response: reqwest::Response) -> Result<String, Unsent> {
    let mut bytes = vec![];
    let mut stream = response.bytes_stream();
    while let Some(chunk) = stream.next().await {
        bytes.extend_from_slice(&chunk?);
        if bytes.len() > TOOL_ANSWER_BYTES {
            return Err(Unsent::Failed(format!("the tool answered more than {TOOL_ANSWER_BYTES} bytes")));
        }
    }
    String::from_utf8(bytes)
        .map_err(|_| Unsent::Failed("the tool answered something that is no text".to_owned()))
}

/// `sha256=` and the HMAC of the body.
fn signature(key: &[u8], body: &[u8]) -> String {
    let mac = hmac::sign(&hmac::Key::new(HMAC_SHA256, key), body);
    let hex: String = mac.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={hex}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test case 2.
    #[test]
    fn a_request_is_signed_as_others_would() {
        assert_eq!(
            signature(b"Jefe", b"what do ya want for nothing?"),
            "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }
}
