//! The calls that sent a card to a model (IN-14).

use crate::{Kernel, KernelError, context::BoxLists};
use cardwire_context::cost::Spent;
use cardwire_model::{
    CardId, Cause, Layer, ManifestEntry, ProjectId, Source, Step, StepId, Timestamp, limits,
};
use cardwire_store::RowFilter;

/// A call that sent a card.
#[derive(Debug, Clone)]
pub struct SentCard {
    /// The call.
    pub call_id: CardId,
    /// The step that made it.
    pub step: Step,
    /// Of which layer the card was.
    pub layer: Layer,
    /// Why it was there.
    pub cause: Cause,
    /// Tokens of the whole request.
    pub total_tokens: u32,
    /// What the whole call has cost, once it was answered.
    pub spent: Option<Spent>,
}

/// The calls that sent a card.
#[derive(Debug, Clone, Default)]
pub struct CardCalls {
    /// Newest first.
    pub calls: Vec<SentCard>,
    /// The last step that was looked at, where older ones may follow.
    pub last: Option<(Timestamp, StepId)>,
}

impl Kernel {
    /// The calls that sent a card, newest first. Looks at a bounded number of calls, because no index leads from a card to its
    /// calls; where it ends before the last one it says so. A call that was made before the card was written is not looked at.
    pub async fn calls_of_card(
        &self,
        project: &ProjectId,
        card: CardId,
        before: Option<(Timestamp, StepId)>,
        limit: usize,
    ) -> Result<CardCalls, KernelError> {
        let written = self.known_card(project, card).await?.created_at;
        let filter = RowFilter { from: Some(written), ..RowFilter::default() };
        let (mut found, mut before, mut looked) = (CardCalls::default(), before, 0);
        loop {
            let steps = self.store.steps(project, &filter, before.as_ref(), limits::PAGE_MAX).await?;
            let is_end = steps.len() < limits::PAGE_MAX;
            for step in steps {
                before = Some((step.created_at, step.id.clone()));
                let Some(call_id) = step.call_id.as_deref().and_then(|id| id.parse().ok()) else { continue };
                looked += 1;
                found.calls.extend(self.sent_in(project, card, call_id, step).await?);
                if found.calls.len() == limit || looked == limits::COST_CALLS {
                    found.last = before;
                    return Ok(found);
                }
            }
            if is_end {
                return Ok(found);
            }
        }
    }

    /// The call, if it sent the card.
    async fn sent_in(
        &self,
        project: &ProjectId,
        card: CardId,
        call_id: CardId,
        step: Step,
    ) -> Result<Option<SentCard>, KernelError> {
        let record = match self.call_manifest(project, call_id).await {
            Ok(record) => record,
            // A worker may name what it likes.
            Err(KernelError::Rejected(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let lists = self.box_lists(project, &record).await?;
        let entry = record.entries.iter().find(|entry| shows(entry, card, &lists));
        Ok(entry.map(|entry| SentCard {
            call_id,
            layer: entry.layer,
            cause: entry.cause,
            total_tokens: record.total_tokens,
            spent: Spent::of_step(&step.metadata.to_value()),
            step,
        }))
    }
}

/// Whether an entry of a manifest is, or holds, the card.
fn shows(entry: &ManifestEntry, card: CardId, lists: &BoxLists) -> bool {
    match &entry.source {
        Source::Block(id) | Source::Card(id) => *id == card,
        Source::Stretch(stretch) => {
            let ids = lists.get(&(stretch.box_id, stretch.generation));
            let range = stretch.from as usize..stretch.to as usize;
            ids.and_then(|ids| ids.get(range)).is_some_and(|ids| ids.contains(&card))
        }
    }
}
