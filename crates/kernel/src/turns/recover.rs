//! A worker that comes up again: what one of its name was at when it went down is given back at once, instead of being
//! reaped when nobody has heard of it for long (WD-05). Its open calls stay open for the next holder.
//! Invariant 20: of what was given to a worker of this name, only what it says it holds stays with it.

use crate::{Caller, ClaimRequest, Kernel, KernelError};
use cardwire_model::limits;
use cardwire_protocol::{
    Rejection,
    turn::{Command, Fence, Proof, release::Release},
};
use cardwire_store::{HeldQuery, HeldRow};

/// Why, in the row.
const REASON: &str = "worker_restarted";

impl Kernel {
    /// Gives back every turn that a worker of this name holds, or was given to go on with.
    pub async fn recover(&self, caller: &Caller, request: &ClaimRequest) -> Result<(), KernelError> {
        let query = HeldQuery {
            worker_target: request.worker_target.clone(),
            worker_id: request.worker_id.clone(),
            projects: request.projects.clone(),
        };
        let mut after = 0;
        loop {
            let page = self.store.held(&query, after, limits::PAGE_MAX).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.seq;
            for row in page.iter().filter(|row| !request.holding.contains(&row.turn_id)) {
                self.give_back(caller, row).await?;
            }
            if page.len() < limits::PAGE_MAX {
                return Ok(());
            }
        }
    }

    async fn give_back(&self, caller: &Caller, row: &HeldRow) -> Result<(), KernelError> {
        let Some(epoch) = row.epoch else { return Ok(()) };
        let fence = Fence { turn_id: row.turn_id, epoch, proof: Proof::Operator };
        match self.turn_command(&row.project, caller, giving_back(fence, REASON), None).await {
            // One that waits for its tools, or has ended meanwhile, needs nobody.
            Ok(_) | Err(KernelError::Rejected(Rejection::Conflict(_) | Rejection::StaleTurn(..))) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Gives back a turn whose worker does not know of it. Its open calls stay open.
pub(super) fn giving_back(fence: Fence, reason: &str) -> Command {
    let reason = Some(reason.to_owned());
    Command::Release(Release { fence, defer_seconds: None, reason, keep_calls: true })
}
