//! Random claims, the same for the same seed.

use super::Generator;
use crate::fixtures::{agent_id, idle_head};
use cardwire_model::{Commit, HeadGuard, InboxItem, InboxStatus, ProjectId, TurnEpoch, Write};
use cardwire_store::{ClaimQuery, Claimable, DecideClaim};
use std::{collections::BTreeMap, sync::Arc};

/// A claim, and what the model says to it.
#[derive(Clone)]
pub struct Claim {
    /// What is asked for.
    pub query: ClaimQuery,
    /// What becomes of the rows; the same for every store, whatever places it gave them.
    pub decide: DecideClaim,
    /// Which rows must be given to the decision.
    pub given: BTreeMap<ProjectId, Vec<Claimable>>,
    /// Whose commits must be applied.
    pub applied: Vec<ProjectId>,
}

/// What a decision does with a project.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Take,
    Nothing,
    Conflict,
}

impl Generator {
    /// The next claim, applied to the model.
    pub fn claim(&mut self) -> Claim {
        let projects = self.projects.clone();
        let some = projects.iter().filter(|_| self.rng.chance(60)).cloned().collect();
        let query = ClaimQuery {
            worker_target: self.target(),
            projects: self.rng.chance(50).then_some(some),
            now: self.moment(),
            limit: self.rng.between(1, 12),
        };
        let mut fates = BTreeMap::new();
        for project in projects {
            let fate = match self.rng.below(6) {
                0 => Fate::Nothing,
                1 => Fate::Conflict,
                _ => Fate::Take,
            };
            fates.insert(project, fate);
        }
        let worker = self.text();
        let decide: DecideClaim =
            Arc::new(move |project, rows| decide(&worker, fates[project], project, rows));
        let given = self.model.claimable(&query);
        let applied = self.model.claim(&query, &decide);
        self.coverage.claimed += applied.len();
        self.coverage.unclaimed += given.len() - applied.len();
        Claim { query, decide, given, applied }
    }
}

fn decide(worker: &str, fate: Fate, project: &ProjectId, rows: Vec<Claimable>) -> Commit {
    let mut commit = Commit::new(project.clone());
    if fate == Fate::Nothing {
        return commit;
    }
    for Claimable { item, .. } in rows {
        let (from, processed_at) = (item.status, Some(item.created_at));
        let worker_id = Some(worker.to_owned());
        let item = InboxItem { status: InboxStatus::Processing, worker_id, processed_at, ..item };
        commit.writes.push(Write::UpdateInbox { from, item: Box::new(item) });
    }
    if fate == Fate::Conflict {
        let head = idle_head(agent_id("nobody"));
        let guard = HeadGuard { epoch: TurnEpoch::new(1 << 40), ..head.guard() };
        commit.writes.push(Write::MoveHead { guard, to: Box::new(head), queued: 0, is_copied: true });
    }
    commit
}
