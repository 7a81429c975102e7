//! The one loop: load the rows, decide, commit; when somebody else got in between, do it again on fresh rows.

use crate::{Kernel, KernelError, batches::FollowUp, doorbell, telemetry::Told};
use cardwire_model::{
    Answer, AnswerKey, BoxHead, BoxId, CardId, Commit, Keys, ProjectId, Realm, Snapshot, Timestamp, limits,
};
use cardwire_protocol::{
    Actor, Decision, Fresh, Moment, Rejection,
    idempotency::{self, Known},
    turn::recall,
};
use cardwire_store::CommitError;
use tracing::Instrument;

/// Who calls.
#[derive(Debug, Clone)]
pub struct Caller {
    /// For the audit log.
    pub actor: Actor,
}

/// A request whose answer is to be remembered (API-16).
pub struct Remember<T> {
    /// Which request.
    pub key: AnswerKey,
    /// The answer, made before the commit so that both are written together. `None` when doing the request again
    /// gives the same answer by itself.
    #[allow(clippy::type_complexity, reason = "a named alias would hide what is stored")]
    pub render: Box<dyn Fn(&T) -> Option<(u16, String)> + Send + Sync>,
}

impl<T> Remember<T> {
    /// Has the commit that does the request remember its answer. One that was remembered meanwhile is a conflict.
    pub(crate) fn note(&self, commit: &mut Commit, outcome: &T, now: Timestamp) {
        commit.writes.push(idempotency::remember(&self.key, (self.render)(outcome), now));
    }

    /// The same for a command that makes this of it.
    pub(crate) fn of<U>(&self, value: &T) -> Remember<U> {
        let answer = (self.render)(value);
        Remember { key: self.key.clone(), render: Box::new(move |_: &U| answer.clone()) }
    }
}

/// How a repeatable request ended.
#[derive(Debug)]
pub enum Done<T> {
    /// It was done now.
    Fresh(T),
    /// It had been done before; this was the answer.
    Replayed(Answer),
}

impl<T> Done<T> {
    /// What was done now; nothing if it had been done before.
    pub fn fresh(self) -> Option<T> {
        match self {
            Self::Fresh(outcome) => Some(outcome),
            Self::Replayed(_) => None,
        }
    }
}

/// What a decision needs beyond single rows: the flattened cards of a box, when the head asks for them.
pub(crate) struct Flat {
    pub(crate) of: BoxId,
    pub(crate) when: fn(&BoxHead) -> bool,
}

/// The rows a decision is made on.
pub(crate) struct Loaded {
    pub(crate) snapshot: Snapshot,
    pub(crate) flat: Option<Vec<CardId>>,
}

/// What a command reads and who sent it.
pub(crate) struct Plan<'a, T> {
    pub(crate) realm: &'a Realm,
    pub(crate) caller: &'a Caller,
    pub(crate) keys: Keys,
    pub(crate) flat: Option<Flat>,
    pub(crate) remember: Option<&'a Remember<T>>,
}

impl Kernel {
    /// Runs a command to its end.
    pub(crate) async fn execute<T>(
        &self,
        plan: Plan<'_, T>,
        decide: impl Fn(&Loaded, &Moment) -> Result<Decision<T>, Rejection> + Send + Sync,
    ) -> Result<Done<T>, KernelError> {
        self.attempt(plan, limits::DECIDE_ATTEMPTS, decide).await
    }

    /// [`Self::execute`] for those who do more than read rows again when they are told [`KernelError::Contended`]: they try once.
    pub(crate) async fn attempt<T>(
        &self,
        plan: Plan<'_, T>,
        attempts: usize,
        decide: impl Fn(&Loaded, &Moment) -> Result<Decision<T>, Rejection> + Send + Sync,
    ) -> Result<Done<T>, KernelError> {
        let Plan { realm, caller, mut keys, flat, remember } = plan;
        keys.answer = remember.map(|remember| remember.key.clone());
        for _ in 0..attempts {
            let loaded = self.load(realm, &keys, flat.as_ref()).await?;
            let known = match remember {
                Some(remember) => idempotency::known(&loaded.snapshot, &remember.key)?,
                None => Known::Repeatable,
            };
            if let Known::Answered(answer) = known {
                return Ok(Done::Replayed(answer));
            }
            let moment = self.moment(caller);
            let Decision { mut commit, outcome } = decide(&loaded, &moment)?;
            if let (Some(remember), Known::New) = (remember, known) {
                remember.note(&mut commit, &outcome, moment.now);
            }
            match self.commit(commit).await {
                Ok(()) => return Ok(Done::Fresh(outcome)),
                Err(CommitError::Conflict(_)) => {}
                Err(CommitError::Store(error)) => return Err(error.into()),
            }
        }
        Err(KernelError::Contended)
    }

    /// [`Self::execute`] for a request that is not remembered.
    pub(crate) async fn execute_once<T>(
        &self,
        plan: Plan<'_, T>,
        decide: impl Fn(&Loaded, &Moment) -> Result<Decision<T>, Rejection> + Send + Sync,
    ) -> Result<T, KernelError> {
        match self.execute(plan, decide).await? {
            Done::Fresh(outcome) => Ok(outcome),
            Done::Replayed(_) => Err(KernelError::Contended),
        }
    }

