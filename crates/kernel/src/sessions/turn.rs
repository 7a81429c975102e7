//! The memory of a turn that belongs to a session (ST-07): what was asked and what came of it are written in the commit
//! that ends the turn, under its id. Before that commit nothing of it is in memory, after it everything is, once.

use super::load::Wanted;
use crate::{Kernel, KernelError};
use cardwire_model::{
    CanonicalJson, Card, CardId, Commit, Ended, InboxItem, InboxKind, ProjectId, Segment, SessionKey,
    Snapshot, TaskStatus, Timestamp, TurnId, TurnPayload, Write,
};
use cardwire_protocol::{Moment, Rejection, session::turn as memory};
use std::sync::Arc;

/// What a session remembers.
pub(crate) struct Remembered {
    pub(crate) key: SessionKey,
    pub(crate) reach: Option<Segment>,
    pub(crate) cards: Vec<Arc<Card>>,
}

/// A turn that a commit ends well.
struct Answered {
    turn_id: TurnId,
    payload: TurnPayload,
    key: SessionKey,
    began: Timestamp,
    deliverable: CardId,
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
        let Some(answered) = answered(snapshot, commit) else { return Ok(None) };
        let asked = self.instruction(project, answered.payload.context_box).await?;
        let input = asked.map(|card| card.content.clone());
        let deliverable = match written(commit, answered.deliverable) {
            Some(card) => card.content.clone(),
            None => self.own_card(project, answered.deliverable).await?.content.clone(),
        };
        let patch = memory::exchange(answered.turn_id, input, replies, deliverable);
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
        let key = session_key(item)?;
        Some(self.session_stile.pass(project, &key).await)
    }

    /// The session that a turn belongs to, and what it remembers.
    pub(crate) async fn session_of_turn(
        &self,
        project: &ProjectId,
        payload: &TurnPayload,
    ) -> Result<Option<Remembered>, KernelError> {
        let Some(key) = memory::session_of(&payload.runtime_config) else { return Ok(None) };
        let state = self.session_state(project, &key, Wanted::Row, false).await?;
        let reach = state.checkpoint.memory;
        let cards = self.reach_cards(project, reach).await?;
        Ok(Some(Remembered { key, reach, cards }))
    }
}

fn answered(snapshot: &Snapshot, commit: &Commit) -> Option<Answered> {
    let item = &snapshot.turn.as_ref()?.item;
    let key = session_key(item)?;
    let ended = |write: &Write| {
        let Write::UpdateInbox { item: row, .. } = write else { return None };
        let own = row.id == item.id && row.kind == InboxKind::Turn;
        row.ended.clone().filter(|ended| own && ended.status == TaskStatus::Success)
    };
    let Ended { deliverable, .. } = commit.writes.iter().find_map(ended)?;
    let payload = TurnPayload::from_stored(&item.payload).ok()?;
    if !memory::is_remembered(&payload.runtime_config) {
        return None;
    }
    Some(Answered { turn_id: item.turn_id, payload, key, began: item.created_at, deliverable })
}

fn session_key(item: &InboxItem) -> Option<SessionKey> {
    // Most turns belong to no session: do not parse what cannot name one.
    if !item.payload.contains("session_id") {
        return None;
    }
    memory::session_of(&TurnPayload::from_stored(&item.payload).ok()?.runtime_config)
}

fn written(commit: &Commit, id: CardId) -> Option<&Card> {
    fn card(write: &Write) -> Option<&Card> {
        if let Write::PutCard(card) = write { Some(card.as_ref()) } else { None }
    }
    commit.writes.iter().filter_map(card).find(|card| card.id == id)
}
