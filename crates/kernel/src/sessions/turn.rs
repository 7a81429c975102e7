//! The memory of a turn that belongs to a session (ST-07): what was asked and what came of it are written in the commit
//! that ends the turn, under its id. Before that commit nothing of it is in memory, after it everything is, once.

use super::load::{Pointed, Wanted};
use crate::{Kernel, KernelError};
use cardwire_model::{
    CanonicalJson, Card, CardId, Commit, InboxItem, ProjectId, Seen, SessionKey, Snapshot, TurnPayload, Write,
};
use cardwire_protocol::{
    Moment, Rejection,
    session::turn::{self as memory, Membership},
};
use std::sync::Arc;

/// A session as a turn sees it. Read once for each call, so that all that the call shows of it is of one version.
#[derive(Debug, Clone)]
pub(crate) struct SessionRead {
    pub(crate) key: SessionKey,
    pub(crate) seen: Seen,
    pub(crate) pointed: Arc<Pointed>,
}

impl SessionRead {
    /// The summary that stands for older messages.
    pub(crate) fn summary(&self) -> Option<CardId> {
        self.pointed.checkpoint.summary
    }
}

impl Kernel {
    /// What a commit that ends a turn of a session writes to that session, with what people said in the turn.
    pub(crate) async fn turn_memory(
        &self,
        project: &ProjectId,
        snapshot: &Snapshot,
        (commit, replies): (&Commit, &[CanonicalJson]),
        moment: &Moment,
    ) -> Result<Option<Commit>, KernelError> {
        let Some(rows) = &snapshot.turn else { return Ok(None) };
        let Some(answered) = memory::answered(&rows.item, commit) else { return Ok(None) };
        let asked = self.instruction(project, answered.payload.context_box).await?;
        let input = asked.map(|card| card.content.clone());
        let deliverable = match written(commit, answered.deliverable) {
            Some(card) => card.content.clone(),
            None => self.own_card(project, answered.deliverable).await?.content.clone(),
        };
        let patch = memory::exchange(&answered, input, replies, deliverable);
        let state = self.session_state(project, &answered.key, Wanted::Patch(&patch), true).await?;
        match memory::remember(&state, answered.began, &patch, moment) {
            Ok(remembered) => Ok(remembered),
            // A memory that takes no more must not keep the turn from ending.
            Err(Rejection::Invalid(invalid)) => {
                tracing::warn!(session = %answered.key, turn = %answered.turn_id, %invalid, "a turn is not remembered");
                Ok(None)
            }
            Err(rejection) => Err(rejection.into()),
        }
    }

    /// Waits for those who change the session of a turn, if it has one.
    pub(crate) async fn pass_session(
        &self,
        project: &ProjectId,
        item: &InboxItem,
    ) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        let key = memory::session_of_row(item)?;
        Some(self.session_stile.pass(project, &key).await)
    }

    /// The session that a turn belongs to, as the turn sees it.
    pub(crate) async fn session_of_turn(
        &self,
        project: &ProjectId,
        payload: &TurnPayload,
    ) -> Result<Option<SessionRead>, KernelError> {
        let Some(Membership { key, seen }) = memory::membership(&payload.runtime_config) else {
            return Ok(None);
        };
        self.read_session(project, key, seen).await.map(Some)
    }

    /// A session as it is, or what somebody sees of it who sees it as it was (RP-06). One that was deleted is empty, also
    /// for those who would see what it was before.
    pub(crate) async fn read_session(
        &self,
        project: &ProjectId,
        key: SessionKey,
        seen: Option<Seen>,
    ) -> Result<SessionRead, KernelError> {
        let row = match seen {
            Some(Seen::Nothing) => None,
            Some(Seen::Checkpoint(_)) | None => self.store.session(project, &key).await?,
        };
        let row = row.filter(|row| row.deleted_at.is_none());
        let card = match (&row, seen) {
            (None, _) | (Some(_), Some(Seen::Nothing)) => None,
            (Some(row), None) => Some(row.checkpoint),
            (Some(row), Some(Seen::Checkpoint(card))) => {
                let checkpoint = self.checkpoint(project, &key, card).await?;
                self.is_of(project, row, &checkpoint).await?.then_some(card)
            }
        };
        let (seen, pointed) = match card {
            None => (Seen::Nothing, Arc::default()),
            Some(card) => (Seen::Checkpoint(card), self.pointed_at(project, &key, card).await?),
        };
        Ok(SessionRead { key, seen, pointed })
    }
}

fn written(commit: &Commit, id: CardId) -> Option<&Card> {
    fn card(write: &Write) -> Option<&Card> {
        if let Write::PutCard(card) = write { Some(card.as_ref()) } else { None }
    }
    commit.writes.iter().filter_map(card).find(|card| card.id == id)
}
