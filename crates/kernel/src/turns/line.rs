//! The line: claims of this process that wait for turns. A commit that leases a turn claims it for whoever stands in line,
//! so that the turn need not be looked for and its row is written once. Only a help: a turn that nobody here waits for is
//! rung for, and found by looking.

use super::forsaken::{Forsaken, Held, secret_of};
use crate::{ClaimRequest, Kernel, ids::IdSource};
use cardwire_model::{Commit, InboxItem, ProjectId, Realm, WorkerTarget};
use cardwire_protocol::turn::claim::{Claim, Lease, Waiting, at_once};
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
    /// Leases, sure or not, whose claims have gone away.
    pub(super) forsaken: Arc<Forsaken>,
}

/// Where one claim waits.
struct Spot {
    target: WorkerTarget,
    projects: Option<Vec<ProjectId>>,
    claim: Claim,
    given: Mutex<Given>,
    changed: Notify,
    forsaken: Arc<Forsaken>,
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
    /// Another claim of the same worker, which is given what was under way when this one left the line.
    heir: Option<Arc<Spot>>,
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
            && self.claim.is_served_with(row)
    }

    /// Commits with so many turns for this one are under way, if it has room for all of them. Answers how much is left.
    fn reserve(&self, turns: usize) -> Option<usize> {
        let mut given = self.given();
        given.room = given.room.checked_sub(turns)?;
        given.under_way += turns;
        Some(given.room)
    }

    /// Whether what is given here may be given there.
    fn is_like(&self, other: &Self) -> bool {
        (&self.claim, &self.target, &self.projects) == (&other.claim, &other.target, &other.projects)
    }

    /// Settles one turn that is under way, here or where it has gone.
    fn settle(self: &Arc<Self>, settle: impl FnOnce(&mut Given)) {
        let mut spot = Arc::clone(self);
        loop {
            // Looked at and settled under one lock: nobody leaves the line in between.
            let mut given = spot.given();
            if let Some(heir) = given.heir.clone() {
                drop(given);
                spot = heir;
                continue;
            }
            given.under_way -= 1;
            settle(&mut given);
            if given.is_gone {
                spot.forsake(&mut given);
            }
            drop(given);
            spot.changed.notify_one();
            return;
        }
    }

    fn forsake(&self, given: &mut Given) {
        self.forsaken.add(given.leases.drain(..).chain(given.unsure.drain(..)));
    }
}

impl Drop for Spot {
    /// Heirs of heirs one by one: behind a commit that takes long there may be many.
    fn drop(&mut self) {
        let mut next = self.given().heir.take();
        while let Some(mut heir) = next.and_then(Arc::into_inner) {
            next = heir.given.get_mut().unwrap_or_else(PoisonError::into_inner).heir.take();
        }
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

    /// Leaves the line. What is under way goes to another claim of the same worker, and is waited for only if there is none.
    async fn leave(self) -> Given {
        self.line.remove(&self.spot);
        self.until(|given| given.under_way == 0).await;
        let mut given = self.spot.given();
        Given {
            leases: std::mem::take(&mut given.leases),
            unsure: std::mem::take(&mut given.unsure),
            ..Given::default()
        }
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

    fn stand(&self, request: &ClaimRequest, room: usize) -> Place<'_> {
        let spot = Arc::new(Spot {
            target: request.worker_target.clone(),
            projects: request.projects.clone(),
            claim: Claim { worker_id: request.worker_id.clone(), start: request.start },
            given: Mutex::new(Given { room, ..Given::default() }),
            changed: Notify::new(),
            forsaken: Arc::clone(&self.forsaken),
        });
        self.spots().push(Arc::clone(&spot));
        Place { line: self, spot }
    }

    /// Takes a spot out of the line. Another that is like it, and has room, is given what is under way.
    fn remove(&self, spot: &Arc<Spot>) {
        let mut line = self.spots();
        line.retain(|known| !Arc::ptr_eq(known, spot));
        let mut given = spot.given();
        given.room = 0;
        if given.under_way == 0 || given.heir.is_some() {
            return;
        }
        // The newest: whoever asked for it is the least likely to have gone away unnoticed.
        let mut others = line.iter().rev();
        let heir = others.find(|other| other.is_like(spot) && other.reserve(given.under_way).is_some());
        if let Some(heir) = heir {
            given.heir = Some(Arc::clone(heir));
            given.under_way = 0;
        }
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
        let (at, left) = line.iter().enumerate().find_map(|(at, spot)| {
            let left = spot.wants(project, row).then(|| spot.reserve(1))??;
            Some((at, left))
        })?;
        Some(if left == 0 { line.remove(at) } else { Arc::clone(&line[at]) })
    }
}

/// Leases in a commit that is under way. When it is dropped without a word about how that ended, they are unsure.
#[derive(Default)]
pub(crate) struct Served(Vec<(Arc<Spot>, Lease)>);

impl Served {
    /// Whether nobody was given anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

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
        self.line.stand(request, room)
    }

