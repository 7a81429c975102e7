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

/// Flattens entries. `resolve` gives the flattened cards of a segment's box at its generation; a segment shows
/// the first `len` of them. The first occurrence of a card keeps its place.
pub fn flatten<E>(
    entries: &[Entry],
    mut resolve: impl FnMut(Segment) -> Result<Vec<CardId>, E>,
) -> Result<Vec<Shown>, E> {
    let mut seen = HashSet::with_capacity(entries.len());
    let mut shown = Vec::with_capacity(entries.len());
    for entry in entries {
        match entry.item {
            Item::Card(card_id) => {
                if seen.insert(card_id) {
                    shown.push(Shown { card_id, source: entry.source, segment: None });
                }
            }
            Item::Segment(segment) => {
                for card_id in resolve(segment)?.into_iter().take(segment.len as usize) {
                    if seen.insert(card_id) {
                        shown.push(Shown { card_id, source: entry.source, segment: Some(segment) });
                    }
                }
            }
        }
    }
    Ok(shown)
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
        let shown = flatten(&entries, |segment| {
            let cards: &[u128] = if segment.box_id == box_id(1) { &[1, 2, 7] } else { &[2, 3] };
            Ok::<_, ()>(cards.iter().map(|n| card_id(*n)).collect())
        });
        let ids: Vec<_> = shown.unwrap().iter().map(|shown| shown.card_id).collect();
        assert_eq!(ids, [1, 2, 3, 9].map(card_id));
    }
}
