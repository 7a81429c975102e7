//! The relay: every event of the durable log, in its order, into a JetStream stream.
//!
//! The id of the event is its `Nats-Msg-Id`, so that several relays, or one that starts again, put each event there
//! once, as long as the stream knows the id. Where a relay begins is read from the stream itself: the last event of the project
//! that is there. JetStream acknowledges before it syncs and may lose what it acknowledged; the log in the store is the truth.
//!
//! Invariant: an event is sent when the one before it is acknowledged, never earlier. Whatever is lost on the way, the last event
//! in the stream has all others before it.

use crate::{doorbell::put_trace, subjects};
use async_nats::{
    Client, HeaderMap,
    jetstream::{self, stream},
};
use cardwire_kernel::{Kernel, spawn::Stop, store::EventFilter};
use cardwire_model::{Event, ProjectId, SpanId, limits};
use serde_json::{Value, json};
use std::{collections::HashMap, sync::Arc, time::Duration};

/// The stream's name.
pub const STREAM: &str = "CARDWIRE_EVENTS";
/// Events that tell their place in the project's log.
const POSITION: &str = "Cardwire-Position";
/// Between two looks when nothing is heard of new events.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Events that come meanwhile are relayed together.
const PAUSE: Duration = Duration::from_millis(20);
/// How long the stream knows an id and removes doubles by it.
const DOUBLES: Duration = Duration::from_secs(600);
/// Pause after a failure.
const RETRY: Duration = Duration::from_secs(1);
/// Bytes the stream keeps at most; the oldest go first. The store keeps all.
const STREAM_BYTES: i64 = 1 << 30;

type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Relays until the kernel ends.
pub(crate) async fn relay(client: Client, kernel: Arc<Kernel>, mut stop: Stop) {
    let context = jetstream::new(client);
    let mut changes = kernel.log_changes();
    loop {
        let round = async {
            let stream = context.get_or_create_stream(config()).await?;
            let mut cursors = HashMap::new();
            loop {
                relay_all(&context, &stream, &kernel, &mut cursors).await?;
                tokio::time::sleep(PAUSE).await;
                tokio::select! {
                    changed = changes.changed() => if changed.is_err() { return Ok(()) },
                    () = tokio::time::sleep(LOOK_EVERY) => {}
                }
            }
        };
        let ended: Result<(), Failed> = tokio::select! {
            ended = round => ended,
            () = stop.stopped() => return,
        };
        match ended {
            Ok(()) => return,
            Err(error) => tracing::debug!(%error, "cannot relay events"),
        }
        tokio::select! {
            () = tokio::time::sleep(RETRY) => {}
            () = stop.stopped() => return,
        }
    }
}

fn config() -> stream::Config {
    stream::Config {
        name: STREAM.to_owned(),
        subjects: vec![subjects::ALL_EVENTS.to_owned()],
        max_bytes: STREAM_BYTES,
        discard: stream::DiscardPolicy::Old,
        duplicate_window: DOUBLES,
        ..stream::Config::default()
    }
}

async fn relay_all(
    context: &jetstream::Context,
    stream: &stream::Stream,
    kernel: &Kernel,
    cursors: &mut HashMap<ProjectId, u64>,
) -> Result<(), Failed> {
    let mut after = None;
    loop {
        let page = kernel.list_projects(after, limits::PAGE_MAX).await?;
        let ids: Vec<ProjectId> = page.iter().map(|project| project.id.clone()).collect();
        for (project, end) in kernel.last_positions(&ids).await? {
            // Most have nothing new.
            if cursors.get(&project).is_none_or(|cursor| *cursor < end) {
                relay_project(context, stream, kernel, &project, cursors).await?;
            }
        }
        if page.len() < limits::PAGE_MAX {
            return Ok(());
        }
        after = page.last().map(|project| project.id.clone());
    }
}

async fn relay_project(
    context: &jetstream::Context,
    stream: &stream::Stream,
    kernel: &Kernel,
    project: &ProjectId,
    cursors: &mut HashMap<ProjectId, u64>,
) -> Result<(), Failed> {
    let mut cursor = match cursors.get(project) {
        Some(cursor) => *cursor,
        None => last_relayed(stream, project).await?,
    };
    loop {
        let events = kernel.events(project, cursor, &EventFilter::default()).await?;
        for event in &events {
            let (subject, headers) = (event.subject(project.as_str()), headers(event));
            let body = body(project, event).to_string();
            // Not a page at once: a connection that breaks takes the first of it along, and the rest would still arrive.
            context.publish_with_headers(subject, headers, body.into()).await?.await?;
            cursor = event.position;
        }
        cursors.insert(project.clone(), cursor);
        if events.len() < limits::EVENT_PAGE {
            return Ok(());
        }
    }
}

/// The place of the last event of a project that the stream has.
async fn last_relayed(stream: &stream::Stream, project: &ProjectId) -> Result<u64, Failed> {
    match stream.get_last_raw_message_by_subject(&subjects::events_of(project)).await {
        Ok(message) => {
            let position = message.headers.get(POSITION).and_then(|text| text.as_str().parse().ok());
            Ok(position.unwrap_or(0))
        }
        Err(error) if error.kind() == stream::LastRawMessageErrorKind::NoMessageFound => Ok(0),
        Err(error) => Err(error.into()),
    }
}

fn headers(event: &Event) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Msg-Id", event.event.id.to_string());
    headers.insert(POSITION, event.position.to_string());
    let new = &event.event;
    let id = new.turn_id.map_or_else(|| new.id.uuid(), |turn| turn.uuid());
    put_trace(&mut headers, new.trace_id.as_deref(), SpanId::of(id));
    headers
}

/// Ids and counters only, as in the log; what is in `data` stands beside it, too (WK-06).
fn body(project: &ProjectId, event: &Event) -> Value {
    let new = &event.event;
    let mut body = json!({
        "event_id": new.id.to_string(),
        "project_id": project.as_str(),
        "position": event.position,
        "kind": new.kind.as_str(),
        "agent_id": new.agent_id.as_ref().map(|id| id.as_str()),
        "agent_turn_id": new.turn_id.map(|id| id.to_string()),
        "batch_id": new.batch_id.map(|id| id.to_string()),
        "trace_id": new.trace_id,
        "at": new.at.to_string(),
        "data": new.data.to_value(),
    });
    for (name, value) in new.told(|name| body.get(name).is_some()) {
        body[name] = value;
    }
    body
}
