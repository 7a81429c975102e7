//! Sessions: the blackboard that the agents of one team share, as cards (ST-01..ST-16, CP-02..CP-08, TD-01..TD-04).
//!
//! Every change is one commit: new cards, what they do to the session's boxes, a checkpoint that points to all of it, and
//! the row that points to the checkpoint, at the version the decision saw.

pub mod compact;
pub mod delete;
pub mod experience;
pub mod fields;
pub mod finish;
mod holdings;
mod list;
pub mod message;
pub mod patch;
pub mod restore;
pub mod todo;
pub mod turn;

pub use holdings::Holdings;
pub use list::{Held, is_closed};

use crate::{Moment, Rejection};
use cardwire_model::{
    BoxHead, BoxId, CanonicalJson, Card, CardDraft, CardFact, CardId, Checkpoint, Commit, EventKind, Former,
    Invalid, Origin, ProjectId, Revision, Session, SessionKey, Write,
};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// A session as a decision sees it.
#[derive(Debug, Clone)]
pub struct State {
    /// Where.
    pub project: ProjectId,
    /// Which one.
    pub key: SessionKey,
    /// Its row, deleted or not.
    pub row: Option<Session>,
    /// Where everything is; nothing for a session that is new or deleted.
    pub checkpoint: Checkpoint,
    /// The ordinary fields.
    pub fields: Map<String, Value>,
    /// What stands for older messages.
    pub summary: Option<String>,
    /// What is known for the experience of the session, when the change needs it.
    pub experience: Option<Value>,
    /// Of the cards that the change may meet ([`patch::Patch::candidates`], [`delete::Gathered`]): those that exist.
    pub known: HashMap<CardId, CardFact>,
    /// Boxes whose length is not what the checkpoint says: somebody else wrote to them.
    pub heads: HashMap<BoxId, BoxHead>,
    /// Everything in memory, when the change needs it ([`patch::Patch::needs_lists`]).
    pub memory: Option<Vec<Held>>,
    /// Every result of the plan, likewise.
    pub results: Option<Vec<Held>>,
    /// What happened, likewise.
    pub timeline: Option<Vec<Held>>,
}

impl State {
    /// Whether there is such a session.
    pub fn exists(&self) -> bool {
        self.row.as_ref().is_some_and(|row| row.deleted_at.is_none())
    }

    /// The row, which must be there.
    fn live(&self) -> Result<&Session, Rejection> {
        let live = self.row.as_ref().filter(|row| row.deleted_at.is_none());
        live.ok_or_else(|| Rejection::not_found("session", &self.key))
    }

    /// The session of this name that was deleted last.
    pub fn former(&self) -> Option<Former> {
        let Some(row) = &self.row else { return None };
        match row.deleted_at {
            Some(deleted_at) => Some(Former { checkpoint: row.checkpoint, deleted_at }),
            None => self.checkpoint.former,
        }
    }

    /// The version that callers see; 0 before the first patch.
    pub fn version(&self) -> u64 {
        if self.exists() { self.row.as_ref().map_or(0, |row| row.version.get()) } else { 0 }
    }

    /// The version after the next change.
    fn next_version(&self) -> Revision {
        self.row.as_ref().map_or(Revision::FIRST, |row| row.version.next())
    }

    /// A card of the session's own.
    fn card(&self, kind: &str, content: &Value, moment: &Moment) -> Result<Card, Invalid> {
        self.card_by(Origin::Operator, kind, content, moment)
    }

    /// The same, brought by somebody else.
    fn card_by(&self, origin: Origin, kind: &str, content: &Value, moment: &Moment) -> Result<Card, Invalid> {
        let draft = CardDraft {
            content: CanonicalJson::from_value(content)?,
            metadata: CanonicalJson::from_value(&json!({ "type": kind, "role": "system" }))?,
            tool_calls: None,
            tool_call_id: None,
            ttl_seconds: None,
        };
        draft.into_card(CardId::from_uuid(moment.fresh.uuid()), origin, moment.now)
    }

    /// Ends a change: the fields if they changed, the checkpoint, the row and the event.
    fn close(&self, change: Change, moment: &Moment) -> Result<(Commit, Session), Rejection> {
        let Change { mut commit, mut checkpoint, fields, what } = change;
        if let Some(fields) = fields {
            checkpoint.fields = None;
            if !fields.is_empty() {
                let card = self.card("session.state", &Value::Object(fields), moment)?;
                checkpoint.fields = Some(card.id);
                commit.writes.push(Write::PutCard(Box::new(card)));
            }
        }
        let version = self.next_version();
        checkpoint.version = version.get();
        checkpoint.first = if self.exists() { self.checkpoint.first } else { version.get() };
        checkpoint.previous = self.row.as_ref().filter(|_| self.exists()).map(|row| row.checkpoint);
        checkpoint.former = self.former();
        let content = checkpoint.to_json(&self.key)?.to_value();
        let card = self.card("session.checkpoint", &content, moment)?;
        let live = self.row.as_ref().filter(|_| self.exists());
        let session = Session {
            key: self.key.clone(),
            version,
            checkpoint: card.id,
            created_at: live.map_or(moment.now, |row| row.created_at),
            updated_at: moment.now,
            deleted_at: None,
        };
        commit.writes.push(Write::PutCard(Box::new(card)));
        commit.writes.push(Write::PutSession {
            was: self.row.as_ref().map(|row| row.version),
            session: Box::new(session.clone()),
        });
        commit.events.push(event(&session, what, moment));
        Ok((commit, session))
    }
}

fn event(session: &Session, what: &str, moment: &Moment) -> cardwire_model::NewEvent {
    let data = json!({
        "namespace": session.key.namespace.as_str(), "session_id": session.key.session.as_str(),
        "version": session.version.get(), "what": what,
    });
    moment.event(EventKind::SessionState, &session.key.session, &data)
}

/// What a change has come to, before it is ended.
struct Change {
    commit: Commit,
    checkpoint: Checkpoint,
    /// New fields, if they changed.
    fields: Option<Map<String, Value>>,
    /// For the event.
    what: &'static str,
}

impl Change {
    fn new(state: &State, what: &'static str) -> Self {
        Self {
            commit: Commit::new(state.project.clone()),
            checkpoint: state.checkpoint.clone(),
            fields: None,
            what,
        }
    }

    fn put(&mut self, card: Card) -> CardId {
        let id = card.id;
        self.commit.writes.push(Write::PutCard(Box::new(card)));
        id
    }
}

/// The card that the first item of this name becomes. Derived, so that a repeat is found by one look at a key.
fn named_card(state: &State, list: &str, name: &str) -> CardId {
    CardId::derived(&[
        state.project.as_str(),
        state.key.namespace.as_str(),
        state.key.session.as_str(),
        list,
        name,
    ])
}

#[cfg(test)]
mod rules;
