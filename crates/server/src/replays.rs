//! Running turns again (RP-05). A server asks whoever has the code of the agents, because it runs none itself.

use cardwire_api::forks::ReplayOut;
use cardwire_kernel::Kernel;
use cardwire_model::{ProjectId, TokenSecret, TurnId};
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// Why there is nothing to replay.
#[derive(Debug, Clone)]
pub enum CannotReplay {
    /// The turn is none that can be run again: it goes on, or its record does not tell enough.
    Turn(String),
    /// The record could not be read.
    Unread(String),
}

/// Who runs a turn again.
pub trait Replays: Send + Sync {
    /// Runs an ended turn again and compares what it would write. Reads with the reach of the token, and writes nothing.
    fn replay<'a>(
        &'a self,
        kernel: &'a Arc<Kernel>,
        by: &'a TokenSecret,
        project: &'a ProjectId,
        turn: TurnId,
    ) -> BoxFuture<'a, Result<ReplayOut, CannotReplay>>;
}
