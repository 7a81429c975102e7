//! One way to ask: the same requests go over HTTP to a server or into the same router in this process.

mod embedded;
mod http;
mod pinned;

pub(crate) use embedded::{EmbedError, Embedded};
pub(crate) use http::{Http, Place, connection, health, is_healthy, reason};

use crate::{
    failure::{Code, Failure},
    route::Route,
};
use axum::body::Bytes;
use axum::http::Method;
use cardwire_api::ErrorBody;
use futures_util::stream::BoxStream;
use serde::de::DeserializeOwned;

/// Where requests go.
pub(crate) enum Client {
    /// To a server.
    Http(Http),
    /// Into this process.
    Embedded(Embedded),
}

/// A response as it came.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) text: String,
}

/// What a request carries.
#[derive(Debug)]
pub(crate) struct Payload {
    pub(crate) content_type: &'static str,
    pub(crate) text: String,
}

impl Payload {
    pub(crate) const JSON: &'static str = "application/json";

    pub(crate) fn json(text: String) -> Self {
        Self { content_type: Self::JSON, text }
    }
}

/// The bytes of a response that may have no end.
pub(crate) type ByteStream = BoxStream<'static, Result<Bytes, Failure>>;

impl Client {
    pub(crate) async fn get(&self, route: &Route) -> Result<Answer, Failure> {
        self.send(Method::GET, route, None).await
    }

    pub(crate) async fn post(
        &self,
        route: &Route,
        body: &(impl serde::Serialize + Sync),
    ) -> Result<Answer, Failure> {
        self.send(Method::POST, route, Some(json(body)?)).await
    }

    pub(crate) async fn put(&self, route: &Route, body: Payload) -> Result<Answer, Failure> {
        self.send(Method::PUT, route, Some(body)).await
    }

    pub(crate) async fn patch(
        &self,
        route: &Route,
        body: &(impl serde::Serialize + Sync),
    ) -> Result<Answer, Failure> {
        self.send(Method::PATCH, route, Some(json(body)?)).await
    }

    pub(crate) async fn delete(&self, route: &Route) -> Result<Answer, Failure> {
        self.send(Method::DELETE, route, None).await
    }

    /// Sends a request; any answer but a success is a failure.
    pub(crate) async fn send(
        &self,
        method: Method,
        route: &Route,
        body: Option<Payload>,
    ) -> Result<Answer, Failure> {
        let answer = self.ask(method, route, body).await?;
        if (200..300).contains(&answer.status) { Ok(answer) } else { Err(answer.into_failure()) }
    }

    /// Sends a request and takes whatever is answered.
    pub(crate) async fn ask(
        &self,
        method: Method,
        route: &Route,
        body: Option<Payload>,
    ) -> Result<Answer, Failure> {
        match self {
            Self::Http(http) => http.ask(method, route, body).await,
            Self::Embedded(embedded) => embedded.ask(method, route, body).await,
        }
    }

    /// Opens a stream of events, after the one with the given id; or takes the answer that refuses it.
    pub(crate) async fn open(
        &self,
        route: &Route,
        last_event_id: Option<u64>,
    ) -> Result<Result<ByteStream, Answer>, Failure> {
        match self {
            Self::Http(http) => http.open(route, last_event_id).await,
            Self::Embedded(embedded) => embedded.open_stream(route, last_event_id).await,
        }
    }

    /// Leaves the store as a server would.
    pub(crate) async fn close(&self) {
        match self {
            Self::Http(_) => {}
            Self::Embedded(embedded) => embedded.close().await,
        }
    }
}

fn json(body: &impl serde::Serialize) -> Result<Payload, Failure> {
    let text = serde_json::to_string(body);
    text.map(Payload::json).map_err(|error| Failure::failed(format!("cannot write the request: {error}")))
}

impl Answer {
    /// The body as a value.
    pub(crate) fn parse<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_str(&self.text)
            .map_err(|error| Failure::failed(format!("the server's answer makes no sense: {error}")))
    }

    /// Whether the same request will be refused again.
    pub(crate) fn is_final(&self) -> bool {
        (400..500).contains(&self.status) && self.status != 429
    }

    /// The failure that an error response means.
    pub(crate) fn into_failure(self) -> Failure {
        let code = match self.status {
            400 | 413 => Code::Usage,
            404 => Code::NotFound,
            409 => Code::Conflict,
            _ => Code::Failed,
        };
        let (word, message) = match self.parse::<ErrorBody>() {
            Ok(body) => (body.error.code, body.error.message),
            Err(_) => (String::new(), format!("the server answered {} without saying why", self.status)),
        };
        let hint = hint(self.status, &word, &message).map(str::to_owned);
        Failure { code, hint, message, is_unreachable: false }
    }
}

/// The text of the token that the environment gives, if any.
pub(crate) fn given_token() -> Option<String> {
    std::env::var("CARDWIRE_TOKEN").ok().filter(|text| !text.trim().is_empty())
}

/// What a person can do about an error that comes in many places, where its kind alone would not tell.
fn hint(status: u16, code: &str, message: &str) -> Option<&'static str> {
    match code {
        "worker_target_missing" => {
            return Some("add the agent with `cardwire agent add AGENT --profile NAME`");
        }
        "existing_agent_profile_mutation_forbidden" => {
            return Some(
                "an agent of that name has another profile; use another name, or another `--project`",
            );
        }
        "agent_busy" => return Some("leave out `--no-queue`, and the turn waits in the agent's inbox"),
        "inbox_full" => return Some("too many turns wait for this agent; `cardwire turn list` shows them"),
        "context_overflow" => {
            return Some("compact the session, or give a larger `--window` if the model has one");
        }
        "retriever_failed" => {
            return Some("the server asks the provider at its `--embeddings-url`; its log has the details");
        }
        "output_box_in_use" => return Some("`cardwire box fork BOX` passes on what is in it so far"),
        _ => {}
    }
    match status {
        401 if given_token().is_some() => Some(
            "the token in `CARDWIRE_TOKEN` is none of this server's: unset it, and `admin.token` of the data directory is \
             used, or set one that was made there",
        ),
        401 => Some(
            "set `CARDWIRE_TOKEN`, or give the `--data-dir` whose `admin.token` was made by this server's store",
        ),
        403 if message.contains("Host") => Some("start the server with `--allow-host NAME`"),
        403 => Some("use a token with a wider scope, or of the right project"),
        404 if message.starts_with("tool definition not found") => {
            Some("`cardwire recipe list` and `cardwire tool list` show what there is")
        }
        404 if message.starts_with("session not found") => {
            Some("`cardwire session list` shows what there is in a namespace")
        }
        404 if message.starts_with("checkpoint not found") => {
            Some("`cardwire session checkpoints SESSION` shows what there is")
        }
        404 if message.starts_with("call not found") => {
            Some("the steps of a turn name their calls; `cardwire turn call` makes one")
        }
        404 if message.starts_with("summary not found") => {
            Some("`cardwire context show CALL` names the cards of a request")
        }
        422 => Some("`cardwire handoff validate` tells every problem with its file and field"),
        429 => Some("wait a second, or start the server with a higher `--rate-limit`"),
        503 => Some("`cardwire doctor` says more; the server's log has the details"),
        _ => None,
    }
}
