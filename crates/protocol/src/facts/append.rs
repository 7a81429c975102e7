//! Append to a box: CB-11, CB-12, W-03.

use super::{check_box_size, check_cards, distinct, free_box, open_box};
use crate::{Decision, Moment, Rejection};
use cardwire_model::{
    BoxId, Card, CardId, Commit, EventKind, Expect, Generation, ProjectId, Snapshot, Write, limits,
};
use serde_json::json;

/// Existing cards to add to a box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    /// Where.
    pub project: ProjectId,
    /// To which box.
    pub box_id: BoxId,
    /// Which cards, in order.
    pub card_ids: Vec<CardId>,
    /// Refuse unless the box shows exactly so many cards.
    pub expected_len: Option<u32>,
}

/// New cards to write and add to a box in one commit. Their ids are fresh, so no look-up is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutAndAppend {
    /// Where.
    pub project: ProjectId,
    /// To which box.
    pub box_id: BoxId,
    /// The cards, in order.
    pub cards: Vec<Card>,
}

/// What was added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// At which generation.
    pub generation: Generation,
    /// Cards the box showed when this was decided, with these. Others may have added more since.
    pub len: u32,
    /// The cards that were not there before.
    pub added: Vec<CardId>,
}

/// Adds what is not there yet; a repeat is no change, so that retries are safe. `snapshot.members` must hold the
/// given cards that the box shows already.
pub fn decide(
    snapshot: &Snapshot,
    command: &Append,
    moment: &Moment,
) -> Result<Decision<Appended>, Rejection> {
    let head = free_box(snapshot, command.box_id)?;
    if let Some(expected) = command.expected_len
        && expected != head.len
    {
        return Err(Rejection::Conflict(format!(
            "expected_len is {expected}, the box has {} cards",
            head.len
        )));
    }
    check_cards(snapshot, &command.card_ids, moment.now)?;
    let mut added = distinct(&command.card_ids);
    added.retain(|id| !snapshot.members.contains(id));
    check_box_size(head.len as usize + added.len())?;
    let mut commit =
        commit(&command.project, command.box_id, head.generation, command.expected_len, &added, moment);
    if !added.is_empty() {
        // Nobody takes it for an output in between.
        commit.expect.push(Expect::OutputFree { box_id: command.box_id, agent_id: None });
    }
    let len = head.len + added.len() as u32;
    Ok(Decision { commit, outcome: Appended { generation: head.generation, len, added } })
}

/// Writes new cards and adds them. The head may be a remembered one: what it is relied on for is expected again
/// by the commit.
pub fn decide_new(
    snapshot: &Snapshot,
    command: &PutAndAppend,
    moment: &Moment,
) -> Result<Decision<Appended>, Rejection> {
    let head = open_box(snapshot, command.box_id)?;
    check_box_size(head.len as usize + command.cards.len())?;
    let added: Vec<_> = command.cards.iter().map(|card| card.id).collect();
    let mut commit = commit(&command.project, command.box_id, head.generation, None, &added, moment);
    let puts = command.cards.iter().map(|card| Write::PutCard(Box::new(card.clone())));
    commit.writes.splice(0..0, puts);
    let len = head.len + added.len() as u32;
    Ok(Decision { commit, outcome: Appended { generation: head.generation, len, added } })
}

fn commit(
    project: &ProjectId,
    box_id: BoxId,
    generation: Generation,
    expected_len: Option<u32>,
    added: &[CardId],
    moment: &Moment,
) -> Commit {
    let mut commit = Commit::new(project.clone());
    if added.is_empty() {
        return commit;
    }
    let room = (limits::BOX_CARDS - added.len()) as u32;
    commit.expect.push(Expect::OpenBox {
        box_id,
        generation,
        min_len: expected_len.unwrap_or(0),
        max_len: expected_len.unwrap_or(room),
    });
    commit.writes.push(Write::AppendCards { box_id, generation, cards: added.to_vec() });
    // Ids only, and not many of them: a reader of the event asks the box for the rest.
    let data = if added.len() <= EVENT_IDS {
        let ids: Vec<_> = added.iter().map(CardId::to_string).collect();
        json!({ "added": added.len(), "card_ids": ids })
    } else {
        json!({ "added": added.len() })
    };
    commit.events.push(moment.event(EventKind::BoxAppended, box_id, &data));
    commit
}

