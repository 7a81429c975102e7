//! The line: claims of this process that wait for turns. A commit that leases a turn claims it for whoever stands in line,
//! so that the turn need not be looked for and its row is written once. Only a help: a turn that nobody here waits for is
//! rung for, and found by looking.

use super::recover::giving_back;
use crate::{Caller, ClaimRequest, Kernel, KernelError, ids::IdSource};
use cardwire_model::{Commit, Hash256, InboxItem, ProjectId, Realm, WorkerTarget};
use cardwire_protocol::turn::{
    Fence, Proof,
    claim::{Claim, Lease, Waiting, at_once},
};
use cardwire_store::{CommitError, StoreError};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::Notify;

/// See above. First come, first served.
#[derive(Default)]
pub(crate) struct Line {
    spots: Mutex<Vec<Arc<Spot>>>,
    /// Leases, sure or not, whose claims have gone away: to be given back.
    forsaken: Arc<Mutex<Vec<Lease>>>,
}

/// Where one claim waits.
struct Spot {
    target: WorkerTarget,
    projects: Option<Vec<ProjectId>>,
    claim: Claim,
    given: Mutex<Given>,
    changed: Notify,
    forsaken: Arc<Mutex<Vec<Lease>>>,
}

/// What has come of waiting.
#[derive(Default)]
struct Given {
    /// Turns that are still wanted.
    room: usize,
    /// Turns in commits that are under way.
    under_way: usize,
    /// The claim has gone away.
    is_gone: bool,
    leases: Vec<Lease>,
    /// Whether these were given nobody knows: who committed them went away meanwhile, or was not told.
    unsure: Vec<Lease>,
}

impl Spot {
    fn given(&self) -> MutexGuard<'_, Given> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wants(&self, project: &ProjectId, row: &InboxItem) -> bool {
        self.target == row.worker_target
            && self.projects.as_ref().is_none_or(|projects| projects.contains(project))
            && self.given().room > 0
    }

    fn settle(&self, settle: impl FnOnce(&mut Given)) {
        let mut given = self.given();
        given.under_way -= 1;
        settle(&mut given);
        if given.is_gone {
            self.forsake(&mut given);
        }
        drop(given);
        self.changed.notify_one();
    }

    fn forsake(&self, given: &mut Given) {
        let leases = given.leases.drain(..).chain(given.unsure.drain(..));
        self.forsaken.lock().unwrap_or_else(PoisonError::into_inner).extend(leases);
    }
}

/// A place in the line; given up when dropped.
pub struct Place<'a> {
    line: &'a Line,
    spot: Arc<Spot>,
}

/// How many turns a claim still has room for, however they come to it.
pub(super) struct Room(Arc<Spot>);

impl Room {
    /// Takes so much of it, or what there is.
    pub(super) fn take(&self, want: usize) -> usize {
        let mut given = self.0.given();
        let taken = want.min(given.room);
        given.room -= taken;
        taken
    }

    pub(super) fn give_back(&self, count: usize) {
        self.0.given().room += count;
    }
}

impl Place<'_> {
    pub(super) fn room(&self) -> Room {
        Room(Arc::clone(&self.spot))
    }

    /// Completes when there is a lease, or none is to be expected any more.
    pub async fn served(&self) {
        let is_over = |given: &Given| given.room == 0 && given.under_way == 0;
        self.until(|given| !given.leases.is_empty() || !given.unsure.is_empty() || is_over(given)).await;
    }

    /// Leaves the line, and waits for what is under way.
    async fn leave(self) -> Given {
        self.line.remove(&self.spot);
        self.until(|given| given.under_way == 0).await;
        std::mem::take(&mut *self.spot.given())
    }

    async fn until(&self, holds: impl Fn(&Given) -> bool) {
        while !holds(&self.spot.given()) {
            self.spot.changed.notified().await;
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.line.remove(&self.spot);
        let mut given = self.spot.given();
        given.is_gone = true;
        self.spot.forsake(&mut given);
    }
}

impl Line {
    fn spots(&self) -> MutexGuard<'_, Vec<Arc<Spot>>> {
        self.spots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove(&self, spot: &Arc<Spot>) {
        self.spots().retain(|known| !Arc::ptr_eq(known, spot));
        spot.given().room = 0;
    }

