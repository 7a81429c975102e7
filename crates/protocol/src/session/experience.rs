//! The experience of a session (EX-01): gathered while it runs, found by others only once it is saved.

use super::{Change, State};
use crate::{Decision, Moment, Rejection};
use cardwire_model::{CardId, Embedding, Hash256, Passage, PassageKind, Session, Shelf, Write};
use serde_json::Value;

/// The kind of a record's card.
pub const KIND: &str = "session.experience";

/// Keeps what is known so far. A session that is not there yet is made, but not one that was deleted: what is noted of it
/// now comes too late. `record` is made of [`State::experience`]; none when there is nothing new.
pub fn keep(state: &State, record: Option<&Value>, moment: &Moment) -> Result<Decision<Session>, Rejection> {
    if state.row.is_some() {
        state.live()?;
    }
    let Some(record) = record else {
        return Ok(Decision::nothing(state.project.clone(), state.live()?.clone()));
    };
    let mut change = Change::new(state, "experience");
    let card = state.card(KIND, record, moment)?;
    change.checkpoint.experience = Some(change.put(card));
    let (commit, session) = state.close(change, moment)?;
    Ok(Decision { commit, outcome: session })
}

/// What to save.
#[derive(Debug, Clone)]
pub struct Save {
    /// The record that this one was made of.
    pub seen: Option<CardId>,
    /// The whole record.
    pub record: Value,
    /// The text it is found by.
    pub text: String,
    /// The terms of that text.
    pub terms: String,
    /// Its place among meanings.
    pub embedding: Option<Embedding>,
}

/// A record that was made of an older one would take back what somebody noted since.
fn check_seen(state: &State, seen: Option<CardId>) -> Result<(), Rejection> {
    if state.checkpoint.experience == seen {
        return Ok(());
    }
    Err(Rejection::Conflict("what is known of the session has changed meanwhile".to_owned()))
}

/// Saves the record: from now on it is found.
pub fn save(state: &State, command: &Save, moment: &Moment) -> Result<Decision<Session>, Rejection> {
    state.live()?;
    check_seen(state, command.seen)?;
    let mut change = Change::new(state, "experience saved");
    let card = state.card(KIND, &command.record, moment)?;
    let passage = Passage {
        shelf: Shelf { kind: PassageKind::Experience, namespace: state.key.namespace.clone() },
        source: state.key.session.to_string(),
        part: 0,
        card_id: card.id,
        content_hash: Hash256::of(command.text.as_bytes()),
        terms: command.terms.clone(),
        embedding: command.embedding.clone(),
        created_at: moment.now,
    };
    change.checkpoint.experience = Some(change.put(card));
    change.commit.writes.push(Write::PutPassage(Box::new(passage)));
    let (commit, session) = state.close(change, moment)?;
    Ok(Decision { commit, outcome: session })
}
