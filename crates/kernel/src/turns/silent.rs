//! Turns whose workers are silent, as the watchdog has seen them, for claims with `recover: "target"` (WD-05). What a
//! round finds is only kept in mind: a turn is taken back when a worker asks for it, and only if its worker has not been
//! heard of since. So a moment of the caller's choice is good for rounds alone, and whoever asks for no such turns leaves
//! everybody theirs.

use crate::{Caller, ClaimRequest, Done, Kernel, KernelError};
use cardwire_model::{Hash256, ProjectId, Step, Timestamp, TurnId, WorkerTarget, limits};
use cardwire_protocol::{
    Rejection,
    turn::{
        Command, Outcome, Remains,
        take_back::{self, Overdue, TakeBack},
        view,
    },
};
use cardwire_store::RowFilter;
use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
};

/// For how many seconds a turn is kept in mind that no later round has seen as silent.
const KEPT_SECONDS: i64 = 60;

/// See above.
#[derive(Default)]
pub(crate) struct SilentTurns(Mutex<BTreeMap<(ProjectId, TurnId), Entry>>);

struct Entry {
    target: WorkerTarget,
    overdue: Overdue,
    /// When it was last seen as silent, by the clock of this process.
    noted: Timestamp,
}

impl SilentTurns {
    fn entries(&self) -> MutexGuard<'_, BTreeMap<(ProjectId, TurnId), Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A round begins.
    pub(super) fn forget_old(&self, now: Timestamp) {
        self.entries().retain(|_, entry| now <= entry.noted.plus_seconds(KEPT_SECONDS));
    }

    pub(super) fn note(&self, project: &ProjectId, target: &WorkerTarget, overdue: Overdue, now: Timestamp) {
        let (mut entries, key) = (self.entries(), (project.clone(), overdue.turn_id));
        // Later rounds find the others when these have gone on.
        if entries.len() < limits::SILENT_TURNS || entries.contains_key(&key) {
            entries.insert(key, Entry { target: target.clone(), overdue, noted: now });
        }
    }

    /// Turns that a claim may be given, at most so many: they are its own to take back.
    fn take(&self, request: &ClaimRequest) -> Vec<(ProjectId, Overdue)> {
        let mut entries = self.entries();
        let is_wanted = |(project, turn): &(ProjectId, TurnId), entry: &Entry| {
            entry.target == request.worker_target
                && request.projects.as_ref().is_none_or(|projects| projects.contains(project))
                && !request.holding.contains(turn)
        };
        let wanted = entries.iter().filter(|(key, entry)| is_wanted(key, entry));
        let keys: Vec<_> = wanted.map(|(key, _)| key.clone()).take(request.max_turns).collect();
        keys.into_iter().filter_map(|key| Some((key.0.clone(), entries.remove(&key)?.overdue))).collect()
    }
}

/// Since when workers could have been heard. After a time in which this process stood still or could not reach the store,
/// everybody has been silent, and nobody is to blame.
pub(crate) struct Listening(AtomicI64);

impl Listening {
    pub(crate) const fn since(at: Timestamp) -> Self {
        Self(AtomicI64::new(at.micros()))
    }

    pub(super) fn get(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::Relaxed))
    }

    pub(super) fn begins_again(&self, at: Timestamp) {
        self.0.store(at.micros(), Ordering::Relaxed);
    }
}

impl Kernel {
    /// Takes turns back from workers that are silent, as many as the claim has room for.
    pub async fn take_silent(&self, caller: &Caller, request: &ClaimRequest) -> Result<(), KernelError> {
        for (project, overdue) in self.silent_turns.take(request) {
            match self.take_back(&project, caller, overdue, None).await {
                // It has ended, or its worker was heard of.
                Ok(_) | Err(KernelError::Rejected(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes a turn back, or ends it after its last attempt. Answers whether anything was done.
    pub(super) async fn take_back(
        &self,
        project: &ProjectId,
        caller: &Caller,
        overdue: Overdue,
        now: Option<Timestamp>,
    ) -> Result<bool, KernelError> {
        let item = self.turn_row(project, overdue.turn_id).await?;
        let payload = cardwire_model::TurnPayload::from_stored(&item.payload).ok();
        let most = match payload {
            Some(payload) => self.attempts(project, payload.profile_box).await?,
            None => limits::TURN_ATTEMPTS,
        };
        let lost = self.lost_attempts(project, overdue.turn_id).await?;
        let holder = item.token_hash;
        let command = TakeBack { overdue, holder, lost, most, remains: Remains::default() };
        let done = self.turn_command_at(project, caller, Command::TakeBack(command), None, now).await?;
        if let Some(hash) = holder {
            // Whoever presents it is asked for its turn again.
            self.leases.forget(&(project.clone(), overdue.turn_id, hash));
        }
        Ok(!matches!(done, Done::Fresh(Outcome::Nothing)))
    }

    /// How many attempts the turns of a profile have. One that cannot be read has the usual number.
    async fn attempts(
        &self,
        project: &ProjectId,
        profile_box: cardwire_model::BoxId,
    ) -> Result<u32, KernelError> {
        let cards = match self.box_cards(project, profile_box).await {
            Ok(shown) => shown.cards,
            Err(KernelError::Rejected(Rejection::NotFound { .. })) => vec![],
            Err(error) => return Err(error),
        };
        let profile = view::profile(cards.iter(), self.now());
        Ok(take_back::attempts(profile.map(|card| &card.content)))
    }

    /// How many attempts a turn has lost. Counted before its row is read again: whatever is lost meanwhile raises its
    /// epoch, and what was counted is of no use then.
    async fn lost_attempts(&self, project: &ProjectId, turn: TurnId) -> Result<u32, KernelError> {
        let phase = Some(take_back::PHASE.to_owned());
        let filter = RowFilter { turn_id: Some(turn), step_phase: phase, ..RowFilter::default() };
        let most = limits::TURN_ATTEMPTS_MAX as usize;
        Ok(self.store.steps(project, &filter, None, most).await?.len() as u32)
    }

    /// The step that records how the holder of this secret lost the turn, if it did. A worker that was cut off is told so,
    /// also after the turn was given to another one (DP-17).
    pub async fn lost_lease(
        &self,
        project: &ProjectId,
        turn: TurnId,
        secret: Hash256,
    ) -> Result<Option<Step>, KernelError> {
        let Some(id) = take_back::step_of(secret) else { return Ok(None) };
        let step = self.store.step(project, &id).await?;
        Ok(step.filter(|step| step.turn_id == turn && step.phase == take_back::PHASE))
    }
}
