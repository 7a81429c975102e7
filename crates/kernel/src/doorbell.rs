//! Doorbells: lossy hints that a row waits (DP-11). The store is the truth; whoever misses a ring finds the row by
//! looking.

use cardwire_model::{
    Channel, Commit, InboxId, InboxItem, InboxStatus, ProjectId, Realm, WorkerTarget, Write,
};
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};
use tokio::sync::watch;

/// One ring: ids only, never content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ring {
    /// In which project.
    pub project: ProjectId,
    /// On which channel.
    pub channel: Channel,
    /// For which workers.
    pub target: WorkerTarget,
    /// For which row.
    pub inbox_id: InboxId,
    /// Why: `enqueued` or `watchdog`.
    pub reason: &'static str,
    /// The trace of the row.
    pub trace_id: Option<String>,
}

impl Ring {
    pub(crate) fn of(project: &ProjectId, item: &InboxItem, reason: &'static str) -> Self {
        Self {
            project: project.clone(),
            channel: item.channel.clone().unwrap_or_else(Channel::public),
            target: item.worker_target.clone(),
            inbox_id: item.id,
            reason,
            trace_id: item.trace_id.clone(),
        }
    }
}

/// What carries rings to other processes. Must not block and must not fail: a ring that is lost is found again.
pub trait Doorbell: Send + Sync {
    /// Rings.
    fn ring(&self, ring: &Ring);
}

/// Rings nowhere: this process hears its own rings anyway.
pub struct InProcess;

impl Doorbell for InProcess {
    fn ring(&self, _: &Ring) {}
}

/// What a commit rings for: every row it leaves for a worker to claim.
pub(crate) fn rings(commit: &Commit) -> Vec<Ring> {
    let Realm::Project(project) = &commit.realm else { return vec![] };
    let pending =
        |item: &InboxItem| (item.status == InboxStatus::Pending).then(|| Ring::of(project, item, "enqueued"));
    let of_write = |write: &Write| match write {
        Write::Enqueue(item) | Write::UpdateInbox { item, .. } => pending(item),
        Write::PutCard(_)
        | Write::DeleteCard { .. }
        | Write::CreateBox(_)
        | Write::AppendCards { .. }
        | Write::RewriteBox(_)
        | Write::SealBox { .. }
        | Write::CreateProject(_)
        | Write::UpdateProject(_)
        | Write::CreateToken(_)
        | Write::RevokeToken { .. }
        | Write::RememberAnswer(_)
        | Write::SealAudit { .. }
        | Write::CreateHead(_)
        | Write::MoveHead { .. }
        | Write::NudgeHead { .. }
        | Write::AddEdge(_)
        | Write::CreateStep(_)
        | Write::UpdateStep(_)
        | Write::OpenCall(_)
        | Write::UpdateCall(_)
        | Write::PutProfile { .. }
        | Write::PutAgent { .. }
        | Write::AddIdentityEdge(_) => None,
    };
    commit.writes.iter().filter_map(of_write).collect()
}

/// The bells of this process: one per worker target, made when somebody first listens.
#[derive(Default)]
pub(crate) struct Bells(Mutex<HashMap<WorkerTarget, watch::Sender<u64>>>);

impl Bells {
    /// Hears every ring from now on.
    pub(crate) fn listen(&self, target: &WorkerTarget) -> watch::Receiver<u64> {
        let mut bells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Targets that nobody listens to any more do not pile up.
        if bells.len() >= CAPACITY {
            bells.retain(|_, bell| bell.receiver_count() > 0);
        }
        bells.entry(target.clone()).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }

    pub(crate) fn ring(&self, target: &WorkerTarget) {
        let bells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bell) = bells.get(target) {
            bell.send_modify(|count| *count += 1);
        }
    }
}

const CAPACITY: usize = 1_024;
