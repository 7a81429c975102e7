//! Soft-delete a card: CB-10. Boxes keep its id; reads skip it.

use crate::{Decision, Moment, Rejection};
use cardwire_model::{AuditAction, CardId, Commit, EventKind, ProjectId, Snapshot, Write};
use serde_json::json;

/// Deletes a visible card; a card that is gone already is not found.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    card_id: CardId,
    moment: &Moment,
) -> Result<Decision<()>, Rejection> {
    if !snapshot.cards.get(&card_id).is_some_and(|card| card.is_visible(moment.now)) {
        return Err(Rejection::not_found("card", card_id));
    }
    let mut commit = Commit::new(project.clone());
    commit.writes.push(Write::DeleteCard { card_id, at: moment.now });
    commit.events.push(moment.event(EventKind::CardDeleted, card_id, &json!({})));
    commit.audit.push(moment.audit(AuditAction::CardDelete, card_id, &json!({})));
    Ok(Decision { commit, outcome: () })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{card, fact, moment, project};

    /// CB-10
    #[test]
    fn a_card_is_deleted_once() {
        let card = card(1, "x");
        let mut snapshot = Snapshot::default();
        assert!(decide(&snapshot, &project(), card.id, &moment()).is_err());
        snapshot.cards.insert(card.id, fact(&card));
        assert!(decide(&snapshot, &project(), card.id, &moment()).is_ok());
        snapshot.cards.get_mut(&card.id).unwrap().deleted_at = Some(moment().now);
        assert!(decide(&snapshot, &project(), card.id, &moment()).is_err());
    }
}
