//! Doorbells: lossy hints that a row waits (DP-11). The store is the truth; whoever misses a ring finds the row by
//! looking.

use cardwire_model::{
    Channel, Commit, InboxId, InboxItem, InboxStatus, ProjectId, Realm, Timestamp, TurnId, WorkerTarget,
    Write,
};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::sync::{Notify, futures::Notified};

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
    /// The turn that the row is, or is for.
    pub turn_id: TurnId,
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
            turn_id: item.turn_id,
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

/// What a commit rings for: rows that it leaves for workers to claim. Once for each kind of worker (BM-08): whoever takes
/// as much as it can passes the ring on.
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
        | Write::PutPassage(_)
        | Write::DropPassages { .. } => None,
    };
    let mut rings: Vec<Ring> = vec![];
    for ring in commit.writes.iter().filter_map(of_write) {
        if !rings.iter().any(|known| known.target == ring.target && known.channel == ring.channel) {
            rings.push(ring);
        }
    }
    rings
}

/// The bells of this process: one per worker target and choice of projects, made when somebody first listens.
#[derive(Default)]
pub(crate) struct Bells(Mutex<HashMap<WorkerTarget, HashMap<Projects, Arc<Bell>>>>);

/// The projects a worker serves; all when `None`.
pub(crate) type Projects = Option<Vec<ProjectId>>;

/// A bell. Of those who wait, one hears each ring: whoever looks finds all that waits, so waking everybody would only
/// make them look in vain. For the same reason nobody looks again while nothing has rung since the last look.
#[derive(Default)]
pub(crate) struct Bell {
    rings: AtomicU64,
    waiting: Notify,
    last_look: Mutex<Option<Look>>,
}

/// A look that found all there was.
struct Look {
    /// How often the bell had rung before it.
    rings: u64,
    at: Timestamp,
}

impl Bells {
    pub(crate) fn listen(&self, target: &WorkerTarget, projects: &Projects) -> Arc<Bell> {
        let mut bells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Bells that nobody listens to any more do not pile up.
        if bells.values().map(HashMap::len).sum::<usize>() >= CAPACITY {
            bells.values_mut().for_each(|of_target| of_target.retain(|_, bell| Arc::strong_count(bell) > 1));
            bells.retain(|_, of_target| !of_target.is_empty());
        }
        Arc::clone(bells.entry(target.clone()).or_default().entry(projects.clone()).or_default())
    }

    pub(crate) fn ring(&self, target: &WorkerTarget) {
        let bells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for bell in bells.get(target).into_iter().flat_map(HashMap::values) {
            bell.rings.fetch_add(1, Ordering::SeqCst);
            bell.waiting.notify_one();
        }
    }
}

impl Bell {
    /// How often it has rung.
    pub(crate) fn rings(&self) -> u64 {
        self.rings.load(Ordering::SeqCst)
    }

    /// The next ring that is for the caller. One that is not waited for is passed on.
    pub(crate) fn next(&self) -> Notified<'_> {
        self.waiting.notified()
    }

    /// Somebody else should look, too: there may be more than was taken.
    pub(crate) fn pass_on(&self) {
        self.waiting.notify_one();
    }

    /// Notes a look that found all there was.
    pub(crate) fn looked(&self, rings: u64, now: Timestamp) {
        let look = Look { rings, at: now };
        *self.last_look.lock().unwrap_or_else(PoisonError::into_inner) = Some(look);
    }

    /// Whether a look would find nothing: it has not rung since somebody looked, a short while ago.
    pub(crate) fn is_spent(&self, now: Timestamp, lately: Duration) -> bool {
        let last = self.last_look.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().is_some_and(|last| {
            let passed = now.micros().abs_diff(last.at.micros());
            last.rings == self.rings() && Duration::from_micros(passed) < lately
        })
    }
}

const CAPACITY: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    const LATELY: Duration = Duration::from_secs(1);

    fn heard(ring: std::pin::Pin<&mut Notified<'_>>) -> bool {
        ring.poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
    }

    #[test]
    fn a_ring_wakes_one_of_those_who_wait_and_is_passed_on_when_that_one_leaves() {
        let (bells, target) = (Bells::default(), "t".parse().unwrap());
        let bell = bells.listen(&target, &None);
        let mut second = pin!(bell.next());
        {
            let mut first = pin!(bell.next());
            first.as_mut().enable();
            second.as_mut().enable();
            bells.ring(&target);
            assert!(!heard(second.as_mut()));
            // The first goes away without looking.
        }
        assert!(heard(second.as_mut()));
    }

    #[test]
    fn workers_of_different_projects_do_not_take_each_others_rings() {
        let (bells, target) = (Bells::default(), "t".parse().unwrap());
        let (all, some) = (bells.listen(&target, &None), bells.listen(&target, &Some(vec![])));
        let (mut first, mut second) = (pin!(all.next()), pin!(some.next()));
        first.as_mut().enable();
        second.as_mut().enable();
        bells.ring(&target);
        assert!(heard(first.as_mut()) && heard(second.as_mut()));
    }

    #[test]
    fn nobody_looks_again_until_it_rings_or_a_while_has_passed() {
        let (bells, target) = (Bells::default(), "t".parse().unwrap());
        let (bell, now) = (bells.listen(&target, &None), Timestamp::from_micros);
        assert!(!bell.is_spent(now(0), LATELY));
        bell.looked(bell.rings(), now(0));
        assert!(bell.is_spent(now(999_999), LATELY) && !bell.is_spent(now(1_000_000), LATELY));
        // It rang while somebody looked: what it rang for may not have been seen.
        let before = bell.rings();
        bells.ring(&target);
        bell.looked(before, now(0));
        assert!(!bell.is_spent(now(1), LATELY));
    }
}
