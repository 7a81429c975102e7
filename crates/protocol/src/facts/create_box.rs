//! Create a box: CB-11, W-02.

use super::{check_box_size, check_cards, distinct, plain_box};
use crate::{Decision, Moment, Rejection};
use cardwire_model::{BoxHead, BoxId, CardId, Commit, EventKind, Generation, ProjectId, Snapshot, Write};
use serde_json::json;

/// A box to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateBox {
    /// Where.
    pub project: ProjectId,
    /// A fresh id.
    pub box_id: BoxId,
    /// The id the caller named, with the cards that box shows if it exists.
    pub named: Option<(BoxId, Option<Vec<CardId>>)>,
    /// Its cards, in order.
    pub card_ids: Vec<CardId>,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Created {
    /// A new box.
    New(BoxHead),
    /// The named box, which shows exactly these cards.
    Existing(BoxId),
}

/// Only an absent id creates. An id that the caller names must be a box of this project; asking for it again with
/// the cards it shows is idempotent, with others a conflict (W-02).
pub fn decide(
    snapshot: &Snapshot,
    command: &CreateBox,
    moment: &Moment,
) -> Result<Decision<Created>, Rejection> {
    check_cards(snapshot, &command.card_ids, moment.now)?;
    let cards = distinct(&command.card_ids);
    if let Some((named, shown)) = &command.named {
        return match shown {
            None => Err(Rejection::not_found("box", named)),
            Some(shown) if *shown == cards => {
                Ok(Decision::nothing(command.project.clone(), Created::Existing(*named)))
            }
            Some(_) => Err(Rejection::Conflict(format!("box {named} exists with other cards"))),
        };
    }
    check_box_size(cards.len())?;
    let new = plain_box(command.box_id, Generation::FIRST, &cards, moment.now);
    let mut commit = Commit::new(command.project.clone());
    commit.events.push(moment.event(EventKind::BoxCreated, command.box_id, &json!({ "len": cards.len() })));
    let outcome = Created::New(new.head.clone());
    commit.writes.push(Write::CreateBox(new));
    Ok(Decision { commit, outcome })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{self, card, fact, moment, project};

    fn create(named: Option<(BoxId, Option<Vec<CardId>>)>) -> Result<Created, Rejection> {
        let mut snapshot = Snapshot::default();
        let card = card(1, "x");
        snapshot.cards.insert(card.id, fact(&card));
        let command = CreateBox {
            project: project(),
            box_id: fixtures::box_id(7),
            named,
            card_ids: vec![card.id, card.id],
        };
        decide(&snapshot, &command, &moment()).map(|decision| decision.outcome)
    }

    /// W-02
    #[test]
    fn only_an_absent_id_creates() {
        let Ok(Created::New(head)) = create(None) else { panic!("not created") };
        assert_eq!((head.box_id, head.len), (fixtures::box_id(7), 1));
        let named = fixtures::box_id(8);
        assert!(matches!(create(Some((named, None))), Err(Rejection::NotFound { what: "box", .. })));
        let same = create(Some((named, Some(vec![fixtures::card_id(1)]))));
        assert_eq!(same, Ok(Created::Existing(named)));
        assert!(matches!(create(Some((named, Some(vec![])))), Err(Rejection::Conflict(_))));
    }
}
