//! What readers see of a box: the flattened list without repeats (CB-11), and where each card came from (PK-19).

use cardwire_model::{BoxId, CardId, Entry, EntrySource, Generation, Item, Segment};
use std::collections::HashSet;

/// A card in a flattened box and the entry that brought it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// The card.
    pub card_id: CardId,
    /// Why its entry is in the box.
    pub source: EntrySource,
    /// The box it was inherited from, if it was, at which generation.
    pub from: Option<(BoxId, Generation)>,
}

impl Shown {
    fn of(card_id: CardId, entry: &Entry) -> Self {
        let from = match (entry.source, entry.item) {
            (EntrySource::Copied(box_id, generation), _) => Some((box_id, generation)),
            (_, Item::Segment(segment)) => Some((segment.box_id, segment.generation)),
            (_, Item::Card(_)) => None,
        };
        Self { card_id, source: entry.source, from }
    }
}

/// Continues a flattened list with the entries that follow it. `resolve` gives the flattened list of a segment's
/// box at its generation; a segment shows the first `len` cards of it. The first occurrence of a card keeps its
/// place. Answers, for every card that was added, the index of the entry that brought it and its index there.
pub fn extend<'a>(
    shown: &mut Vec<Shown>,
    entries: &[Entry],
    mut resolve: impl FnMut(Segment) -> &'a [Shown],
) -> Vec<(usize, usize)> {
    let mut seen: HashSet<CardId> = shown.iter().map(|shown| shown.card_id).collect();
    let mut places = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        match entry.item {
            Item::Card(card_id) => {
                if seen.insert(card_id) {
                    shown.push(Shown::of(card_id, entry));
                    places.push((index, 0));
                }
            }
            Item::Segment(segment) => {
                for (inner, card) in resolve(segment).iter().take(segment.len as usize).enumerate() {
                    if seen.insert(card.card_id) {
                        shown.push(Shown::of(card.card_id, entry));
                        places.push((index, inner));
                    }
                }
            }
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{box_id, card_id};
    use cardwire_model::Generation;

    /// CB-11, PK-11
    #[test]
    fn the_first_occurrence_keeps_its_place_across_segments() {
        let segment =
            |n, len| Item::Segment(Segment { box_id: box_id(n), generation: Generation::FIRST, len });
        let entry = |item| Entry { item, source: EntrySource::Inherited };
        let entries =
            [entry(segment(1, 2)), entry(segment(2, 2)), entry(segment(1, 2)), Entry::direct(card_id(9))];
        let list = |ids: &[u128]| -> Vec<Shown> {
            let shown = |n: &u128| Shown { card_id: card_id(*n), source: EntrySource::Direct, from: None };
            ids.iter().map(shown).collect()
        };
        let (first, second) = (list(&[1, 2, 7]), list(&[2, 3]));
        let mut shown = list(&[9]);
        let places = extend(
            &mut shown,
            &entries,
            |segment| if segment.box_id == box_id(1) { &first } else { &second },
        );
        let ids: Vec<_> = shown.iter().map(|shown| shown.card_id).collect();
        assert_eq!(ids, [9, 1, 2, 3].map(card_id));
        assert_eq!(places, [(0, 0), (0, 1), (1, 1)]);
        let from = |n| Some((box_id(n), Generation::FIRST));
        let told: Vec<_> = shown.iter().map(|shown| shown.from).collect();
        assert_eq!(told, [None, from(1), from(1), from(2)]);
    }

    /// PK-19
    #[test]
    fn what_was_written_out_comes_from_where_it_stood() {
        let source = EntrySource::Copied(box_id(5), Generation::new(3));
        let copy = Segment { box_id: box_id(1), generation: Generation::FIRST, len: 1 };
        let entries = [Item::Segment(copy), Item::Card(card_id(2))].map(|item| Entry { item, source });
        let inner = [Shown { card_id: card_id(1), source, from: None }];
        let mut shown = vec![];
        extend(&mut shown, &entries, |_| &inner);
        assert!(shown.iter().all(|shown| shown.from == Some((box_id(5), Generation::new(3)))), "{shown:?}");
    }
}
