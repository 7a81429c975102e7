//! Reading batches, and calling them off.

use super::FollowUp;
use crate::{Caller, Kernel, KernelError};
use cardwire_model::{Batch, BatchId, BatchStatus, Branch, CloseReason, ProjectId, limits};
use cardwire_protocol::{
    Rejection,
    batch::{cancel, join},
};
use cardwire_store::{BatchFilter, CommitError};
use serde_json::Value;

/// A batch with its branches, by index.
#[derive(Debug, Clone)]
pub struct BatchView {
    /// Its row.
    pub batch: Batch,
    /// See above.
    pub branches: Vec<Branch>,
}

impl Kernel {
    /// Batches, newest first.
    pub async fn list_batches(
        &self,
        project: &ProjectId,
        filter: &BatchFilter,
        before: Option<BatchId>,
        limit: usize,
    ) -> Result<Vec<Batch>, KernelError> {
        Ok(self.store.batches(project, filter, before, limit).await?)
    }

    /// A batch.
    pub async fn batch(&self, project: &ProjectId, id: BatchId) -> Result<BatchView, KernelError> {
        let batch = self.batch_row(project, id).await?;
        Ok(BatchView { batch, branches: self.all_branches(project, id).await? })
    }

    /// What the parent of a closed batch was told; nothing while it is running.
    pub async fn batch_result(&self, project: &ProjectId, id: BatchId) -> Result<Option<Value>, KernelError> {
        let batch = self.batch_row(project, id).await?;
        if batch.status == BatchStatus::Running {
            return Ok(None);
        }
        if let Some(card) = batch.result_card
            && let Some(card) = self.get_cards(project, &[card], true).await?.pop()
        {
            return Ok(Some(card.content.to_value()["result"].take()));
        }
        let branches = self.viewed_branches(project, &batch, batch.result_tokens).await?;
        Ok(Some(join::result(batch.status, &branches, batch.result_tokens)))
    }

    /// Calls a batch off. One that is closed already stays as it is.
    #[tracing::instrument(name = "batch.cancel", level = "trace", skip_all, fields(cardwire.project.id = %project))]
    pub async fn cancel_batch(
        &self,
        project: &ProjectId,
        caller: &Caller,
        id: BatchId,
    ) -> Result<BatchView, KernelError> {
        self.cancel_batch_alone(project, caller, id).await?;
        let follow_up = FollowUp { batches: vec![id], ..FollowUp::default() };
        self.follow(project, follow_up, None).await;
        self.batch(project, id).await
    }

    /// Sees to it that a batch takes no more ends of branches.
    pub(super) async fn cancel_batch_alone(
        &self,
        project: &ProjectId,
        caller: &Caller,
        id: BatchId,
    ) -> Result<(), KernelError> {
        for _ in 0..limits::DECIDE_ATTEMPTS {
            let batch = self.batch_row(project, id).await?;
            if batch.status != BatchStatus::Running || batch.closing.is_some() {
                return Ok(());
            }
            let commit = cancel::begin(project, &batch, CloseReason::Canceled, &self.moment(caller));
            match self.apply(commit).await {
                Ok(_) => return Ok(()),
                Err(CommitError::Conflict(_)) => {}
                Err(CommitError::Store(error)) => return Err(error.into()),
            }
        }
        Err(KernelError::Contended)
    }

    pub(super) async fn batch_row(&self, project: &ProjectId, id: BatchId) -> Result<Batch, KernelError> {
        let found = self.store.batch(project, id).await?;
        Ok(found.ok_or_else(|| Rejection::NotFound { what: "batch", id: id.to_string() })?)
    }

    /// The branches of a batch, by index.
    async fn all_branches(&self, project: &ProjectId, id: BatchId) -> Result<Vec<Branch>, KernelError> {
        let mut branches: Vec<Branch> = vec![];
        loop {
            let from = branches.last().map_or(0, |last| last.key.index + 1);
            let page = self.store.branches(project, id, from, limits::BRANCH_PAGE).await?;
            let ended = page.len() < limits::BRANCH_PAGE;
            branches.extend(page);
            if ended {
                return Ok(branches);
            }
        }
    }
}
