//! Random commits of every kind, sound or spoiled, the same for the same seed.
//!
//! The generator keeps a [`State`] as its oracle: it knows what is there, makes a commit that would be applied, and
//! spoils about a third of them in one of the ways listed in [`Spoiler`]. Must not know a store.
//! Invariant: a sound commit is applied and a spoiled one refused; otherwise the generator itself panics.

mod batch_values;
mod batches;
mod claims;
mod coverage;
mod graph;
mod keys;
mod known;
mod passages;
mod sessions;
mod sound;
mod spoil;
mod turn_values;
mod turns;
mod values;

pub use claims::Claim;
pub use coverage::Coverage;
pub use spoil::Spoiler;

use crate::{
    fixtures::{SeededIds, project_id},
    reference::{Refusal, State},
    rng::Rng,
};
use cardwire_model::{AnswerKey, BoxHead, CardId, Commit, Conflict, ProjectId, Realm, Timestamp, Token};
use known::Known;
use std::collections::BTreeMap;

/// How many of a hundred commits are spoiled, and how many of those twice.
const SPOILED: usize = 31;
const SPOILED_TWICE: usize = 12;
/// How many projects there are in the end.
const PROJECTS: usize = 5;

/// Makes commits, one after the other; each is made for the rows that the ones before it left.
#[derive(Debug)]
pub struct Generator {
    rng: Rng,
    ids: SeededIds,
    now: i64,
    model: State,
    projects: Vec<ProjectId>,
    known: BTreeMap<Realm, Known>,
    coverage: Coverage,
}

/// A commit, and what the model says to it.
#[derive(Debug, Clone)]
pub struct Step {
    /// To be given to the stores.
    pub commit: Commit,
    /// Why it must be refused; none when it must be applied.
    pub refusals: Vec<Refusal>,
}

impl Step {
    /// The conflicts a store may answer with. Several different ones when several parts do not hold: which of
    /// them a store finds first is its own affair.
    pub fn conflicts(&self) -> Vec<Conflict> {
        self.refusals.iter().map(|refusal| refusal.conflict).collect()
    }
}

impl Generator {
    /// The same seed gives the same commits.
    pub fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            ids: SeededIds::new(seed ^ 0x001d_51d5_1d51_d51d),
            now: 1_767_268_800_000_000,
            model: State::default(),
            projects: vec![],
            known: BTreeMap::new(),
            coverage: Coverage::default(),
        }
    }

    /// The next commit, applied to the model when it holds.
    pub fn step(&mut self) -> Step {
        self.now += self.rng.between(1, 2_000_000) as i64;
        let mut commit = self.sound();
        let spoilers = self.spoil(&mut commit);
        self.tell(&mut commit);
        let refusals = self.model.apply(&commit).err().unwrap_or_default();
        assert_eq!(
            spoilers.is_empty(),
            refusals.is_empty(),
            "the generator misjudged {commit:#?} spoiled by {spoilers:?}: {refusals:?}"
        );
        self.coverage.count(&commit, &refusals, &spoilers);
        if refusals.is_empty() {
            self.learn(&commit);
        }
        Step { commit, refusals }
    }

    /// What was tried so far.
    pub fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// Lets the model forget old answers, as the stores do, and says before which moment and how many.
    pub fn forget_answers(&mut self) -> (Timestamp, u64) {
        let before = Timestamp::from_micros(self.now - 200 * 1_000_000);
        let count = self.model.forget_answers(before);
        for (realm, known) in &mut self.known {
            known.answers.retain(|key| self.model.answer(realm, key).is_some());
        }
        (before, count)
    }

    /// Every remembered answer there ever was and still is.
    pub fn answers(&self) -> Vec<(Realm, AnswerKey)> {
        let of_realm = |(realm, known): (&Realm, &Known)| {
            known.answers.iter().map(|key| (realm.clone(), key.clone())).collect::<Vec<_>>()
        };
        self.known.iter().flat_map(of_realm).collect()
    }

    /// What was ever written in projects.
    fn of_projects<T: Clone>(&self, list: fn(&Known) -> &Vec<T>) -> Vec<(ProjectId, T)> {
        let of_project = |project: &ProjectId| {
            let known = self.known.get(&Realm::from(project.clone())).map(list);
            known.into_iter().flatten().map(|one| (project.clone(), one.clone())).collect::<Vec<_>>()
        };
        self.projects.iter().flat_map(of_project).collect()
    }

    /// A project, once there is one.
    pub fn any_project(&mut self) -> Option<ProjectId> {
        self.rng.pick(&self.projects).cloned()
    }

    /// A box of a project, once there is one.
    pub fn any_box(&mut self, project: &ProjectId) -> Option<BoxHead> {
        let realm = project.clone().into();
        let id = self.some_box(&realm)?;
        self.model.card_box(&realm, id).cloned()
    }

    /// A random value, for whoever drives the generator.
    pub fn uuid(&mut self) -> uuid::Uuid {
        self.ids.uuid()
    }

    /// A random number below `bound`, for whoever drives the generator.
    pub fn below(&mut self, bound: usize) -> usize {
        self.rng.below(bound)
    }

    const fn moment(&self) -> Timestamp {
        Timestamp::from_micros(self.now)
    }

    /// Mostly a project, now and then the system itself.
    fn any_realm(&mut self) -> Realm {
        match self.rng.pick(&self.projects) {
            Some(project) if self.rng.chance(92) => project.clone().into(),
            Some(_) | None => Realm::System,
        }
    }

    fn any_known_realm(&mut self) -> Realm {
        let realms: Vec<_> = self.known.keys().cloned().collect();
        self.rng.pick(&realms).cloned().unwrap_or(Realm::System)
    }

    /// A realm that no project has.
    fn ghost(&mut self) -> ProjectId {
        project_id(&format!("ghost-{}", self.rng.below(1_000)))
    }

    /// The first of some random cards that fits.
    fn find_card(&mut self, realm: &Realm, fits: impl Fn(&State, CardId) -> bool) -> Option<CardId> {
        let candidates: Vec<_> = (0..TRIES).filter_map(|_| self.some_card(realm)).collect();
        candidates.into_iter().find(|id| fits(&self.model, *id))
    }

    /// The first of some random boxes that fits.
    fn find_box(&mut self, realm: &Realm, fits: impl Fn(&BoxHead) -> bool) -> Option<BoxHead> {
        let candidates: Vec<_> = (0..TRIES).filter_map(|_| self.some_box(realm)).collect();
        let mut heads = candidates.into_iter().filter_map(|id| self.model.card_box(realm, id));
        heads.find(|head| fits(head)).cloned()
    }

    /// The first of some random tokens that fits.
    fn find_token(&mut self, fits: impl Fn(&Token) -> bool) -> Option<Token> {
        let candidates: Vec<_> = (0..TRIES).filter_map(|_| self.any_token()).collect();
        let mut tokens = candidates.into_iter().filter_map(|(_, id)| self.model.token(id));
        tokens.find(|token| fits(token)).cloned()
    }
}

/// How many random rows are looked at for one of a kind.
const TRIES: usize = 20;
