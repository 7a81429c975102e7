//! Loading a session: its row, and from there what the row points to. Checkpoints and fields are cards, so that what was
//! read once stays good.

use crate::{Kernel, KernelError};
use cardwire_model::{
    Card, CardId, Checkpoint, Keys, ProjectId, Realm, Segment, Session, SessionKey, Snapshot,
};
use cardwire_protocol::{
    Rejection,
    session::{Held, State, is_closed, patch::Patch},
};
use cardwire_store::StoreError;
use serde_json::{Map, Value};
use std::{collections::HashMap, sync::Arc};

/// What a command needs to see.
#[derive(Clone, Copy)]
pub(crate) enum Wanted<'a> {
    /// Row, checkpoint and fields.
    Row,
    /// What this patch needs besides.
    Patch(&'a Patch),
    /// All of memory besides.
    Memory,
    /// What is known for its experience besides.
    Experience,
    /// What these cards are besides.
    Cards(&'a [CardId]),
}

/// What a checkpoint comes to; by default that of a session with nothing in it.
#[derive(Debug, Default)]
pub(crate) struct Pointed {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) fields: Map<String, Value>,
    pub(crate) summary: Option<String>,
}

impl Kernel {
    /// A session as a decision sees it. `contested` when somebody has got in between before.
    pub(crate) async fn session_state(
        &self,
        project: &ProjectId,
        key: &SessionKey,
        wanted: Wanted<'_>,
        contested: bool,
    ) -> Result<State, KernelError> {
        let mut state = State {
            project: project.clone(),
            key: key.clone(),
            row: None,
            checkpoint: Checkpoint::default(),
            fields: Map::new(),
            summary: None,
            experience: None,
            known: HashMap::new(),
            heads: HashMap::new(),
            memory: None,
            results: None,
            timeline: None,
        };
        let cards = match wanted {
            Wanted::Patch(patch) => patch.candidates(&state),
            Wanted::Cards(cards) => cards.to_vec(),
            Wanted::Row | Wanted::Memory | Wanted::Experience => vec![],
        };
        let realm = Realm::from(project.clone());
        let keys = Keys { session: Some(key.clone()), cards, ..Keys::default() };
        let Snapshot { session, cards, .. } = self.store.load(&realm, &keys).await?;
        (state.row, state.known) = (session, cards);
        if let Some(row) = state.row.as_ref().filter(|row| row.deleted_at.is_none()) {
            let pointed = self.pointed(project, row).await?;
            state.checkpoint = pointed.checkpoint.clone();
            state.fields = pointed.fields.clone();
            state.summary = pointed.summary.clone();
        }
        if contested {
            let reaches = [state.checkpoint.memory, state.checkpoint.results, state.checkpoint.timeline];
            let boxes = reaches.into_iter().flatten().map(|reach| reach.box_id).collect();
            let keys = Keys { boxes, ..Keys::default() };
            state.heads = self.store.load(&realm, &keys).await?.boxes;
        }
        let (memory, results) = match wanted {
            Wanted::Row | Wanted::Cards(_) | Wanted::Experience => (false, false),
            Wanted::Memory => (true, false),
            Wanted::Patch(patch) => {
                let lists = patch.needs_lists(&state);
                (lists, lists)
            }
        };
        if let (Wanted::Experience, Some(card)) = (wanted, state.checkpoint.experience) {
            state.experience = Some(self.own_card(project, card).await?.content.to_value());
        }
        if memory {
            state.memory = Some(self.held(project, state.checkpoint.memory).await?);
        }
        if results {
            state.results = Some(self.held(project, state.checkpoint.results).await?);
            // Only a list that must move to another box is needed as a whole.
            if is_closed(&state, state.checkpoint.timeline) {
                state.timeline = Some(self.held(project, state.checkpoint.timeline).await?);
            }
        }
        Ok(state)
    }

