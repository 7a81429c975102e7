//! The event log as server-sent events (API-13). A stream reads the durable log, so it resumes exactly on any
//! instance; what wakes it is only a hint.

use crate::{
    error::{Answer, ApiError},
    request::Request,
    state::State,
};
use axum::response::{
    IntoResponse,
    sse::{Event as SseEvent, KeepAlive, Sse},
};
use cardwire_api::events::EventOut;
use cardwire_kernel::{spawn::Stop, store::EventFilter};
use cardwire_model::{Event, Invalid, ProjectId};
use futures_util::stream;
use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};
use tokio::sync::watch;

const HEARTBEAT: Duration = Duration::from_secs(15);
/// How long a stream waits for a hint before it looks by itself.
const LOOK_EVERY: Duration = Duration::from_millis(500);

pub(crate) async fn read(request: Request) -> Answer {
    let after = match request.headers.get("last-event-id") {
        Some(id) => {
            let id = id.to_str().ok().and_then(|id| id.trim().parse().ok());
            id.ok_or_else(|| Invalid::field("Last-Event-ID", "must be a position"))?
        }
        None => match request.integer("after")? {
            Some(after) => {
                u64::try_from(after).map_err(|_| Invalid::field("after", "must not be negative"))?
            }
            None => 0,
        },
    };
    let filter = EventFilter {
        agent_id: request.parsed("agent_id")?,
        turn_id: request.parsed("agent_turn_id")?,
        batch_id: request.parsed("batch_id")?,
        trace_id: request.printable("trace_id")?,
    };
    let kernel = &request.state.kernel;
    let reader = Reader {
        project: request.project()?.clone(),
        secret: request.by()?.secret.expose().to_owned(),
        after,
        filter,
        follow: request.flag("follow")?.unwrap_or(true),
        ready: VecDeque::new(),
        changes: kernel.log_changes(),
        stop: kernel.tasks().stop(),
        state: Arc::clone(&request.state),
    };
    let events = stream::unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        Some((Ok::<_, Infallible>(event), reader))
    });
    let alive = KeepAlive::new().interval(HEARTBEAT).text("heartbeat");
    Ok(Sse::new(events).keep_alive(alive).into_response())
}

struct Reader {
    state: Arc<State>,
    project: ProjectId,
    secret: String,
    /// How far the log was gone through. Events up to here that are wanted were sent, or are ready.
    after: u64,
    filter: EventFilter,
    follow: bool,
    ready: VecDeque<Event>,
    changes: watch::Receiver<u64>,
    stop: Stop,
}

impl Reader {
    /// The next event; `None` ends the stream.
    async fn next(&mut self) -> Option<SseEvent> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                let out = EventOut::new(&self.project, &event);
                let data = serde_json::to_string(&out).ok()?;
                return Some(SseEvent::default().id(event.position.to_string()).event(out.kind).data(data));
            }
            self.changes.borrow_and_update();
            match self.look().await {
                Ok(events) if events.is_empty() => {
                    if !self.follow {
                        return None;
                    }
                    tokio::select! {
                        _ = self.changes.changed() => {}
                        () = tokio::time::sleep(LOOK_EVERY) => {}
                        () = self.stop.stopped() => return None,
                    }
                }
                Ok(events) => self.ready = events.into(),
                // The client comes back with the last id it has seen.
                Err(error) => {
                    tracing::warn!(error = %error.message, "an event stream ended");
                    return None;
                }
            }
        }
    }

    /// A revoked token or a deleted project ends the stream as it would end any other request.
    async fn look(&mut self) -> Result<Vec<Event>, ApiError> {
        let kernel = &self.state.kernel;
        kernel.authenticate(&self.secret).await?;
        kernel.live_project(&self.project).await?;
        let (events, until) = kernel.events_until(&self.project, self.after, &self.filter).await?;
        self.after = until;
        Ok(events)
    }
}
