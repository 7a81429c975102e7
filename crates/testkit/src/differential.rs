//! The differential test: the same random commits on two stores, which must agree on every outcome and every row.
//!
//! Must not know what the stores are. Invariant: a difference panics with the seed, the number of the commit and
//! the commit itself; `CARDWIRE_TEST_SEED=<seed>` repeats it.

mod batches;
mod sessions;
mod turns;

use crate::{
    dump::dump,
    generate::{Coverage, Generator, Step},
};
use cardwire_model::{AuditRow, Commit, Conflict, Keys, ProjectId, Realm, Write};
use cardwire_store::{CommitError, RowFilter, Store};
use futures_util::future::join_all;
use std::{collections::BTreeMap, fmt::Debug};
use tokio::task::coop::unconstrained;
use turns::comparable;

/// Whole dumps are compared after so many commits, and at the end.
const DUMP_EVERY: usize = 1_000;
/// Some reads are compared after so many commits.
const READ_EVERY: usize = 20;
/// Rows are claimed after so many commits.
const CLAIM_EVERY: usize = 50;
/// Answers are forgotten after so many commits.
const FORGET_EVERY: usize = 400;

/// Gives two empty stores the same commits, one after the other, and answers what was tried.
pub async fn differential(left: &dyn Store, right: &dyn Store, seed: u64, commits: usize) -> Coverage {
    let mut run = Run::new(left, right, seed);
    for _ in 0..commits {
        let step = run.generator.step();
        let (on_left, on_right) = (run.left.commit(&step).await, run.right.commit(&step).await);
        run.compare_outcomes(&step, on_left, on_right);
        run.look().await;
    }
    run.finish().await
}

/// The same with `group` commits under way at once, to exercise a backend that applies several of them in one
/// transaction. Only for stores that apply commits in the order in which they were submitted and number audit
/// rows without gaps.
pub async fn differential_in_groups(
    left: &dyn Store,
    right: &dyn Store,
    seed: u64,
    commits: usize,
    group: usize,
) -> Coverage {
    let mut run = Run::new(left, right, seed);
    for _ in (0..commits).step_by(group) {
        let steps: Vec<_> = (0..group).map(|_| run.generator.step()).collect();
        let on_left = in_order(steps.iter().map(|step| left.commit(step.commit.clone()))).await;
        let on_right = in_order(steps.iter().map(|step| right.commit(step.commit.clone()))).await;
        for ((step, on_left), on_right) in steps.iter().zip(on_left).zip(on_right) {
            run.compare_outcomes(step, on_left, on_right);
        }
        run.look().await;
    }
    run.finish().await
}

/// All at once, begun in their order: rows get their places in it. The runtime may not make one of them wait for its
/// next round because the others have done so much, which would let those behind it go first.
async fn in_order<F: Future>(work: impl Iterator<Item = F>) -> Vec<F::Output> {
    unconstrained(join_all(work)).await
}

struct Run<'a> {
    seed: u64,
    generator: Generator,
    left: Side<'a>,
    right: Side<'a>,
    done: usize,
    looked: usize,
}

impl<'a> Run<'a> {
    fn new(left: &'a dyn Store, right: &'a dyn Store, seed: u64) -> Self {
        let side = |store| Side { store, seqs: BTreeMap::new() };
        Self {
            seed,
            generator: Generator::new(seed),
            left: side(left),
            right: side(right),
            done: 0,
            looked: 0,
        }
    }

    fn fail(&self, what: &str) -> ! {
        panic!("seed {}, after {} commits: {what}", self.seed, self.done);
    }

    fn compare_outcomes(
        &mut self,
        step: &Step,
        left: Result<(), CommitError>,
        right: Result<(), CommitError>,
    ) {
        self.done += 1;
        let allowed = step.conflicts();
        let read = |side: &str, outcome| match outcome {
            Ok(()) => None,
            Err(CommitError::Conflict(conflict)) => Some(conflict),
            Err(CommitError::Store(error)) => self.fail(&format!("{side}: {error}\n{:#?}", step.commit)),
        };
        let (left, right) = (read("left", left), read("right", right));
        let is_right = |outcome: Option<Conflict>| match outcome {
            None => allowed.is_empty(),
            Some(conflict) => allowed.contains(&conflict),
        };
        if !is_right(left) || !is_right(right) {
            self.fail(&format!(
                "left answered {left:?}, right {right:?}, allowed {:?}\n{:#?}",
                step.refusals, step.commit
            ));
        }
    }

    /// Compares some reads now and then.
    async fn look(&mut self) {
        let (from, to) = (self.looked, self.done);
        self.looked = to;
        let passed = |every: usize| from / every != to / every;
        if passed(READ_EVERY) {
            self.compare_loads().await;
            self.compare_reads().await;
            self.compare_due().await;
        }
        if passed(CLAIM_EVERY) {
            self.compare_claims().await;
        }
        if passed(FORGET_EVERY) {
            let (before, count) = self.generator.forget_answers();
            let left = self.left.store.forget_answers(before).await.unwrap();
            let right = self.right.store.forget_answers(before).await.unwrap();
            self.same("forgotten answers", (left, right), (count, count));
        }
        if passed(DUMP_EVERY) {
            self.compare_everything().await;
        }
    }

    async fn finish(mut self) -> Coverage {
        self.compare_everything().await;
        self.generator.coverage().clone()
    }

    fn same<T: PartialEq + Debug>(&self, what: &str, left: T, right: T) {
        if left != right {
            self.fail(&format!("{what} differ\n  left:  {left:?}\n  right: {right:?}"));
        }
    }

