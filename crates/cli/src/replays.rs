//! Running turns again for a server: the agents' code is the worker's (RP-05).

use crate::ports::RouterPort;
use cardwire_api::forks::{ReplayOut, ReplayedCallOut};
use cardwire_handoff::Files;
use cardwire_kernel::Kernel;
use cardwire_model::{ProjectId, TokenSecret, TurnId};
use cardwire_server::{CannotReplay, Replays};
use cardwire_worker::replay;
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// Runs turns again by the worker's code, in this process.
pub(crate) struct ByWorker {
    pub(crate) files: Arc<dyn Files>,
}

impl Replays for ByWorker {
    fn replay<'a>(
        &'a self,
        kernel: &'a Arc<Kernel>,
        by: &'a TokenSecret,
        project: &'a ProjectId,
        turn: TurnId,
    ) -> BoxFuture<'a, Result<ReplayOut, CannotReplay>> {
        Box::pin(async move {
            let port = Arc::new(RouterPort::new(kernel, by.clone(), Arc::clone(&self.files)));
            let replayed = replay(port, project.as_str(), &turn.to_string()).await;
            let replayed = replayed.map_err(|cannot| match cannot {
                cardwire_worker::CannotReplay::Turn(why) => CannotReplay::Turn(why),
                cardwire_worker::CannotReplay::Unread(why) => CannotReplay::Unread(why),
            })?;
            let call = |(call_id, hash_ok)| ReplayedCallOut { call_id, hash_ok };
            Ok(ReplayOut {
                agent_turn_id: turn.to_string(),
                same: replayed.same,
                calls: replayed.calls.into_iter().map(call).collect(),
                cards: replayed.cards,
                differences: replayed.differences,
            })
        })
    }
}
