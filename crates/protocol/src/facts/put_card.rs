//! Put a card: CB-07, X-08, W-01.

use crate::{Decision, Moment, Rejection};
use cardwire_model::{Card, CardFact, CardId, Commit, EventKind, ProjectId, Snapshot, Write};
use serde_json::json;

/// A card to write, made from the caller's draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutCard {
    /// Where.
    pub project: ProjectId,
    /// The card, with its final id.
    pub card: Card,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Put {
    /// It is new.
    Created(Box<Card>),
    /// The same fact was there already.
    Existing(CardId),
}

/// Same id and same fact: nothing to do. Same id and another fact: refused. There is no overwrite.
pub fn decide(snapshot: &Snapshot, command: PutCard, moment: &Moment) -> Result<Decision<Put>, Rejection> {
    let PutCard { project, card } = command;
    if let Some(existing) = snapshot.cards.get(&card.id) {
        // A deleted or expired card keeps its id: answering "already there" would be untrue to every reader.
        same_fact(existing, &card, moment)?;
        return Ok(Decision::nothing(project, Put::Existing(card.id)));
    }
    let mut commit = Commit::new(project);
    commit.events.push(moment.event(EventKind::CardCreated, card.id, &json!({ "type": card.kind.as_str() })));
    commit.writes.push(Write::PutCard(Box::new(card.clone())));
    Ok(Decision { commit, outcome: Put::Created(Box::new(card)) })
}

/// Whether what is there under the id of a card is that card.
pub(crate) fn same_fact(existing: &CardFact, card: &Card, moment: &Moment) -> Result<(), Rejection> {
    let id = card.id.to_string();
    if existing.fact_hash != card.fact_hash {
        return Err(Rejection::CardConflict { id });
    }
    if existing.is_visible(moment.now) { Ok(()) } else { Err(Rejection::CardGone { id }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{card, fact, moment, project};

    fn put(snapshot: &Snapshot, card: Card) -> Result<Decision<Put>, Rejection> {
        decide(snapshot, PutCard { project: project(), card }, &moment())
    }

    /// CB-07, X-08, W-01
    #[test]
    fn the_same_fact_is_idempotent_and_another_is_refused() {
        let first = card(1, "x");
        let fresh = put(&Snapshot::default(), first.clone()).unwrap();
        assert!(matches!(fresh.outcome, Put::Created(_)));
        assert_eq!(fresh.commit.writes, [Write::PutCard(Box::new(first.clone()))]);

        let mut snapshot = Snapshot::default();
        snapshot.cards.insert(first.id, fact(&first));
        let again = put(&snapshot, first.clone()).unwrap();
        assert_eq!(again.outcome, Put::Existing(first.id));
        assert!(again.commit.is_empty());
        assert_eq!(put(&snapshot, card(1, "y")), Err(Rejection::CardConflict { id: first.id.to_string() }));
    }

    #[test]
    fn the_id_of_a_deleted_card_stays_taken() {
        let first = card(1, "x");
        let mut snapshot = Snapshot::default();
        snapshot.cards.insert(first.id, CardFact { deleted_at: Some(moment().now), ..fact(&first) });
        assert_eq!(put(&snapshot, first.clone()), Err(Rejection::CardGone { id: first.id.to_string() }));
        // Another fact is refused as ever.
        assert_eq!(put(&snapshot, card(1, "y")), Err(Rejection::CardConflict { id: first.id.to_string() }));
    }
}
