//! From a manifest back to its cards, and from those to the pieces it was made of (RP-02).

use crate::{
    piece::{Body, Piece, Place, Reference},
    words::Words,
};
use cardwire_model::{BoxId, Card, CardId, Cause, Generation, Layer, Manifest, Source};
use std::ops::Deref;
use thiserror::Error;

/// One card or block of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpandedEntry<'m> {
    /// Which entry of the manifest it is of.
    pub entry: usize,
    /// Of which layer.
    pub layer: Layer,
    /// `framework__context` and the like, for blocks.
    pub context_key: Option<&'m str>,
    /// The card, or the card that keeps the block's text.
    pub card_id: CardId,
    /// It is a block.
    pub is_block: bool,
    /// Where it stands, if the manifest says so.
    pub place: Option<Place>,
    /// Why it is there.
    pub cause: Cause,
}

/// An entry that cannot be read any more.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("entry {entry} of the manifest ({}): {missing}", .layer.as_str())]
pub struct MissingEntry {
    /// Which one.
    pub entry: usize,
    /// Of which layer.
    pub layer: Layer,
    /// What of it is missing.
    pub missing: Missing,
}

/// What is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Missing {
    /// A card.
    #[error("card {0} is missing")]
    Card(CardId),
    /// A box, or that generation of it.
    #[error("box {box_id} at generation {} is missing", .generation.get())]
    Box {
        /// Which.
        box_id: BoxId,
        /// At which generation.
        generation: Generation,
    },
    /// The end of a box.
    #[error("box {box_id} at generation {} ends before place {to}", .generation.get())]
    Places {
        /// Which.
        box_id: BoxId,
        /// At which generation.
        generation: Generation,
        /// The place that was expected to be there.
        to: u32,
    },
}

/// Every card of a manifest, in order. `cards_of` gives the flattened cards of a box at a generation; it is asked once
/// per stretch.
pub fn expand<'m, L: Deref<Target = [CardId]>>(
    manifest: &'m Manifest,
    mut cards_of: impl FnMut(BoxId, Generation) -> Option<L>,
) -> Result<Vec<ExpandedEntry<'m>>, MissingEntry> {
    // No guess at how many: the numbers in a record are not to be trusted with memory.
    let mut all = vec![];
    for (entry, recorded) in manifest.entries.iter().enumerate() {
        let one = |card_id, is_block, place| ExpandedEntry {
            entry,
            layer: recorded.layer,
            context_key: recorded.context_key.as_deref(),
            card_id,
            is_block,
            place,
            cause: recorded.cause,
        };
        match recorded.source {
            Source::Block(id) => all.push(one(id, true, None)),
            Source::Card(id) => all.push(one(id, false, None)),
            Source::Stretch(stretch) => {
                let (box_id, generation, to) = (stretch.box_id, stretch.generation, stretch.to);
                let lost = |missing| MissingEntry { entry, layer: recorded.layer, missing };
                let cards = cards_of(box_id, generation);
                let cards = cards.ok_or_else(|| lost(Missing::Box { box_id, generation }))?;
                let range = stretch.from as usize..to as usize;
                let ids = cards.get(range).ok_or_else(|| lost(Missing::Places { box_id, generation, to }))?;
                all.extend(
                    ids.iter()
                        .zip(stretch.from..)
                        .map(|(id, index)| one(*id, false, Some(Place { box_id, generation, index }))),
                );
            }
        }
    }
    Ok(all)
}

/// The pieces that a manifest was made of, in these words. Tokens are the cards' own estimates.
pub fn rebuild<'a>(
    entries: &[ExpandedEntry<'a>],
    words: &'a Words,
    mut card_of: impl FnMut(CardId) -> Option<&'a Card>,
) -> Result<Vec<Piece<'a>>, MissingEntry> {
    let piece = |expanded: &ExpandedEntry<'a>| {
        let ExpandedEntry { entry, layer, card_id: id, .. } = *expanded;
        let card = card_of(id).ok_or(MissingEntry { entry, layer, missing: Missing::Card(id) })?;
        let reference = match expanded.is_block {
            true => Reference::Block(id),
            false => Reference::Card { id, place: expanded.place },
        };
        Ok(Piece {
            layer,
            context_key: expanded.context_key,
            cause: expanded.cause,
            body: if expanded.is_block { Body::Card(card) } else { words.body(card) },
            reference,
            tokens: card.tokens.saturating_add(crate::tokens::MESSAGE_OVERHEAD),
            pinned: false,
        })
    };
    entries.iter().map(piece).collect()
}
