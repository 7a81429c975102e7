//! What readers see of a box: the flattened list without repeats (CB-11), and where each card came from (PK-19).

use cardwire_model::{CardId, Entry, EntrySource, Item, Segment};
use std::collections::HashSet;

/// A card in a flattened box and the entry that brought it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// The card.
    pub card_id: CardId,
    /// Why its entry is in the box.
    pub source: EntrySource,
    /// The segment that brought it, if one did.
    pub segment: Option<Segment>,
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
                    shown.push(Shown { card_id, source: entry.source, segment: None });
                    places.push((index, 0));
                }
            }
            Item::Segment(segment) => {
                for (inner, card) in resolve(segment).iter().take(segment.len as usize).enumerate() {
                    if seen.insert(card.card_id) {
                        shown.push(Shown {
                            card_id: card.card_id,
                            source: entry.source,
                            segment: Some(segment),
                        });
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
            let shown = |n: &u128| Shown { card_id: card_id(*n), source: EntrySource::Direct, segment: None };
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
    }
}
