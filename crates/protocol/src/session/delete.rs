//! Delete a session: its row, and the cards it shows (ST-09).

use super::{State, event};
use crate::{Decision, Moment, Rejection};
use cardwire_model::{AuditAction, CardId, Commit, PassageKind, Revision, Session, Shelf, Write};
use serde_json::json;

/// Marks the session and its cards deleted. `cards` are the visible ones of memory, results, timeline and fields at a
/// version; false when the session has moved on since, and the cards must be looked up again.
pub fn decide(
    state: &State,
    version: Revision,
    cards: &[CardId],
    moment: &Moment,
) -> Result<Decision<bool>, Rejection> {
    let row = state.live()?;
    if row.version != version {
        return Ok(Decision::nothing(state.project.clone(), false));
    }
    let session = Session {
        version: row.version.next(),
        updated_at: moment.now,
        deleted_at: Some(moment.now),
        ..row.clone()
    };
    let mut commit = Commit::new(state.project.clone());
    let gone = |card_id: &CardId| Write::DeleteCard { card_id: *card_id, at: moment.now };
    commit.writes.extend(cards.iter().map(gone));
    // The experience that it saved is found no more.
    let shelf = Shelf { kind: PassageKind::Experience, namespace: state.key.namespace.clone() };
    commit.writes.push(Write::DropPassages { shelf, source: state.key.session.to_string() });
    commit.writes.push(Write::PutSession { was: Some(row.version), session: Box::new(session.clone()) });
    commit.events.push(event(&session, "deleted", moment));
    let detail = json!({ "cards": cards.len() });
    commit.audit.push(moment.audit(AuditAction::SessionDelete, &state.key, &detail));
    Ok(Decision { commit, outcome: true })
}
