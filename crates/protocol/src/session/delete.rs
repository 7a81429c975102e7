//! Delete a session: its row, and every card it ever showed (ST-09).
//!
//! A session of ordinary size goes in one commit. Of a larger one the row is marked first, so that nobody sees half a
//! session, and its cards follow in further commits. Its last checkpoint is the last card to go: as long as that one is
//! there, the rest can be found, and whoever deletes the session again goes on where it was left.

use super::{State, event, holdings::is_own};
use crate::{Decision, Moment, Rejection};
use cardwire_model::{
    AuditAction, CardFact, CardId, Commit, NewAudit, PassageKind, ProjectId, Session, SessionKey, Shelf,
    Snapshot, Write,
};
use serde_json::json;
use std::collections::HashMap;

/// Every card of a session, as it was at a checkpoint ([`super::Holdings`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gathered {
    /// The checkpoint.
    pub checkpoint: CardId,
    /// The cards, in the order of their deletion.
    pub cards: Vec<CardId>,
}

/// How far a deletion has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deleted {
    /// Nothing is left.
    Whole,
    /// The row is marked; the cards that this checkpoint leads to are still to go.
    Row(CardId),
}

/// Marks the session deleted, and its cards with it if they were gathered and it has not moved on since.
pub fn decide(
    state: &State,
    gathered: Option<&Gathered>,
    moment: &Moment,
) -> Result<Decision<Deleted>, Rejection> {
    let row = state.live()?;
    let session = Session {
        version: row.version.next(),
        updated_at: moment.now,
        deleted_at: Some(moment.now),
        ..row.clone()
    };
    let mut commit = Commit::new(state.project.clone());
    let gathered = gathered.filter(|gathered| gathered.checkpoint == row.checkpoint);
    let cards = gathered.map_or(&[][..], |gathered| &gathered.cards);
    commit.writes = marks(cards, &state.known, moment);
    commit.audit.push(audit(&state.key, &commit, moment));
    // The experience that it saved is found no more.
    let shelf = Shelf { kind: PassageKind::Experience, namespace: state.key.namespace.clone() };
    commit.writes.push(Write::DropPassages { shelf, source: state.key.session.to_string() });
    commit.writes.push(Write::PutSession { was: Some(row.version), session: Box::new(session.clone()) });
    commit.events.push(event(&session, "deleted", moment));
    let outcome = if gathered.is_some() { Deleted::Whole } else { Deleted::Row(row.checkpoint) };
    Ok(Decision { commit, outcome })
}

/// Marks some of the cards of a deleted session; those that are gone already are left alone.
pub fn sweep(
    snapshot: &Snapshot,
    project: &ProjectId,
    key: &SessionKey,
    cards: &[CardId],
    moment: &Moment,
) -> Decision<()> {
    let mut commit = Commit::new(project.clone());
    commit.writes = marks(cards, &snapshot.cards, moment);
    if !commit.writes.is_empty() {
        commit.audit.push(audit(key, &commit, moment));
    }
    Decision { commit, outcome: () }
}

fn marks(cards: &[CardId], known: &HashMap<CardId, CardFact>, moment: &Moment) -> Vec<Write> {
    let own = cards.iter().filter(|id| known.get(id).is_some_and(is_own));
    own.map(|card_id| Write::DeleteCard { card_id: *card_id, at: moment.now }).collect()
}

fn audit(key: &SessionKey, commit: &Commit, moment: &Moment) -> NewAudit {
    moment.audit(AuditAction::SessionDelete, key, &json!({ "cards": commit.writes.len() }))
}
