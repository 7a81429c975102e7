//! Claiming: a worker waits for rows and is given leases.

use crate::{Caller, Kernel, KernelError};
use cardwire_model::{Hash256, ProjectId, TurnId, WorkerTarget};
use cardwire_protocol::{
    Moment,
    turn::claim::{self, Candidate, Claim, Claimed, Lease},
};
use cardwire_store::{ClaimQuery, Claimable, CommitError, DecideClaim};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
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
    /// Give back first what a worker of this name held.
    pub recover: bool,
    /// But not these turns, which it knows of and is at.
    pub holding: Vec<TurnId>,
}

/// How long a waiting claim goes without looking. Work of other processes is found this way when no bus tells of it.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl Kernel {
    /// Claims what waits for the worker, and waits for it if need be.
    #[tracing::instrument(level = "trace", skip_all, fields(cardwire.worker.target = %request.worker_target, cardwire.claim.leases = tracing::field::Empty))]
    pub async fn claim(&self, caller: &Caller, request: &ClaimRequest) -> Result<Vec<Lease>, KernelError> {
        if request.recover {
            self.recover(caller, request).await?;
        }
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
            let rings = bell.rings();
            if must_look || !bell.is_spent(self.now(), LOOK_EVERY) {
                let now = self.now();
                let leases = self.claim_now(caller, request).await?;
                if leases.len() < request.max_turns {
                    bell.looked(rings, now);
                } else {
                    bell.pass_on();
                }
                if !leases.is_empty() || request.wait.is_zero() {
                    tracing::Span::current().record("cardwire.claim.leases", leases.len());
                    return Ok(leases);
                }
            }
            tokio::select! {
                () = ring => must_look = false,
                () = tokio::time::sleep(LOOK_EVERY) => must_look = true,
                () = &mut end => return Ok(vec![]),
                () = stop.stopped() => return Ok(vec![]),
            }
        }
    }

    /// Claims what is there now.
    pub async fn claim_now(
        &self,
        caller: &Caller,
        request: &ClaimRequest,
    ) -> Result<Vec<Lease>, KernelError> {
        let moment = self.moment(caller);
        let query = ClaimQuery {
            worker_target: request.worker_target.clone(),
            projects: request.projects.clone(),
            now: moment.now,
            limit: request.max_turns,
        };
        let claims: Arc<Mutex<BTreeMap<ProjectId, Claimed>>> = Arc::default();
        let decide = self.decide_claim(request, moment, Arc::clone(&claims));
        let applied = match self.store.claim(&query, decide).await {
            Ok(applied) => applied,
            Err(CommitError::Conflict(_)) => vec![],
            Err(CommitError::Store(error)) => return Err(error.into()),
        };
        let mut claims = std::mem::take(&mut *claims.lock().unwrap_or_else(PoisonError::into_inner));
        let mut leases = vec![];
        for (project, claimed) in &mut claims {
            for agent in &claimed.lost {
                if let Err(error) = self.rebuild(project, caller, agent).await {
                    tracing::warn!(%error, "could not rebuild the state of an agent");
                }
            }
            if applied.contains(project) {
                self.changes.committed(!claimed.commit.events.is_empty(), false);
                claimed.leases.iter().for_each(|lease| self.opened_by(lease));
                leases.append(&mut claimed.leases);
            }
        }
        metrics::counter!("cardwire_leases_total").increment(leases.len() as u64);
        Ok(leases)
    }

    fn decide_claim(
        &self,
        request: &ClaimRequest,
        moment: Moment,
        claims: Arc<Mutex<BTreeMap<ProjectId, Claimed>>>,
    ) -> DecideClaim {
        let claim = Claim { worker_id: request.worker_id.clone(), start: request.start };
        let ids = Arc::clone(&self.ids);
        Arc::new(move |project: &ProjectId, rows: Vec<Claimable>| {
            let candidates: Vec<_> = rows.iter().map(candidate).collect();
            let secret = || {
                let secret = ids.secret();
                (secret, Hash256::of(&secret))
            };
            let claimed = claim::decide(project, &candidates, &claim, &secret, &moment);
            let commit = claimed.commit.clone();
            claims.lock().unwrap_or_else(PoisonError::into_inner).insert(project.clone(), claimed);
            commit
        })
    }
}

fn candidate(row: &Claimable) -> Candidate<'_> {
    Candidate { item: &row.item, turn: row.turn.as_ref(), head: row.head.as_ref() }
}