    /// What the row of a session points to.
    pub(crate) async fn pointed(
        &self,
        project: &ProjectId,
        row: &Session,
    ) -> Result<Arc<Pointed>, KernelError> {
        self.pointed_at(project, &row.key, row.checkpoint).await
    }

    /// What a checkpoint of a session of this name points to.
    pub(crate) async fn pointed_at(
        &self,
        project: &ProjectId,
        key: &SessionKey,
        card: CardId,
    ) -> Result<Arc<Pointed>, KernelError> {
        let name = (project.clone(), card);
        if let Some(pointed) = self.checkpoints.get(&name) {
            return Ok(pointed);
        }
        let checkpoint = self.checkpoint(project, key, card).await?;
        let pointed = Arc::new(self.point(project, checkpoint).await?);
        self.checkpoints.insert(name, Arc::clone(&pointed));
        Ok(pointed)
    }

    /// Whether a checkpoint is of this session, not of a deleted one of the same name.
    pub(crate) async fn is_of(
        &self,
        project: &ProjectId,
        row: &Session,
        checkpoint: &Checkpoint,
    ) -> Result<bool, KernelError> {
        Ok(checkpoint.version >= self.pointed(project, row).await?.checkpoint.first)
    }

    /// A checkpoint with its fields.
    pub(crate) async fn point(
        &self,
        project: &ProjectId,
        checkpoint: Checkpoint,
    ) -> Result<Pointed, KernelError> {
        let fields = match checkpoint.fields {
            None => Map::new(),
            Some(card) => match self.own_card(project, card).await?.content.to_value() {
                Value::Object(fields) => fields,
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                    return Err(damaged("the fields of a session are no object"));
                }
            },
        };
        let summary = self.summary_text(project, &checkpoint).await?;
        Ok(Pointed { checkpoint, fields, summary })
    }

    /// A checkpoint that a caller names: of this session, not of a deleted one of the same name.
    pub(crate) async fn named_checkpoint(
        &self,
        project: &ProjectId,
        row: &Session,
        card: CardId,
    ) -> Result<Checkpoint, KernelError> {
        let found = self.checkpoint(project, &row.key, card).await?;
        if !self.is_of(project, row, &found).await? {
            return Err(Rejection::NotFound { what: "checkpoint", id: card.to_string() }.into());
        }
        Ok(found)
    }

    /// A checkpoint of a session of this name, by its card.
    pub(crate) async fn checkpoint(
        &self,
        project: &ProjectId,
        key: &SessionKey,
        card: CardId,
    ) -> Result<Checkpoint, KernelError> {
        let missing = || Rejection::NotFound { what: "checkpoint", id: card.to_string() };
        let found = self.get_cards(project, &[card], true).await?.pop().ok_or_else(missing)?;
        if found.kind.as_str() != "session.checkpoint" {
            return Err(missing().into());
        }
        Ok(Checkpoint::from_json(&found.content, key).ok_or_else(missing)?)
    }

    /// A card that a session points to, deleted or not.
    pub(crate) async fn own_card(&self, project: &ProjectId, id: CardId) -> Result<Arc<Card>, KernelError> {
        let card = self.get_cards(project, &[id], true).await?.pop();
        card.ok_or_else(|| damaged("a session points to a card that is not there"))
    }

    /// The cards of a list with their place; those that reads do not show any more are no messages.
    pub(crate) async fn held(
        &self,
        project: &ProjectId,
        reach: Option<Segment>,
    ) -> Result<Vec<Held>, KernelError> {
        let now = self.now();
        let cards = self.reach_cards(project, reach).await?;
        let held = |card: &Arc<Card>| {
            let held = Held::from(card.as_ref());
            Held { is_message: held.is_message && card.is_visible(now), ..held }
        };
        Ok(cards.iter().map(held).collect())
    }
}

pub(crate) fn damaged(what: &str) -> KernelError {
    StoreError::Damaged(what.to_owned()).into()
}