    /// Binds a key to its request before a command whose realm depends on the request itself.
    pub(crate) async fn claim_key(&self, key: &AnswerKey) -> Result<(), KernelError> {
        let keys = Keys { answer: Some(key.clone()), ..Keys::default() };
        for _ in 0..limits::DECIDE_ATTEMPTS {
            let snapshot = self.store.load(&Realm::System, &keys).await?;
            if idempotency::known(&snapshot, key)? != Known::New {
                return Ok(());
            }
            let commit = idempotency::claim(key, self.now());
            match self.commit(commit).await {
                Ok(()) => return Ok(()),
                Err(CommitError::Conflict(_)) => {}
                Err(CommitError::Store(error)) => return Err(error.into()),
            }
        }
        Err(KernelError::Contended)
    }

    /// The answer that a request with this key was given before, if it is the same request (API-16). For those who
    /// would pay for finding out again.
    pub async fn answered(
        &self,
        project: &ProjectId,
        key: &AnswerKey,
    ) -> Result<Option<Answer>, KernelError> {
        let keys = Keys { answer: Some(key.clone()), ..Keys::default() };
        let snapshot = self.store.load(&Realm::from(project.clone()), &keys).await?;
        match idempotency::known(&snapshot, key)? {
            Known::Answered(answer) => Ok(Some(answer)),
            Known::New | Known::Repeatable => Ok(None),
        }
    }

    async fn load(&self, realm: &Realm, keys: &Keys, flat: Option<&Flat>) -> Result<Loaded, KernelError> {
        let mut snapshot = self.store.load(realm, keys).await?;
        let mut list = None;
        if let Realm::Project(project) = realm {
            if let Some(Flat { of, when }) = flat
                && let Some(head) = snapshot.boxes.get(of)
                && when(head)
            {
                list = Some(self.flat_ids(project, head).await?);
            }
            // The store knows direct entries; a box with segments shows more than those.
            if let Some((box_id, cards)) = &keys.members
                && let Some(head) = snapshot.boxes.get(box_id)
                && head.depth > 0
            {
                let shown: std::collections::HashSet<_> =
                    self.flat_ids(project, head).await?.into_iter().collect();
                snapshot.members.extend(cards.iter().filter(|card| shown.contains(card)));
            }
        }
        Ok(Loaded { snapshot, flat: list })
    }

    /// Applies a commit, tells those who wait for events and audit rows, and does what follows from it.
    pub(crate) async fn commit(&self, commit: Commit) -> Result<(), CommitError> {
        let project = commit.realm.project().cloned();
        let follow_up = self.apply(commit).await?;
        if let Some(project) = project.filter(|_| !follow_up.is_empty()) {
            self.follow(&project, follow_up, None).await;
        }
        Ok(())
    }

    /// [`Self::commit`] for callers that hold something while they commit: what follows is theirs to do, afterwards.
    pub(crate) async fn apply(&self, mut commit: Commit) -> Result<FollowUp, CommitError> {
        if commit.is_empty() {
            return Ok(FollowUp::default());
        }
        let served = self.line.serve(&mut commit, self.ids.as_ref());
        let started = if served.is_empty() { vec![] } else { recall::leased(&commit) };
        let left = self.recall.prepare(&commit, started);
        let follow_up = FollowUp::of(&commit);
        let changed = self.changes.by(&commit);
        let rings = doorbell::rings(&commit);
        let told = Told::of(&commit);
        let span = tracing::trace_span!(
            "commit",
            cardwire.commit.writes = commit.writes.len(),
            cardwire.commit.events = commit.events.len(),
            cardwire.commit.outcome = tracing::field::Empty,
        );
        let begun = self.now();
        let outcome = self.store.commit(commit).instrument(span.clone()).await;
        // Before anybody is told of the leases.
        if let Some(left) = left.filter(|_| outcome.is_ok()) {
            self.recall.keep(left);
        }
        served.settle(outcome.as_ref().copied());
        let word = match &outcome {
            Ok(()) => "applied",
            Err(CommitError::Conflict(_)) => "conflict",
            Err(CommitError::Store(_)) => "failed",
        };
        span.record("cardwire.commit.outcome", word);
        drop(span);
        metrics::counter!("cardwire_commits_total", "outcome" => word).increment(1);
        metrics::histogram!("cardwire_commit_seconds").record(self.seconds_since(begun));
        if outcome.is_ok() {
            told.tell();
            self.changes.committed(changed);
            rings.iter().for_each(|ring| self.ring(ring));
        }
        outcome.map(|()| follow_up)
    }

    pub(crate) fn moment(&self, caller: &Caller) -> Moment {
        let ids = std::sync::Arc::clone(&self.ids);
        Moment { now: self.now(), actor: caller.actor.clone(), fresh: Fresh::new(move || ids.uuid()) }
    }
}
