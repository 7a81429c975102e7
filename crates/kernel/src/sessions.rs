//! Sessions: load, decide, commit; and what readers see of them. What a session is made of is decided in
//! `protocol::session`.

mod compact;
mod delete;
mod load;
mod reads;
mod turn;

pub(crate) use compact::Planned;
pub use compact::{CompactRequest, Compacted, CompactionPrompt, Summariser, SummaryAnswer, SummaryRequest};
pub use reads::{CheckpointView, Earlier, SessionView, Window};

use crate::{Caller, Done, Kernel, KernelError, Remember, Saved};
use cardwire_model::{Answer, CardId, Keys, ProjectId, Realm, Session, SessionKey, limits};
use cardwire_protocol::{
    Decision, Moment, Rejection,
    idempotency::{self, Known},
    session::{
        State, experience,
        patch::{self, Patch, Patched},
        restore::{self, Restore},
    },
};
use cardwire_store::CommitError;
pub(crate) use load::{Pointed, Wanted};
pub(crate) use turn::SessionRead;

impl Kernel {
    /// Changes a session, or makes it.
    pub async fn patch_session(
        &self,
        project: &ProjectId,
        caller: &Caller,
        key: &SessionKey,
        patch: &Patch,
        remember: Option<&Remember<Patched>>,
    ) -> Result<Done<Patched>, KernelError> {
        patch.check()?;
        self.session_command(project, caller, key, Wanted::Patch(patch), remember, |state, moment| {
            patch::decide(state, patch, moment)
        })
        .await
    }

    /// Puts a session back to an earlier checkpoint.
    pub async fn restore_session(
        &self,
        project: &ProjectId,
        caller: &Caller,
        key: &SessionKey,
        checkpoint: CardId,
        remember: Option<&Remember<Session>>,
    ) -> Result<Done<Session>, KernelError> {
        // What was done is told again, whatever became of the session since.
        if let Some(answer) = self.told(project, remember).await? {
            return Ok(Done::Replayed(answer));
        }
        let session = self.live_session(project, key).await?;
        let to = self.named_checkpoint(project, &session, checkpoint).await?;
        let lists = (
            self.reach_ids(project, to.memory).await?,
            self.reach_ids(project, to.results).await?,
            self.reach_ids(project, to.timeline).await?,
        );
        let (memory, results, timeline) = lists;
        let command = Restore { to, memory, results, timeline };
        self.session_command(project, caller, key, Wanted::Row, remember, |state, moment| {
            restore::decide(state, &command, moment)
        })
        .await
    }

    /// Saves the experience of a session.
    pub(crate) async fn put_experience(
        &self,
        project: &ProjectId,
        caller: &Caller,
        key: &SessionKey,
        save: &experience::Save,
        remember: Option<&Remember<Saved>>,
    ) -> Result<Done<Saved>, KernelError> {
        self.session_command(project, caller, key, Wanted::Row, remember, |state, moment| {
            let Decision { commit, .. } = experience::save(state, save, moment)?;
            Ok(Decision { commit, outcome: Saved::Yes(save.record.clone()) })
        })
        .await
    }

    /// The answer to a request that is remembered, for commands that read much before they are decided.
    pub(crate) async fn told<T>(
        &self,
        project: &ProjectId,
        remember: Option<&Remember<T>>,
    ) -> Result<Option<Answer>, KernelError> {
        match remember {
            Some(remember) => self.answered(project, &remember.key).await,
            None => Ok(None),
        }
    }

    async fn session_once<T>(
        &self,
        project: &ProjectId,
        caller: &Caller,
        key: &SessionKey,
        wanted: Wanted<'_>,
        decide: impl Fn(&State, &Moment) -> Result<Decision<T>, Rejection> + Send + Sync,
    ) -> Result<T, KernelError> {
        match self.session_command(project, caller, key, wanted, None, decide).await? {
            Done::Fresh(outcome) => Ok(outcome),
            Done::Replayed(_) => Err(KernelError::Contended),
        }
    }

    /// The loop of every command on a session.
    pub(crate) async fn session_command<T>(
        &self,
        project: &ProjectId,
        caller: &Caller,
        key: &SessionKey,
        wanted: Wanted<'_>,
        remember: Option<&Remember<T>>,
        decide: impl Fn(&State, &Moment) -> Result<Decision<T>, Rejection> + Send + Sync,
    ) -> Result<Done<T>, KernelError> {
        let realm = Realm::from(project.clone());
        // Commands on one session wait for each other here instead of conflicting in the store.
        let _passed = self.session_stile.pass(project, key).await;
        for attempt in 0..limits::DECIDE_ATTEMPTS {
            let known = match remember {
                Some(remember) => {
                    let keys = Keys { answer: Some(remember.key.clone()), ..Keys::default() };
                    idempotency::known(&self.store.load(&realm, &keys).await?, &remember.key)?
                }
                None => Known::Repeatable,
            };
            if let Known::Answered(answer) = known {
                return Ok(Done::Replayed(answer));
            }
            let state = self.session_state(project, key, wanted, attempt > 0).await?;
            let moment = self.moment(caller);
            let Decision { mut commit, outcome } = decide(&state, &moment)?;
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
}
