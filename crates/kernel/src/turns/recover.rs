//! A worker that comes up again: what one of its name was at when it went down is given back at once, instead of being
//! reaped when nobody has heard of it for long (WD-05). Its open calls stay open for the next holder.

use crate::{Caller, ClaimRequest, Kernel, KernelError};
use cardwire_model::{InboxItem, InboxStatus, ProjectId, limits};
use cardwire_protocol::{
    Rejection,
    turn::{Command, Fence, Proof, release::Release},
};
use cardwire_store::RowFilter;

/// Why, in the row.
const REASON: &str = "worker_restarted";

impl Kernel {
    /// Gives back every running turn that a worker of this name holds.
    pub(crate) async fn recover(&self, caller: &Caller, request: &ClaimRequest) -> Result<(), KernelError> {
        let projects = match &request.projects {
            Some(projects) => projects.clone(),
            None => self.every_project().await?,
        };
        for project in &projects {
            self.recover_in(project, caller, request).await?;
        }
        Ok(())
    }

    async fn every_project(&self) -> Result<Vec<ProjectId>, KernelError> {
        let mut projects: Vec<ProjectId> = vec![];
        loop {
            let page = self.list_projects(projects.last().cloned(), limits::PAGE_MAX).await?;
            let is_last = page.len() < limits::PAGE_MAX;
            projects.extend(page.into_iter().map(|project| project.id));
            if is_last {
                return Ok(projects);
            }
        }
    }

    async fn recover_in(
        &self,
        project: &ProjectId,
        caller: &Caller,
        request: &ClaimRequest,
    ) -> Result<(), KernelError> {
        let filter = RowFilter {
            inbox_status: Some(InboxStatus::Processing),
            turns_only: true,
            ..RowFilter::default()
        };
        let mut before = None;
        loop {
            let rows = self.store.inbox(project, &filter, before, limits::PAGE_MAX).await?;
            let held = |item: &&InboxItem| {
                item.worker_id.as_deref() == Some(&request.worker_id)
                    && item.worker_target == request.worker_target
                    && !request.holding.contains(&item.turn_id)
            };
            for item in rows.iter().filter(held) {
                self.give_back(project, caller, item).await?;
            }
            before = rows.last().map(|item| item.id);
            if rows.len() < limits::PAGE_MAX {
                return Ok(());
            }
        }
    }

    async fn give_back(
        &self,
        project: &ProjectId,
        caller: &Caller,
        item: &InboxItem,
    ) -> Result<(), KernelError> {
        let Some(epoch) = item.epoch else { return Ok(()) };
        let fence = Fence { turn_id: item.turn_id, epoch, proof: Proof::Operator };
        match self.turn_command(project, caller, giving_back(fence, REASON), None).await {
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
