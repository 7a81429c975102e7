//! The event log as server-sent events (API-13). A stream reads the durable log, so it resumes exactly on any
//! instance; it sleeps until its own project has news (F-25). A revoked token or a deleted project ends it.

use crate::{error::Answer, request::Request, state::State};
use axum::response::{
    IntoResponse,
    sse::{Event as SseEvent, KeepAlive, Sse},
};
use cardwire_api::events::EventOut;
use cardwire_kernel::{Follower, spawn::Stop, store::EventFilter};
use cardwire_model::Invalid;
use futures_util::stream;
use std::{convert::Infallible, sync::Arc, time::Duration};

const HEARTBEAT: Duration = Duration::from_secs(15);

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
    let follower = kernel.follow_log(request.project()?, request.by()?.secret.hash(), after, filter);
    let reader = Reader {
        follower,
        goes_on: request.flag("follow")?.unwrap_or(true),
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
    follower: Follower,
    /// It does not end where the log does.
    goes_on: bool,
    stop: Stop,
}

impl Reader {
    /// The next event; `None` ends the stream.
    async fn next(&mut self) -> Option<SseEvent> {
        let kernel = &self.state.kernel;
        loop {
            if let Some((project, event)) = self.follower.next_read() {
                return told(&EventOut::new(project, event));
            }
            // On the heap, and gone while nothing happens: of thousands of streams, most wait.
            match Box::pin(kernel.follow_on(&mut self.follower)).await {
                Ok(true) => {}
                Ok(false) if !self.goes_on => return None,
                Ok(false) => tokio::select! {
                    () = self.follower.hint() => {}
                    () = self.stop.stopped() => return None,
                },
                // The client comes back with the last id it has seen.
                Err(error) => {
                    tracing::warn!(%error, "an event stream ended");
                    return None;
                }
            }
        }
    }
}

fn told(event: &EventOut) -> Option<SseEvent> {
    let data = serde_json::to_string(event).ok()?;
    Some(SseEvent::default().id(event.position.to_string()).event(event.kind).data(data))
}