    async fn compare_loads(&mut self) {
        let (realm, keys) = self.generator.keys();
        let left = self.left.store.load(&realm, &keys).await.unwrap();
        let right = self.right.store.load(&realm, &keys).await.unwrap();
        self.same("snapshots", comparable(left), comparable(right));
    }

    async fn compare_reads(&mut self) {
        macro_rules! both {
            ($what:literal, $($read:tt)+) => {{
                let left = self.left.store.$($read)+.await.unwrap();
                let right = self.right.store.$($read)+.await.unwrap();
                self.same($what, left, right);
            }};
        }
        let Some(project) = self.generator.any_project() else { return };
        if let Some(head) = self.generator.any_box(&project) {
            let from = self.generator.below(head.entries as usize + 2) as u32;
            both!("box heads", box_head(&project, head.box_id));
            both!("box entries", box_entries(&project, head.box_id, head.generation, from));
            both!("box cards", box_cards(&project, head.box_id, head.generation, from));
        }
        let cards = self.generator.keys().1.cards;
        let mut left = self.left.store.cards(&project, &cards).await.unwrap();
        let mut right = self.right.store.cards(&project, &cards).await.unwrap();
        left.sort_by_key(|card| card.id);
        right.sort_by_key(|card| card.id);
        self.same("cards", left, right);
        let realm = Realm::from(project.clone());
        both!("tokens of a realm", tokens(Some(&realm), None, 5));
        let after = self.generator.below(20) as u64;
        // `seq` may have gaps in one store and none in the other; the chain itself may not differ.
        let chain =
            |rows: Vec<AuditRow>| rows.into_iter().map(|row| (row.audit, row.sealed)).collect::<Vec<_>>();
        let left = chain(self.left.store.audit_chain(&realm, after, 6).await.unwrap());
        let right = chain(self.right.store.audit_chain(&realm, after, 6).await.unwrap());
        self.same("chains", left, right);
        self.compare_events(&project).await;
        self.compare_turns(&project).await;
        self.compare_batches(&project).await;
        self.compare_sessions(&project).await;
        self.compare_searches(&project).await;
    }

    async fn compare_events(&mut self, project: &ProjectId) {
        settle(self.left.store).await;
        settle(self.right.store).await;
        let last = self.left.store.last_position(project).await.unwrap();
        self.same("last positions", last, self.right.store.last_position(project).await.unwrap());
        let after = self.generator.below(last as usize + 1) as u64;
        let filter = self.generator.event_filter(project);
        let left = self.left.store.events(project, after, &filter, 5).await.unwrap();
        let right = self.right.store.events(project, after, &filter, 5).await.unwrap();
        self.same("events", left, right);
    }

    async fn compare_everything(&mut self) {
        settle(self.left.store).await;
        settle(self.right.store).await;
        let (left, right) = (dump(self.left.store).await, dump(self.right.store).await);
        if let Some(difference) = left.first_difference(&right) {
            self.fail(&difference);
        }
        for (realm, key) in self.generator.answers() {
            let keys = Keys { answer: Some(key), ..Keys::default() };
            let left = self.left.store.load(&realm, &keys).await.unwrap();
            let right = self.right.store.load(&realm, &keys).await.unwrap();
            self.same("answers", left, right);
        }
        self.compare_all_due().await;
        self.compare_all_batches().await;
        self.compare_all_searches().await;
        let left = self.left.store.health().await.unwrap();
        let right = self.right.store.health().await.unwrap();
        self.same("unsealed audit rows", left.unsealed_audit, right.unsealed_audit);
    }
}

/// Waits until every committed event has a position.
pub(crate) async fn settle(store: &dyn Store) {
    let numbered = async {
        while store.health().await.unwrap().unnumbered_events > 0 {
            store.number_events().await.unwrap();
            tokio::task::yield_now().await;
        }
    };
    let limit = std::time::Duration::from_secs(60);
    tokio::time::timeout(limit, numbered).await.expect("events are numbered within a minute");
}

/// A store, and which `seq` it gave to the first, second, third … audit row of each realm: the generator counts
/// without gaps, a backend need not.
struct Side<'a> {
    store: &'a dyn Store,
    seqs: BTreeMap<Realm, Vec<u64>>,
}

impl Side<'_> {
    async fn commit(&mut self, step: &Step) -> Result<(), CommitError> {
        let mut commit = step.commit.clone();
        if commit.writes.iter().any(|write| matches!(write, Write::SealAudit { .. })) {
            self.read_seqs(&commit.realm).await;
            self.translate(&mut commit);
        }
        self.store.commit(commit).await
    }

    fn translate(&self, commit: &mut Commit) {
        let seqs = self.seqs.get(&commit.realm).map_or(&[][..], Vec::as_slice);
        for write in &mut commit.writes {
            if let Write::SealAudit { seq, .. } = write {
                // What the generator made up stays: no store has it.
                *seq = usize::try_from(*seq - 1).ok().and_then(|nth| seqs.get(nth)).copied().unwrap_or(*seq);
            }
        }
    }

    /// Reads the rows that are new, newest first, and puts their numbers behind the known ones.
    async fn read_seqs(&mut self, realm: &Realm) {
        let known = self.seqs.entry(realm.clone()).or_default();
        let newest_known = known.last().copied().unwrap_or(0);
        let (mut fresh, mut before) = (vec![], None);
        loop {
            let page = self.store.audit(realm, &RowFilter::default(), before, 50).await.unwrap();
            let new = page.iter().map(|row| row.seq).take_while(|seq| *seq > newest_known);
            let found = new.collect::<Vec<_>>();
            before = found.last().copied();
            fresh.extend_from_slice(&found);
            if found.len() < 50 {
                break;
            }
        }
        known.extend(fresh.into_iter().rev());
    }
}
