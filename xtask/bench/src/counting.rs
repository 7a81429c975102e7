//! Counts the commits that a store applies, and the rows that they write.
//!
//! The rows are counted by looking at each commit. Rows that a backend adds by itself (positions of events, a second copy
//! of a head) are not counted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use cardwire_model::{Commit, ProjectId, Write};
use cardwire_store::{ClaimQuery, Claimable, CommitError, DecideClaim, Intercept, Intercepted, Store};

pub(crate) type CountingStore = Intercepted<Counts>;

#[derive(Default)]
pub(crate) struct Counts {
    commits: AtomicU64,
    rows: AtomicU64,
}

/// What was applied so far.
#[derive(Clone, Copy, Default)]
pub(crate) struct Applied {
    pub(crate) commits: u64,
    pub(crate) rows: u64,
}

/// A store that counts.
pub(crate) fn counting(inner: Arc<dyn Store>) -> Arc<CountingStore> {
    Arc::new(Intercepted::new(inner, Counts::default()))
}

impl Counts {
    pub(crate) fn applied(&self) -> Applied {
        Applied { commits: self.commits.load(Ordering::Relaxed), rows: self.rows.load(Ordering::Relaxed) }
    }

    fn count(&self, rows: u64) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }
}

#[async_trait]
impl Intercept for Counts {
    async fn commit(&self, inner: &Arc<dyn Store>, commit: Commit) -> Result<(), CommitError> {
        let rows = rows_of(&commit);
        inner.commit(commit).await?;
        self.count(rows);
        Ok(())
    }

    async fn claim(
        &self,
        inner: &Arc<dyn Store>,
        query: &ClaimQuery,
        decide: DecideClaim,
    ) -> Result<Vec<ProjectId>, CommitError> {
        // A project can be decided more than once; its last decision is the one that is applied.
        let decided: Arc<Mutex<BTreeMap<ProjectId, u64>>> = Arc::default();
        let seen = Arc::clone(&decided);
        let spying: DecideClaim = Arc::new(move |project: &ProjectId, rows: Vec<Claimable>| {
            let commit = decide(project, rows);
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.insert(project.clone(), rows_of(&commit));
            commit
        });
        let applied = inner.claim(query, spying).await?;
        let decided = decided.lock().unwrap_or_else(PoisonError::into_inner);
        applied.iter().for_each(|project| self.count(decided.get(project).copied().unwrap_or(0)));
        drop(decided);
        Ok(applied)
    }
}

/// Rows inserted and updated.
fn rows_of(commit: &Commit) -> u64 {
    let written: usize = commit.writes.iter().map(rows_of_write).sum();
    (written + commit.events.len() + commit.audit.len()) as u64
}

fn rows_of_write(write: &Write) -> usize {
    match write {
        Write::CreateBox(new) | Write::RewriteBox(new) => 1 + new.entries.len(),
        Write::AppendCards { cards, .. } => 1 + cards.len(),
        // The card and the project's count of deletions.
        Write::DeleteCard { .. } => 2,
        // The head and its copy.
        Write::CreateHead(_) | Write::MoveHead { .. } => 2,
        Write::PutCard(_)
        | Write::SealBox { .. }
        | Write::CreateProject(_)
        | Write::UpdateProject(_)
        | Write::CreateToken(_)
        | Write::RevokeToken { .. }
        | Write::RememberAnswer(_)
        | Write::SealAudit { .. }
        | Write::NudgeHead { .. }
        | Write::Enqueue(_)
        | Write::UpdateInbox { .. }
        | Write::AddEdge(_)
        | Write::CreateStep(_)
        | Write::UpdateStep(_)
        | Write::OpenCall(_)
        | Write::UpdateCall(_)
        | Write::PutProfile { .. }
        | Write::PutResource { .. }
        | Write::PutAgent { .. }
        | Write::AddIdentityEdge(_)
        | Write::CreateBatch(_)
        | Write::BeginClose { .. }
        | Write::CloseBatch(_)
        | Write::AddBranch(_)
        | Write::MoveBranch { .. }
        | Write::EndBranch(_)
        | Write::AddSweep(_)
        | Write::EndSweep(_)
        | Write::AddGrant(_)
        | Write::Spend { .. }
        | Write::PutSession { .. }
        // The row that names its index entries, and as many as the source had.
        | Write::PutPassage(_)
        | Write::DropPassages { .. } => 1,
    }
}
