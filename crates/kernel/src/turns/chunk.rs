//! Chunks of an answer while it is being written: heard by whoever listens at that moment, kept by nobody. The card that
//! holds the whole answer is the truth.

use crate::{Kernel, KernelError};
use cardwire_model::{AgentId, Channel, Invalid, Keys, ProjectId, Realm, TurnEpoch, TurnId, limits};
use cardwire_protocol::turn::{Fence, fence};
use std::sync::Arc;
use tokio::sync::broadcast;

/// A piece of text that a turn is writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// In which project.
    pub project: ProjectId,
    /// On which channel.
    pub channel: Channel,
    /// By which agent.
    pub agent_id: AgentId,
    /// In which turn.
    pub turn_id: TurnId,
    /// At which epoch.
    pub epoch: TurnEpoch,
    /// 0, 1, 2, …: a listener that misses one knows it.
    pub index: u64,
    /// The text.
    pub text: String,
}

/// Chunks that a slow listener may be behind before it misses some.
pub(crate) const WAITING: usize = 1_024;

impl Kernel {
    /// Passes a chunk on to whoever listens, if its sender holds the turn.
    pub async fn send_chunk(
        &self,
        project: &ProjectId,
        held: &Fence,
        index: u64,
        text: String,
    ) -> Result<(), KernelError> {
        Invalid::check_size("text", text.len(), limits::CHUNK_BYTES, "bytes")?;
        let keys = Keys { turn: Some(held.turn_id), turn_alone: true, ..Keys::default() };
        let snapshot = self.store.load(&Realm::from(project.clone()), &keys).await?;
        fence::check_running(&snapshot, project, held)?;
        let Some((head, live)) = snapshot.head.and_then(|mut head| head.live.take().map(|live| (head, live)))
        else {
            return Ok(());
        };
        let chunk = Chunk {
            project: project.clone(),
            channel: live.channel,
            agent_id: head.agent_id,
            turn_id: held.turn_id,
            epoch: head.epoch,
            index,
            text,
        };
        // Nobody may be listening.
        let _ = self.chunks.send(Arc::new(chunk));
        Ok(())
    }

    /// From now on, every chunk that this process passes on.
    pub fn listen_to_chunks(&self) -> broadcast::Receiver<Arc<Chunk>> {
        self.chunks.subscribe()
    }
}