/// Most card ids carried by one event.
const EVENT_IDS: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{self, card, fact, moment, project, with_box};

    fn append(
        snapshot: &Snapshot,
        ids: &[u128],
        expected_len: Option<u32>,
    ) -> Result<Vec<CardId>, Rejection> {
        let command = Append {
            project: project(),
            box_id: fixtures::box_id(1),
            card_ids: ids.iter().map(|n| fixtures::card_id(*n)).collect(),
            expected_len,
        };
        decide(snapshot, &command, &moment()).map(|decision| {
            assert_eq!(decision.outcome.added.is_empty(), decision.commit.is_empty());
            decision.outcome.added
        })
    }

    fn snapshot() -> Snapshot {
        let mut snapshot = with_box(1, 2);
        for n in 1..=4 {
            let card = card(n, "x");
            snapshot.cards.insert(card.id, fact(&card));
        }
        snapshot.members.extend([fixtures::card_id(1), fixtures::card_id(2)]);
        snapshot
    }

    /// CB-11
    #[test]
    fn a_card_that_is_there_keeps_its_place_and_is_not_added_again() {
        let added = append(&snapshot(), &[2, 3, 2, 3, 4], None).unwrap();
        assert_eq!(added, [fixtures::card_id(3), fixtures::card_id(4)]);
        assert_eq!(append(&snapshot(), &[1, 2], None).unwrap(), []);
        assert_eq!(append(&snapshot(), &[], None).unwrap(), []);
    }

    ///
    #[test]
    fn the_commit_expects_that_no_turn_has_begun_to_write_the_box() {
        let command = |ids: &[u128]| Append {
            project: project(),
            box_id: fixtures::box_id(1),
            card_ids: ids.iter().map(|n| fixtures::card_id(*n)).collect(),
            expected_len: None,
        };
        let free = Expect::OutputFree { box_id: fixtures::box_id(1), agent_id: None };
        let commit = |ids| decide(&snapshot(), &command(ids), &moment()).unwrap().commit;
        assert!(commit(&[3]).expect.contains(&free));
        assert!(commit(&[1]).is_empty(), "a repeat changes nothing, whoever writes");
    }

    /// CB-11, CB-12, X-09
    #[test]
    fn unknown_boxes_and_cards_sealed_boxes_and_moved_lengths_are_refused() {
        assert!(matches!(
            append(&Snapshot::default(), &[1], None),
            Err(Rejection::NotFound { what: "box", .. })
        ));
        assert!(matches!(append(&snapshot(), &[3, 9], None), Err(Rejection::NotFound { what: "card", .. })));
        assert!(matches!(append(&snapshot(), &[3], Some(1)), Err(Rejection::Conflict(_))));
        assert_eq!(append(&snapshot(), &[3], Some(2)).unwrap().len(), 1);
        let mut sealed = snapshot();
        sealed.boxes.get_mut(&fixtures::box_id(1)).unwrap().sealed = true;
        assert!(matches!(append(&sealed, &[3], None), Err(Rejection::BoxSealed { .. })));
    }

    /// CB-10: a deleted or expired card cannot be added.
    #[test]
    fn an_invisible_card_is_not_found() {
        let mut snapshot = snapshot();
        snapshot.cards.get_mut(&fixtures::card_id(3)).unwrap().expires_at = Some(moment().now);
        assert!(matches!(append(&snapshot, &[3], None), Err(Rejection::NotFound { what: "card", .. })));
    }

    /// SEC-07: a box holds 100,000 cards.
    #[test]
    fn the_last_place_of_a_box_can_be_filled_and_no_more() {
        let mut full = snapshot();
        let head = full.boxes.get_mut(&fixtures::box_id(1)).unwrap();
        head.len = limits::BOX_CARDS as u32 - 1;
        assert_eq!(append(&full, &[3], None).unwrap().len(), 1);
        assert!(matches!(append(&full, &[3, 4], None), Err(Rejection::Invalid(_))));
    }
}
