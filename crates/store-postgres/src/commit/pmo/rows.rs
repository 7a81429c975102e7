//! What commits of one realm do to batches and the rest, as one value of type `cw_pmo_writes`.
//!
//! Invariant: writes to one branch, sweeps of one thing and turns below one root count in the order of their commits.

use super::{PmoWrites, Spend};
use crate::commit::row::{
    BatchChangeRow, BatchLock, BatchRow, BranchRow, BranchWrite, GrantRow, Spending, SweepRow, put_fields,
};
use bytes::BytesMut;
use cardwire_model::{BranchKey, Sweep, TurnId};
use std::{
    collections::{BTreeMap, HashMap},
    error::Error,
};
use tokio_postgres::types::{IsNull, Kind, ToSql, Type, to_sql_checked};
use uuid::Uuid;

/// Rows by kind, each sorted by key; absent kinds are null.
#[derive(Debug)]
pub(in crate::commit) struct PmoRows<'a> {
    locks: Option<Vec<BatchLock>>,
    batches: Option<Vec<BatchRow<'a>>>,
    added: Option<Vec<BranchRow<'a>>>,
    moved: Option<Vec<BranchRow<'a>>>,
    ended: Option<Vec<BranchRow<'a>>>,
    more: Option<Vec<BranchRow<'a>>>,
    changes: Option<Vec<BatchChangeRow<'a>>>,
    sweeps: Option<Vec<SweepRow<'a>>>,
    done_sweeps: Option<Vec<SweepRow<'a>>>,
    grants: Option<Vec<GrantRow<'a>>>,
    spends: Option<Vec<Spending>>,
}

impl<'a> PmoRows<'a> {
    /// `None` when there is nothing to write.
    pub(in crate::commit) fn new(
        project: &'a str,
        commits: impl Iterator<Item = &'a PmoWrites> + Clone,
    ) -> Option<Self> {
        if commits.clone().all(PmoWrites::is_empty) {
            return None;
        }
        let branches = Branches::new(commits.clone().flat_map(|commit| &commit.branches));
        let branch = |write| BranchRow { project, write };
        let rows = |writes: Vec<&'a BranchWrite>| some(writes.into_iter().map(branch).collect());
        let batches = commits.clone().flat_map(|commit| &commit.batches);
        let changes = commits.clone().flat_map(|commit| commit.changes.values());
        let grants = commits.clone().flat_map(|commit| &commit.grants);
        let (sweeps, done_sweeps) = sweeps(project, commits.clone().flat_map(|commit| &commit.sweeps));
        Some(Self {
            locks: locks(&branches, commits.clone()),
            batches: sorted(batches.map(|batch| BatchRow { project, batch }), |row| row.batch.id),
            added: rows(branches.added),
            moved: rows(branches.moved),
            ended: rows(branches.ended),
            more: rows(branches.more),
            changes: sorted(changes.map(|change| BatchChangeRow { project, change }), |row| {
                row.change.batch_id
            }),
            sweeps: some(sweeps),
            done_sweeps: some(done_sweeps),
            // Stable: of two grants the first one stays.
            grants: sorted(grants.map(|grant| GrantRow { project, grant }), |row| {
                (row.grant.agent_id.clone(), row.grant.box_id)
            }),
            spends: some(spendings(commits.flat_map(|commit| &commit.spends))),
        })
    }
}

fn some<T>(rows: Vec<T>) -> Option<Vec<T>> {
    Some(rows).filter(|rows| !rows.is_empty())
}

fn sorted<T, K: Ord>(rows: impl Iterator<Item = T>, key: impl Fn(&T) -> K) -> Option<Vec<T>> {
    let mut rows: Vec<T> = rows.collect();
    rows.sort_by_cached_key(key);
    some(rows)
}

/// Writes to branches. What is done to a branch in the order add, move, end, each once, takes one statement per kind for
/// all branches; whatever else is done to it follows one by one.
#[derive(Default)]
struct Branches<'a> {
    added: Vec<&'a BranchWrite>,
    moved: Vec<&'a BranchWrite>,
    ended: Vec<&'a BranchWrite>,
    more: Vec<&'a BranchWrite>,
}

impl<'a> Branches<'a> {
    fn new(writes: impl Iterator<Item = &'a BranchWrite>) -> Self {
        let mut branches = Self::default();
        let mut reached: HashMap<BranchKey, u8> = HashMap::new();
        for write in writes {
            let (place, list) = match write {
                BranchWrite::Add(_) => (1, &mut branches.added),
                BranchWrite::Move { .. } => (2, &mut branches.moved),
                BranchWrite::End(_) => (3, &mut branches.ended),
            };
            let reached = reached.entry(write.key()).or_default();
            if place > *reached {
                *reached = place;
                list.push(write);
            } else {
                *reached = u8::MAX;
                branches.more.push(write);
            }
        }
        for list in [&mut branches.added, &mut branches.moved, &mut branches.ended, &mut branches.more] {
            list.sort_by_key(|write| write.key());
        }
        branches
    }
}