    /// Leaves the line with what was given there. An unsure lease was given if its secret opens its turn; the commit may be
    /// under way although nobody waits for it any more, so that this is looked at again after each pause, and then left to
    /// those who give back.
    pub async fn leave_line(&self, place: Place<'_>, pauses_ms: &[u64]) -> Held {
        let Given { leases, unsure, .. } = place.leave().await;
        let (mut held, mut unsure) = (self.hold(leases), self.hold(unsure));
        let mut pauses = pauses_ms.iter().copied().map(Duration::from_millis);
        while !unsure.leases().is_empty() {
            let mut at = 0;
            while let Some(lease) = unsure.leases().get(at) {
                if self.was_given(lease).await {
                    held.add([unsure.remove(at)]);
                } else {
                    at += 1;
                }
            }
            let Some(pause) = pauses.next().filter(|_| !unsure.leases().is_empty()) else { break };
            tokio::time::sleep(pause).await;
        }
        held.leases().iter().for_each(|lease| self.opened_by(lease));
        metrics::counter!("cardwire_leases_total").increment(held.leases().len() as u64);
        held
    }

    async fn was_given(&self, lease: &Lease) -> bool {
        let row = self.store.turn(&lease.project, lease.turn_id).await;
        row.is_ok_and(|row| row.is_some_and(|row| row.token_hash == secret_of(lease)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turns::forsaken::tests::lease;
    use futures_util::FutureExt as _;

    fn request(worker: &str) -> ClaimRequest {
        ClaimRequest {
            worker_target: "w".parse().unwrap(),
            worker_id: worker.to_owned(),
            max_turns: 9,
            wait: Duration::ZERO,
            projects: None,
            start: true,
            recover: crate::Recover::Nothing,
            holding: vec![],
        }
    }

    /// A commit is under way with a turn for this place.
    fn under_way(place: &Place<'_>, number: u128) -> Served {
        place.spot.reserve(1).unwrap();
        Served(vec![(Arc::clone(&place.spot), lease(number))])
    }

    fn leave(place: Place<'_>) -> Option<Vec<Lease>> {
        place.leave().now_or_never().map(|given| given.leases)
    }

    #[test]
    fn who_leaves_does_not_wait_for_what_another_claim_of_its_worker_can_be_given() {
        let line = Line::default();
        let [first, stranger, second, third] =
            ["one", "two", "one", "one"].map(|worker| line.stand(&request(worker), 2));
        let (sooner, later, last) = (under_way(&first, 1), under_way(&first, 2), under_way(&second, 3));
        sooner.settle(Ok(()));
        assert_eq!(leave(first), Some(vec![lease(1)]));
        last.settle(Ok(()));
        // What was under way for the first goes to the second, and with that to the third.
        assert_eq!(leave(second), Some(vec![lease(3)]));
        later.settle(Ok(()));
        assert_eq!(leave(stranger), Some(vec![]));
        assert_eq!(leave(third), Some(vec![lease(2)]));
    }

    /// Nobody is given more than it has room for, nor what another worker was given.
    #[test]
    fn who_leaves_waits_if_nobody_else_can_be_given_what_is_under_way() {
        for (worker, room) in [("one", 1), ("two", 2)] {
            let line = Line::default();
            let (first, other) = (line.stand(&request("one"), 2), line.stand(&request(worker), room));
            let (sooner, later) = (under_way(&first, 1), under_way(&first, 2));
            let mut leaving = Box::pin(first.leave());
            assert!((&mut leaving).now_or_never().is_none());
            sooner.settle(Ok(()));
            assert!((&mut leaving).now_or_never().is_none());
            later.settle(Ok(()));
            assert_eq!(leaving.now_or_never().unwrap().leases, [lease(1), lease(2)]);
            assert_eq!(leave(other), Some(vec![]));
        }
    }

    /// Nothing is lost while commits end and claims leave the line at the same moment.
    #[test]
    fn every_turn_is_given_once_however_claims_come_and_go() {
        const TURNS: u128 = 20_000;
        let line = Line::default();
        let (under_way_now, settling) = std::sync::mpsc::sync_channel::<Served>(2);
        let mut given = vec![];
        std::thread::scope(|scope| {
            scope.spawn(|| settling.into_iter().for_each(|served| served.settle(Ok(()))));
            let mut first = line.stand(&request("one"), 9);
            for number in 0..TURNS {
                under_way_now.send(under_way(&first, number)).unwrap();
                let second = line.stand(&request("one"), 9);
                let left = std::mem::replace(&mut first, second);
                given.extend(leave(left).expect("there is an heir").into_iter().map(|lease| lease.turn_id));
            }
            drop(under_way_now);
            while first.spot.given().under_way > 0 {
                std::thread::yield_now();
            }
            given.extend(leave(first).unwrap().into_iter().map(|lease| lease.turn_id));
        });
        given.sort_unstable();
        assert_eq!(given, (0..TURNS).map(|number| lease(number).turn_id).collect::<Vec<_>>());
    }

    #[test]
    fn a_commit_may_take_as_long_as_many_claims() {
        let line = Line::default();
        let mut first = line.stand(&request("one"), 9);
        let later = under_way(&first, 1);
        for _ in 0..200_000 {
            let second = line.stand(&request("one"), 9);
            assert_eq!(leave(std::mem::replace(&mut first, second)), Some(vec![]));
        }
        later.settle(Ok(()));
        assert_eq!(leave(first), Some(vec![lease(1)]));
    }

    #[test]
    fn what_was_inherited_by_one_who_goes_away_is_forsaken() {
        let line = Line::default();
        let (first, second) = (line.stand(&request("one"), 2), line.stand(&request("one"), 2));
        let later = under_way(&first, 1);
        assert_eq!(leave(first), Some(vec![]));
        drop(second);
        later.settle(Ok(()));
        assert_eq!(line.forsaken.leases(), [lease(1)]);
    }
}
