//! What of its session the turn that is forked had seen when it made the call that is made anew (RP-06). The record of the
//! call tells it; a turn that had none made by the composer saw the session as it was at the time.

use crate::{Kernel, KernelError};
use cardwire_model::{CanonicalJson, CardId, ProjectId, Seen, SessionKey, Step, Timestamp, TurnId, limits};
use cardwire_protocol::{Rejection, session::turn as memory, turn::forked::Prefix};

impl Kernel {
    /// What the fork is to see of the session; none for a turn that belongs to none. What was deleted since is refused: a
    /// fork that saw nothing of it would be compared with a turn that did.
    pub(super) async fn seen_by_fork(
        &self,
        project: &ProjectId,
        turn: TurnId,
        settings: &CanonicalJson,
        prefix: &Prefix,
        call: Option<CardId>,
    ) -> Result<Option<Seen>, KernelError> {
        let Some(key) = memory::session_of(settings) else { return Ok(None) };
        let recorded = match call {
            Some(call) => self.recorded_memory(project, call).await?,
            None => None,
        };
        let seen = match recorded {
            Some(seen) => seen,
            None => match self.checkpoint_at(project, turn, &key, prefix.until).await {
                Ok(checkpoint) => checkpoint.map_or(Seen::Nothing, Seen::Checkpoint),
                // Nothing that a turn without calls was shown can be missing.
                Err(KernelError::Rejected(Rejection::NotFound { .. })) if call.is_none() => Seen::Nothing,
                Err(error) => return Err(gone(turn, &key, error)),
            },
        };
        if let Seen::Checkpoint(checkpoint) = seen {
            self.session(project, &key, Some(checkpoint)).await.map_err(|error| gone(turn, &key, error))?;
        }
        Ok(Some(seen))
    }

    pub(super) async fn call_made_anew(
        &self,
        project: &ProjectId,
        turn: TurnId,
        prefix: &Prefix,
    ) -> Result<Option<CardId>, KernelError> {
        let call_of = |step: &Step| step.call_id.as_deref().and_then(|id| id.parse::<CardId>().ok());
        let is_it = |step: &Step| {
            let made = call_of(step).map(|call| (call, step.created_at));
            memory::made_anew(made, prefix.after, prefix.until).is_some()
        };
        let step = self.find_step(project, turn, is_it).await?;
        Ok(step.as_ref().and_then(call_of))
    }

    /// What the record of a call says; those of earlier builds say nothing.
    async fn recorded_memory(&self, project: &ProjectId, call: CardId) -> Result<Option<Seen>, KernelError> {
        Ok(self.call_manifest(project, call).await?.session)
    }

    async fn checkpoint_at(
        &self,
        project: &ProjectId,
        turn: TurnId,
        key: &SessionKey,
        moment: Option<Timestamp>,
    ) -> Result<Option<CardId>, KernelError> {
        let mut before = None;
        for _ in 0..limits::EXPLAINED_VERSIONS / limits::PAGE_MAX {
            let page = self.list_checkpoints(project, key, before, limits::PAGE_MAX).await?;
            let made = page.iter().map(|checkpoint| (checkpoint.id, checkpoint.created_at));
            let found = memory::checkpoint_at(made, moment);
            before = page.last().map(|checkpoint| checkpoint.id);
            if found.is_some() || page.len() < limits::PAGE_MAX {
                return Ok(found);
            }
        }
        let most = limits::EXPLAINED_VERSIONS;
        let why = format!("session {} has changed more than {most} times since turn {turn}", key.session);
        Err(Rejection::Conflict(why).into())
    }
}

fn gone(turn: TurnId, key: &SessionKey, error: KernelError) -> KernelError {
    if !matches!(error, KernelError::Rejected(Rejection::NotFound { .. })) {
        return error;
    }
    let id = format!("{} has been deleted since: what turn {turn} saw of it is gone", key.session);
    Rejection::NotFound { what: "session", id }.into()
}
