//! Everything that the versions of a session point to: what goes when the session is deleted (ST-09).
//!
//! A walk through the checkpoints gathers how far which box reaches and which cards are named one by one. Boxes only
//! grow within a generation, so that of all reaches into one the longest shows what the others do.

use super::finish::DELIVERABLES;
use cardwire_model::{BoxId, CardFact, CardId, Checkpoint, Generation, Segment};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// What a walk has come upon.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holdings {
    /// The checkpoints themselves, newest first.
    checkpoints: Vec<CardId>,
    fields: BTreeSet<CardId>,
    cards: BTreeSet<CardId>,
    reaches: BTreeMap<(BoxId, Generation), u32>,
}

impl Holdings {
    /// Takes in a checkpoint, the next one backwards.
    pub fn add(&mut self, id: CardId, checkpoint: &Checkpoint) {
        let Checkpoint { memory, results, timeline, fields, summary, experience, .. } = checkpoint;
        self.checkpoints.push(id);
        self.fields.extend(fields);
        self.cards.extend([summary, experience].into_iter().flatten());
        for Segment { box_id, generation, len } in [memory, results, timeline].into_iter().flatten() {
            let longest = self.reaches.entry((*box_id, *generation)).or_default();
            *longest = (*longest).max(*len);
        }
    }

    /// At least so many cards these are; how many exactly is known when the boxes are read.
    pub fn at_least(&self) -> usize {
        let longest = self.reaches.values().max().map_or(0, |len| *len as usize);
        self.checkpoints.len() + self.fields.len() + self.cards.len() + longest
    }

    /// The stretches of boxes to be read, each box and generation once.
    pub fn reaches(&self) -> Vec<Segment> {
        let reach = |((box_id, generation), len): (&(BoxId, Generation), &u32)| Segment {
            box_id: *box_id,
            generation: *generation,
            len: *len,
        };
        self.reaches.iter().map(reach).collect()
    }

    /// The cards with fields, to be read for what they name.
    pub fn fields(&self) -> Vec<CardId> {
        self.fields.iter().copied().collect()
    }

    /// Takes in what a stretch of a box shows.
    pub fn add_cards(&mut self, cards: impl IntoIterator<Item = CardId>) {
        self.cards.extend(cards);
    }

    /// Takes in the deliverables that fields name.
    pub fn add_deliverables(&mut self, fields: &Map<String, Value>) {
        let delivered = fields.get(DELIVERABLES).and_then(Value::as_object);
        let delivered = delivered.into_iter().flat_map(Map::values).filter_map(Value::as_str);
        self.cards.extend(delivered.filter_map(|id| id.parse::<CardId>().ok()));
    }

    /// All of it in the order in which it is deleted: the newest checkpoint last, so that as long as that one is there,
    /// everything else can be found again.
    pub fn into_cards(self) -> Vec<CardId> {
        let Self { checkpoints, fields, cards, reaches: _ } = self;
        // Whoever put a checkpoint into a box of the session must not have it deleted too early.
        let walked: BTreeSet<CardId> = checkpoints.iter().copied().collect();
        let content: BTreeSet<CardId> = fields.union(&cards).copied().collect();
        let content = content.difference(&walked).copied();
        content.chain(checkpoints.iter().rev().copied()).collect()
    }
}

/// Whether a session made the card, and it is not deleted yet. What somebody else put into a box of a session stays.
pub(super) fn is_own(card: &CardFact) -> bool {
    card.deleted_at.is_none() && card.kind.is_of_session()
}
