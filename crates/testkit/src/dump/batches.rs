//! Batches of a dump. Grants and budgets are not in it: they are only told to who knows what to ask for.

use super::{Dump, PAGE, advance, differ};
use cardwire_model::{Batch, BatchId, Branch, BranchKey, ProjectId, Sweep};
use cardwire_store::{BatchFilter, Store, StoreError};
use std::{cmp::Reverse, collections::BTreeMap};
use uuid::Uuid;

/// All rows of batches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BatchDump {
    /// By project and id.
    pub batches: BTreeMap<(ProjectId, BatchId), Batch>,
    /// By project and key, of all batches that are there.
    pub branches: BTreeMap<(ProjectId, BranchKey), Branch>,
    /// By project, scope and id.
    pub sweeps: BTreeMap<(ProjectId, &'static str, Uuid), Sweep>,
}

impl BatchDump {
    pub(super) fn first_difference(&self, other: &Self) -> Option<String> {
        differ("batch", &self.batches, &other.batches)
            .or_else(|| differ("branch", &self.branches, &other.branches))
            .or_else(|| differ("sweep", &self.sweeps, &other.sweeps))
    }
}

/// Reads the batches of all projects that the dump names.
pub(super) async fn read_batches(store: &dyn Store, dump: &mut Dump) -> Result<(), StoreError> {
    for project in dump.projects.keys().cloned().collect::<Vec<_>>() {
        let found = &mut dump.batches;
        let mut before = None;
        loop {
            let page = store.batches(&project, &BatchFilter::default(), before, PAGE).await?;
            let falling: Vec<_> = page.iter().map(|batch| Reverse(batch.id)).collect();
            let Some(Reverse(last)) = advance(&before.map(Reverse), falling.iter(), PAGE) else { break };
            before = Some(*last);
            for batch in page {
                read_branches(store, &project, batch.id, found).await?;
                found.batches.insert((project.clone(), batch.id), batch);
            }
        }
    }
    read_sweeps(store, &mut dump.batches).await
}

async fn read_branches(
    store: &dyn Store,
    project: &ProjectId,
    batch: BatchId,
    found: &mut BatchDump,
) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let from = after.map_or(0, |key: BranchKey| key.index + 1);
        let page = store.branches(project, batch, from, PAGE).await?;
        let Some(last) = advance(&after, page.iter().map(|branch| &branch.key), PAGE) else { return Ok(()) };
        after = Some(*last);
        found.branches.extend(page.into_iter().map(|branch| ((project.clone(), branch.key), branch)));
    }
}

async fn read_sweeps(store: &dyn Store, found: &mut BatchDump) -> Result<(), StoreError> {
    let place = |(project, sweep): &(ProjectId, Sweep)| (project.clone(), sweep.scope(), sweep.uuid());
    let mut after = None;
    loop {
        let page = store.sweeps(after.as_ref(), PAGE).await?;
        let places: Vec<_> = page.iter().map(place).collect();
        if advance(&after.as_ref().map(place), places.iter(), PAGE).is_none() {
            return Ok(());
        }
        after = page.last().cloned();
        found.sweeps.extend(places.into_iter().zip(page.into_iter().map(|(_, sweep)| sweep)));
    }
}