    /// Claims the turns that a commit leases for those in line.
    pub(crate) fn serve(&self, commit: &mut Commit, ids: &dyn IdSource) -> Served {
        let Realm::Project(project) = commit.realm.clone() else { return Served::default() };
        if self.spots().is_empty() {
            return Served::default();
        }
        let mut spots = vec![];
        let leases = at_once(commit, &mut |row| {
            let spot = self.take(&project, row)?;
            let waiting = Waiting { claim: spot.claim.clone(), secret: ids.secret() };
            spots.push(spot);
            Some(waiting)
        });
        Served(spots.into_iter().zip(leases).collect())
    }

    /// The first who wants the turn. Who has got enough leaves the line.
    fn take(&self, project: &ProjectId, row: &InboxItem) -> Option<Arc<Spot>> {
        let mut line = self.spots();
        let at = line.iter().position(|spot| spot.wants(project, row))?;
        let mut given = line[at].given();
        given.room -= 1;
        given.under_way += 1;
        let is_full = given.room == 0;
        drop(given);
        Some(if is_full { line.remove(at) } else { Arc::clone(&line[at]) })
    }
}

/// Leases in a commit that is under way. When it is dropped without a word about how that ended, they are unsure.
#[derive(Default)]
pub(crate) struct Served(Vec<(Arc<Spot>, Lease)>);

impl Served {
    /// The commit has ended like this.
    pub(crate) fn settle(mut self, outcome: Result<(), &CommitError>) {
        let settle: fn(&mut Given, Lease) = match outcome {
            Ok(()) => |given, lease| given.leases.push(lease),
            // Left to Drop.
            Err(CommitError::Store(StoreError::Uncertain(_))) => return,
            Err(CommitError::Conflict(_) | CommitError::Store(_)) => |_, _| {},
        };
        for (spot, lease) in self.0.drain(..) {
            spot.settle(|given| settle(given, lease));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        for (spot, lease) in self.0.drain(..) {
            spot.settle(|given| given.unsure.push(lease));
        }
    }
}

impl Kernel {
    /// Stands in line for so many turns, without looking for any.
    pub fn stand_in_line(&self, request: &ClaimRequest, room: usize) -> Place<'_> {
        let given = Given { room, ..Given::default() };
        let spot = Arc::new(Spot {
            target: request.worker_target.clone(),
            projects: request.projects.clone(),
            claim: Claim { worker_id: request.worker_id.clone(), start: request.start },
            given: Mutex::new(given),
            changed: Notify::new(),
            forsaken: Arc::clone(&self.line.forsaken),
        });
        self.line.spots().push(Arc::clone(&spot));
        Place { line: &self.line, spot }
    }

    /// Leaves the line with what was given there. An unsure lease was given if its secret opens its turn; the commit may be
    /// under way although nobody waits for it any more, so that this is looked at again after each pause.
    pub async fn leave_line(&self, place: Place<'_>, pauses_ms: &[u64]) -> Vec<Lease> {
        let Given { mut leases, mut unsure, .. } = place.leave().await;
        let mut pauses = pauses_ms.iter().copied().map(Duration::from_millis);
        while !unsure.is_empty() {
            for lease in std::mem::take(&mut unsure) {
                let list = if self.was_given(&lease).await { &mut leases } else { &mut unsure };
                list.push(lease);
            }
            let Some(pause) = pauses.next().filter(|_| !unsure.is_empty()) else { break };
            tokio::time::sleep(pause).await;
        }
        leases.iter().for_each(|lease| self.opened_by(lease));
        metrics::counter!("cardwire_leases_total").increment(leases.len() as u64);
        leases
    }

    async fn was_given(&self, lease: &Lease) -> bool {
        let row = self.store.turn(&lease.project, lease.turn_id).await;
        row.is_ok_and(|row| row.is_some_and(|row| row.token_hash == secret_of(lease)))
    }

    /// Gives back what was claimed for those who have gone away, so that somebody else is given it.
    pub(crate) async fn give_back_forsaken(&self, caller: &Caller) {
        let forsaken =
            std::mem::take(&mut *self.line.forsaken.lock().unwrap_or_else(PoisonError::into_inner));
        for lease in forsaken {
            let Some(hash) = secret_of(&lease) else { continue };
            let fence = Fence { turn_id: lease.turn_id, epoch: lease.epoch, proof: Proof::Lease(hash) };
            let release = giving_back(fence, "claim_forsaken");
            match self.turn_command(&lease.project, caller, release, None).await {
                // It was not given after all, or is past it.
                Ok(_) | Err(KernelError::Rejected(_)) => {}
                Err(error) => tracing::warn!(%error, "a turn was not given back"),
            }
        }
    }
}

fn secret_of(lease: &Lease) -> Option<Hash256> {
    lease.turn.as_ref().map(|turn| Hash256::of(&turn.secret))
}
