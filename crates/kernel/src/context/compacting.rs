//! When a session is compacted for a call that is composed (CP-01): by the kernel where it can summarise, else by whoever
//! makes the call.

use super::{
    call::{CallRequest, Made, Parts, Setup},
    pieces::Material,
};
use crate::{Caller, CompactRequest, Compacted, Kernel, KernelError};
use cardwire_context::{compaction, piece::Piece};
use cardwire_model::ProjectId;
use cardwire_protocol::{Rejection, session::turn as memory};

impl Kernel {
    /// Compacts the session before the request would be too long (CP-01), at most once per call.
    pub(super) async fn compact_first(
        &self,
        project: &ProjectId,
        caller: &Caller,
        request: &CallRequest,
        material: &Material,
        setup: &Setup,
        parts: &Parts,
    ) -> Result<bool, KernelError> {
        let settings = self.live_project(project).await?.settings.context;
        let threshold =
            settings.compact_threshold.or_else(|| setup.window.map(compaction::default_threshold));
        let can = self.context.summariser.is_some() && may_compact(request, material);
        let (Some(threshold), Some(read), true) = (threshold, &material.session, can) else {
            return Ok(false);
        };
        let key = &read.key;
        let words = parts.words();
        let (pieces, _) = self.arranged(setup, parts, &words);
        if !compaction::should_compact(self.tokens_of(setup, &pieces), threshold) {
            return Ok(false);
        }
        // A stale holder must not cause it (NF-03).
        self.runs(project, &request.fence).await?;
        let asked = CompactRequest::default();
        let compacted = match self.compact_session(project, caller, key, &asked, None).await {
            // Somebody spoke meanwhile: the call goes on with what there is.
            Err(KernelError::Rejected(Rejection::Conflict(_))) => return Ok(false),
            compacted => compacted?,
        };
        match compacted.fresh() {
            Some(Compacted::Done { .. }) => Ok(true),
            Some(Compacted::Nothing(_)) | None => Ok(false),
            Some(Compacted::Failed { error, .. }) => {
                tracing::warn!(session = %key, error, "a session was not compacted");
                Ok(false)
            }
        }
    }

    /// Tokens of the whole request, had it all the room there is: what its manifest would call the total.
    fn tokens_of(&self, setup: &Setup, pieces: &[Piece<'_>]) -> u32 {
        let sum = || pieces.iter().fold(0_u32, |sum, piece| sum.saturating_add(piece.tokens));
        // What cannot be repaired may be what is summarised; if not, whoever makes the request is told.
        self.fitted(setup, None, pieces).map_or_else(|_| sum(), |(fitted, _)| fitted.tokens)
    }

    /// Whether the caller is to have the session summarised, where nobody here can (CP-01): only if the project says when.
    pub(super) async fn compaction_due(
        &self,
        project: &ProjectId,
        request: &CallRequest,
        material: &Material,
        made: &Made,
    ) -> Result<bool, KernelError> {
        if self.context.summariser.is_some() || material.session.is_none() || !may_compact(request, material)
        {
            return Ok(false);
        }
        let threshold = self.live_project(project).await?.settings.context.compact_threshold;
        Ok(threshold
            .is_some_and(|threshold| compaction::is_due(made.wanted, threshold, made.leaves_out_memory)))
    }
}

/// Whether a summary would be kept: a fork leaves the session alone, and would not see the summary either (RP-06).
pub(super) fn may_compact(request: &CallRequest, material: &Material) -> bool {
    request.process.persists_compression() && !memory::tries_out(&material.payload.runtime_config)
}
