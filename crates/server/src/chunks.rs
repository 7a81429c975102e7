//! What a turn is writing, as server-sent events: chunks as they come, until the turn has ended. What is missed is in the
//! turn's cards.

use crate::{error::Answer, request::Request, state::State};
use axum::response::{
    IntoResponse,
    sse::{Event as SseEvent, KeepAlive, Sse},
};
use cardwire_api::chunks::ChunkOut;
use cardwire_kernel::{Chunk, spawn::Stop};
use cardwire_model::{ProjectId, TurnId};
use futures_util::stream;
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::sync::broadcast::{
    Receiver,
    error::{RecvError, TryRecvError},
};

const HEARTBEAT: Duration = Duration::from_secs(15);
/// How often a stream looks whether the turn has ended, and whether its reader may still read.
const LOOK_EVERY: Duration = Duration::from_millis(500);

pub(crate) async fn read(request: Request) -> Answer {
    let kernel = &request.state.kernel;
    let chunks = kernel.listen_to_chunks();
    let (project, turn_id) = (request.project()?.clone(), request.param("agent_turn_id")?);
    kernel.turn(&project, turn_id).await?;
    let stop = kernel.tasks().stop();
    let listener = Listener {
        state: Arc::clone(&request.state),
        secret: request.by()?.secret.expose().to_owned(),
        project,
        turn_id,
        chunks,
        stop,
        looks: tokio::time::interval(LOOK_EVERY),
        over: false,
    };
    let events = stream::unfold(listener, |mut listener| async move {
        let event = listener.next().await?;
        Some((Ok::<_, Infallible>(event), listener))
    });
    let alive = KeepAlive::new().interval(HEARTBEAT).text("heartbeat");
    Ok(Sse::new(events).keep_alive(alive).into_response())
}

struct Listener {
    state: Arc<State>,
    secret: String,
    project: ProjectId,
    turn_id: TurnId,
    chunks: Receiver<Arc<Chunk>>,
    stop: Stop,
    looks: tokio::time::Interval,
    /// Nothing more will be said.
    over: bool,
}

impl Listener {
    /// The next chunk; `None` ends the stream. What was said before the end is told, even if it is heard after it.
    async fn next(&mut self) -> Option<SseEvent> {
        loop {
            let heard = if self.over {
                match self.chunks.try_recv() {
                    Ok(chunk) => chunk,
                    Err(TryRecvError::Lagged(_)) => continue,
                    Err(TryRecvError::Empty | TryRecvError::Closed) => return None,
                }
            } else {
                tokio::select! {
                    heard = self.chunks.recv() => match heard {
                        Ok(chunk) => chunk,
                        // Its index tells the reader that some are missing.
                        Err(RecvError::Lagged(_)) => continue,
                        Err(RecvError::Closed) => return None,
                    },
                    _ = self.looks.tick() => {
                        self.over = self.is_over().await;
                        continue;
                    }
                    () = self.stop.stopped() => return None,
                }
            };
            if heard.turn_id == self.turn_id && heard.project == self.project {
                let data = serde_json::to_string(&ChunkOut::from(heard.as_ref())).ok()?;
                return Some(SseEvent::default().event("chunk").data(data));
            }
        }
    }

    /// The turn has ended, or its reader may not read any more.
    async fn is_over(&self) -> bool {
        let kernel = &self.state.kernel;
        if kernel.authenticate(&self.secret).await.is_err() {
            return true;
        }
        let turn = kernel.turn(&self.project, self.turn_id).await;
        turn.map_or(true, |turn| turn.item.ended.is_some())
    }
}
