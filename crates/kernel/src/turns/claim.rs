//! Claiming: a worker waits for rows and is given leases.

use super::{
    forsaken::{Forsaken, Held},
    line::Room,
};
use crate::{Caller, Kernel, KernelError, doorbell::Bell};
use cardwire_model::{Hash256, ProjectId, TurnId, WorkerTarget};
use cardwire_protocol::{
    Moment,
    turn::claim::{self, Candidate, Claim, Claimed, Lease},
};
use cardwire_store::{ClaimQuery, Claimable, CommitError, DecideClaim};
use futures_util::future::BoxFuture;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// What a worker asks for.
#[derive(Debug, Clone)]
pub struct ClaimRequest {
    /// Which rows.
    pub worker_target: WorkerTarget,
    /// Who it is.
    pub worker_id: String,
    /// At most so many.
    pub max_turns: usize,
    /// How long to wait for the first.
    pub wait: Duration,
    /// Of these projects; all when `None`.
    pub projects: Option<Vec<ProjectId>>,
    /// Start what is claimed in the same commit.
    pub start: bool,
    /// What is given back first.
    pub recover: Recover,
    /// But not these turns, which it knows of and is at.
    pub holding: Vec<TurnId>,
}

/// Which turns of others a claim asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Recover {
    /// None.
    #[default]
    Nothing,
    /// Those that an earlier worker of this name held, whatever became of it.
    OwnName,
    /// Those of its target whose workers are silent.
    Target,
}

/// How long a waiting claim goes without looking. Work of other processes is found this way when no bus tells of it.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Between two looks at a turn of which nobody knows whether it was given, in milliseconds.
const PAUSES_MS: [u64; 5] = [5, 20, 75, 300, 600];

/// Why a claim does not wait any longer.
#[derive(PartialEq, Eq)]
enum Woken {
    Served,
    Rung,
    ToLook,
    Over,
}