/// Batches to hold: those whose branches move or end. One that is changed as well is held for that at once; one that is
/// only changed is held by the change.
fn locks<'a>(
    branches: &Branches<'_>,
    commits: impl Iterator<Item = &'a PmoWrites> + Clone,
) -> Option<Vec<BatchLock>> {
    let Branches { moved, ended, more, .. } = branches;
    let looked_at = [moved, ended, more].into_iter().flatten().map(|write| (write.key().batch_id, false));
    let mut held: BTreeMap<_, _> = looked_at.collect();
    if !held.is_empty() {
        held.extend(commits.flat_map(|commit| commit.changes.keys()).map(|id| (*id, true)));
    }
    some(held.into_iter().map(|(batch_id, exclusive)| BatchLock { batch_id, exclusive }).collect())
}

/// Sweeps that are there in the end, and those that are not.
fn sweeps<'a>(
    project: &'a str,
    writes: impl Iterator<Item = &'a (Sweep, bool)>,
) -> (Vec<SweepRow<'a>>, Vec<SweepRow<'a>>) {
    let key = |(sweep, is_added): &(Sweep, bool)| ((sweep.scope(), sweep.uuid()), (*sweep, *is_added));
    let last: BTreeMap<(&str, Uuid), (Sweep, bool)> = writes.map(key).collect();
    let (added, done): (Vec<_>, Vec<_>) = last.into_values().partition(|(_, is_added)| *is_added);
    let rows =
        |list: Vec<(Sweep, bool)>| list.into_iter().map(|(sweep, _)| SweepRow { project, sweep }).collect();
    (rows(added), rows(done))
}

/// What is spent below each root, as one: every part must hold after those before it.
fn spendings<'a>(spends: impl Iterator<Item = &'a Spend>) -> Vec<Spending> {
    let mut all: BTreeMap<TurnId, Spending> = BTreeMap::new();
    for Spend { root, turns, limit } in spends {
        let none = Spending { root: *root, turns: 0, most: i64::MAX };
        let spending = all.entry(*root).or_insert(none);
        spending.turns += u64::from(*turns);
        spending.most = spending.most.min(i64::from(*limit) - crate::number::to_bigint(spending.turns));
    }
    all.into_values().collect()
}

impl ToSql for PmoRows<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let lists: [&dyn ToSql; 11] = [
            &self.locks,
            &self.batches,
            &self.added,
            &self.moved,
            &self.ended,
            &self.more,
            &self.changes,
            &self.sweeps,
            &self.done_sweeps,
            &self.grants,
            &self.spends,
        ];
        put_fields(ty, &lists, out)
    }

    fn accepts(ty: &Type) -> bool {
        matches!(ty.kind(), Kind::Composite(_)) && ty.name() == "cw_pmo_writes"
    }

    to_sql_checked!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_model::{BatchId, BranchEnd, TaskStatus, Timestamp};

    fn turn(number: u128) -> TurnId {
        TurnId::from_uuid(Uuid::from_u128(number))
    }

    #[test]
    fn what_is_spent_in_one_holds_exactly_when_each_part_holds_in_turn() {
        let parts = [(0, 0), (1, 1), (1, 5), (3, 4), (2, u32::MAX), (9, 8)];
        for (first, first_limit) in parts {
            for (second, second_limit) in parts {
                let spends = [(first, first_limit), (second, second_limit)];
                let spends = spends.map(|(turns, limit)| Spend { root: turn(1), turns, limit });
                let together = spendings(spends.iter());
                assert_eq!((together.len(), together[0].turns), (1, u64::from(first + second)));
                for spent in 0..20 {
                    let in_turn = spent + first <= first_limit && spent + first + second <= second_limit;
                    assert_eq!(i64::from(spent) <= together[0].most, in_turn, "{spends:?} at {spent}");
                }
            }
        }
    }

    #[test]
    fn the_last_word_on_a_sweep_counts() {
        let (a, b) = (Sweep::Turn(turn(1)), Sweep::Turn(turn(2)));
        let writes = [(b, true), (a, true), (a, false), (b, false), (b, true)];
        let (added, done) = sweeps("p", writes.iter());
        assert_eq!(added.iter().map(|row| row.sweep).collect::<Vec<_>>(), [b]);
        assert_eq!(done.iter().map(|row| row.sweep).collect::<Vec<_>>(), [a]);
    }

    #[test]
    fn of_two_ends_of_one_branch_the_second_follows_the_first() {
        let end = |index, micros| {
            BranchWrite::End(Box::new(BranchEnd {
                key: BranchKey { batch_id: BatchId::from_uuid(Uuid::nil()), index },
                status: TaskStatus::Success,
                deliverable: None,
                error_detail: None,
                error_code: None,
                at: Timestamp::from_micros(micros),
            }))
        };
        let writes = [end(1, 1), end(0, 2), end(1, 3)];
        let branches = Branches::new(writes.iter());
        let keys = |list: &[&BranchWrite]| list.iter().map(|write| write.key().index).collect::<Vec<_>>();
        assert_eq!((keys(&branches.ended), keys(&branches.more)), (vec![0, 1], vec![1]));
    }
}