impl Kernel {
    /// Claims what waits for the worker, and waits for it if need be.
    pub fn claim<'a>(
        &'a self,
        caller: &'a Caller,
        request: &'a ClaimRequest,
    ) -> BoxFuture<'a, Result<Vec<Lease>, KernelError>> {
        // Boxed for the same reason as a dispatch.
        Box::pin(self.claim_turns(caller, request))
    }

    #[tracing::instrument(level = "trace", skip_all, fields(cardwire.worker.target = %request.worker_target, cardwire.claim.leases = tracing::field::Empty))]
    async fn claim_turns(&self, caller: &Caller, request: &ClaimRequest) -> Result<Vec<Lease>, KernelError> {
        match request.recover {
            Recover::OwnName => self.recover(caller, request).await?,
            Recover::Nothing | Recover::Target => {}
        }
        self.give_back_forsaken(caller).await;
        if request.max_turns == 0 {
            return Ok(vec![]);
        }
        let _asking = self.asks(&request.worker_target, request.projects.as_deref());
        let bell = self.bells.listen(&request.worker_target, &request.projects);
        let end = tokio::time::sleep(request.wait);
        tokio::pin!(end);
        let mut stop = self.tasks().stop();
        let mut must_look = request.wait.is_zero();
        loop {
            // Heard from here on: what rings while we look is not missed.
            let ring = bell.next();
            tokio::pin!(ring);
            ring.as_mut().enable();
            if request.recover == Recover::Target {
                self.take_silent(caller, request).await?;
            }
            let rings = bell.rings();
            if must_look || !bell.is_spent(self.now(), LOOK_EVERY) {
                let found = self.look(caller, request, &bell, rings).await?;
                if !found.leases().is_empty() || request.wait.is_zero() {
                    return Ok(answer(found));
                }
            }
            let place = self.stand_in_line(request, request.max_turns);
            let woken = tokio::select! {
                () = place.served() => Woken::Served,
                () = ring => Woken::Rung,
                () = tokio::time::sleep(LOOK_EVERY) => Woken::ToLook,
                () = &mut end => Woken::Over,
                () = stop.stopped() => Woken::Over,
            };
            let given = self.leave_line(place, &PAUSES_MS).await;
            let is_served = !given.leases().is_empty();
            if is_served && woken == Woken::Rung {
                // Somebody else should look.
                bell.pass_on();
            }
            must_look = woken == Woken::ToLook;
            if is_served || woken == Woken::Over {
                return Ok(answer(given));
            }
        }
    }

    /// Claims what is there. Turns may come by themselves meanwhile, and take of the same room.
    async fn look(
        &self,
        caller: &Caller,
        request: &ClaimRequest,
        bell: &Bell,
        rings: u64,
    ) -> Result<Held, KernelError> {
        let now = self.now();
        let (found, came) = if request.wait.is_zero() {
            (self.claim_within(caller, request, None).await, self.hold(vec![]))
        } else {
            let place = self.stand_in_line(request, request.max_turns);
            let found = self.claim_within(caller, request, Some(place.room())).await;
            (found, self.leave_line(place, &PAUSES_MS).await)
        };
        match found {
            Ok(mut found) => {
                // Those are older.
                found.add(came.pass_on());
                if found.leases().len() < request.max_turns {
                    bell.looked(rings, now);
                } else {
                    bell.pass_on();
                }
                Ok(found)
            }
            // What was given must not be lost.
            Err(error) if !came.leases().is_empty() => {
                tracing::warn!(%error, "could not look for turns");
                Ok(came)
            }
            Err(error) => Err(error),
        }
    }

    /// Claims what is there now.
    pub async fn claim_now(
        &self,
        caller: &Caller,
        request: &ClaimRequest,
    ) -> Result<Vec<Lease>, KernelError> {
        Ok(self.claim_within(caller, request, None).await?.pass_on())
    }

    async fn claim_within(
        &self,
        caller: &Caller,
        request: &ClaimRequest,
        room: Option<Room>,
    ) -> Result<Held, KernelError> {
        let moment = self.moment(caller);
        let query = ClaimQuery {
            worker_target: request.worker_target.clone(),
            projects: request.projects.clone(),
            now: moment.now,
            limit: request.max_turns,
        };
        let decided = Arc::new(Decided::new(&self.line.forsaken));
        let decide = self.decide_claim(request, moment, room, Arc::clone(&decided));
        let applied = match self.store.claim(&query, decide).await {
            Ok(applied) => applied,
            Err(CommitError::Conflict(_)) => {
                // It is known that nothing was given.
                decided.claims().values_mut().for_each(|claimed| claimed.leases.clear());
                vec![]
            }
            Err(CommitError::Store(error)) => return Err(error.into()),
        };
        let (mut held, mut lost) = (self.hold(vec![]), vec![]);
        for (project, claimed) in &mut *decided.claims() {
            lost.extend(std::mem::take(&mut claimed.lost).into_iter().map(|agent| (project.clone(), agent)));
            if applied.contains(project) {
                self.changes.committed(self.changes.by(&claimed.commit));
                let started = std::mem::take(&mut claimed.started);
                if let Some(left) = self.recall.prepare(&claimed.commit, started) {
                    self.recall.keep(left);
                }
                claimed.leases.iter().for_each(|lease| self.opened_by(lease));
                held.add(claimed.leases.drain(..));
            }
        }
        for (project, agent) in &lost {
            if let Err(error) = self.rebuild(project, caller, agent).await {
                tracing::warn!(%error, "could not rebuild the state of an agent");
            }
        }
        metrics::counter!("cardwire_leases_total").increment(held.leases().len() as u64);
        Ok(held)
    }

    fn decide_claim(
        &self,
        request: &ClaimRequest,
        moment: Moment,
        room: Option<Room>,
        decided: Arc<Decided>,
    ) -> DecideClaim {
        let claim = Claim { worker_id: request.worker_id.clone(), start: request.start };
        let ids = Arc::clone(&self.ids);
        Arc::new(move |project: &ProjectId, mut rows: Vec<Claimable>| {
            let mut claims = decided.claims();
            if let Some(room) = &room {
                // A decision may be asked for again.
                room.give_back(claims.remove(project).map_or(0, |claimed| claimed.leases.len()));
                rows.truncate(room.take(rows.len()));
            }
            let candidates: Vec<_> = rows.iter().map(candidate).collect();
            let secret = || {
                let secret = ids.secret();
                (secret, Hash256::of(&secret))
            };
            let claimed = claim::decide(project, &candidates, &claim, &secret, &moment);
            let commit = claimed.commit.clone();
            if let Some(room) = &room {
                // Rows that were put away, and second rows of an agent, are no leases.
                room.give_back(rows.len() - claimed.leases.len());
            }
            claims.insert(project.clone(), claimed);
            commit
        })
    }
}

/// What was decided for one claim. What is left of it in the end, when the store has let go of it as well, may have been
/// given to a claim that has gone away or was not told.
struct Decided {
    claims: Mutex<BTreeMap<ProjectId, Claimed>>,
    forsaken: Arc<Forsaken>,
}

impl Decided {
    fn new(forsaken: &Arc<Forsaken>) -> Self {
        Self { claims: Mutex::default(), forsaken: Arc::clone(forsaken) }
    }

    fn claims(&self) -> MutexGuard<'_, BTreeMap<ProjectId, Claimed>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Decided {
    fn drop(&mut self) {
        let claims = std::mem::take(&mut *self.claims());
        self.forsaken.add(claims.into_values().flat_map(|claimed| claimed.leases));
    }
}

/// Passes the leases on to whoever claimed.
fn answer(held: Held) -> Vec<Lease> {
    tracing::Span::current().record("cardwire.claim.leases", held.leases().len());
    held.pass_on()
}

fn candidate(row: &Claimable) -> Candidate<'_> {
    Candidate { item: &row.item, turn: row.turn.as_ref(), head: row.head.as_ref() }
}
