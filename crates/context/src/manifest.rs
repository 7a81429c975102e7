//! Manifests: what a model was sent, as references (RP-01), and the way back to the same pieces (RP-02).
//!
//! Entries stand in the order of composition. Rendering the pieces of a manifest again gives the same bytes, because
//! everything after the composer is a pure function of the pieces.

mod expand;
mod json;
mod outline;

#[cfg(test)]
mod tests;

pub use expand::{ExpandedEntry, Missing, MissingEntry, expand, rebuild};
pub use json::{from_json, omissions_json, repairs_json, to_json};
pub use outline::{outline, outline_omissions};

use crate::piece::{Piece, Place, Reference};
use cardwire_model::{Cause, ManifestEntry, Omission, Source, Stretch};
use thiserror::Error;

/// A piece that is kept nowhere, so that no manifest can refer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("piece {index} is not kept as a card")]
pub struct NotKept {
    /// Which piece.
    pub index: usize,
}

/// The entries of what was sent: the pieces without those that the linter left out
/// ([`crate::lint::Linted::omitted`], in order). Cards that stand one after another in a box become one entry.
pub fn entries(pieces: &[Piece<'_>], omitted: &[(usize, Cause)]) -> Result<Vec<ManifestEntry>, NotKept> {
    let mut entries = Run::default();
    let mut omitted = omitted.iter().map(|(index, _)| *index).peekable();
    for (index, piece) in pieces.iter().enumerate() {
        if omitted.next_if_eq(&index).is_some() {
            continue;
        }
        let source = source_of(piece.reference).ok_or(NotKept { index })?;
        entries.add(piece, Some(source), piece.cause);
    }
    let entry = |one: Entry| {
        let source = one.source?;
        let Entry { layer, context_key, cards, tokens, cause, .. } = one;
        Some(ManifestEntry { layer, context_key, source, cards, tokens, cause })
    };
    Ok(entries.done.into_iter().filter_map(entry).collect())
}

/// What was left out, by the budget, the linter or anybody else, each with its reason.
pub fn omissions<'a>(omitted: impl IntoIterator<Item = (Piece<'a>, Cause)>) -> Vec<Omission> {
    let mut entries = Run::default();
    for (piece, cause) in omitted {
        entries.add(&piece, source_of(piece.reference), cause);
    }
    let omission = |one: Entry| {
        let Entry { layer, context_key, source, cards, tokens, cause, .. } = one;
        Omission { layer, context_key, source, cards, tokens, cause }
    };
    entries.done.into_iter().map(omission).collect()
}

/// Tokens at the start of a request that the previous one began with too (OB-05). Only meaningful when model, tools and
/// template are the same; blocks are the same when their card is. What is not sent does not count, so pass
/// [`crate::lint::Linted::sent`].
pub fn shared_prefix<'p, 'a: 'p>(
    previous: &[ExpandedEntry<'_>],
    now: impl IntoIterator<Item = &'p Piece<'a>>,
) -> u32 {
    let is_same = |(entry, piece): &(&ExpandedEntry<'_>, &Piece<'_>)| match piece.reference {
        Reference::Block(id) => entry.is_block && entry.card_id == id,
        Reference::Card { id, .. } => !entry.is_block && entry.card_id == id,
        Reference::Given => false,
    };
    let shared = previous.iter().zip(now).take_while(is_same);
    shared.fold(0, |sum, (_, piece)| sum.saturating_add(piece.tokens))
}

fn source_of(reference: Reference) -> Option<Source> {
    match reference {
        Reference::Block(id) => Some(Source::Block(id)),
        Reference::Card { id, .. } => Some(Source::Card(id)),
        Reference::Given => None,
    }
}

/// Entries under way: the last one may still grow.
#[derive(Default)]
struct Run {
    done: Vec<Entry>,
}

struct Entry {
    layer: cardwire_model::Layer,
    context_key: Option<String>,
    source: Option<Source>,
    cards: u32,
    tokens: u32,
    cause: Cause,
    /// Where the last card of it stands.
    last: Option<Place>,
}

impl Run {
    fn add(&mut self, piece: &Piece<'_>, source: Option<Source>, cause: Cause) {
        let place = match piece.reference {
            Reference::Card { place, .. } => place,
            Reference::Block(_) | Reference::Given => None,
        };
        if let (Some(last), Some(place)) = (self.done.last_mut(), place)
            && last.takes(piece, place, cause)
        {
            return last.grow(place, piece.tokens);
        }
        self.done.push(Entry {
            layer: piece.layer,
            context_key: piece.context_key.map(str::to_owned),
            source,
            cards: 1,
            tokens: piece.tokens,
            cause,
            last: place,
        });
    }
}

impl Entry {
    fn takes(&self, piece: &Piece<'_>, place: Place, cause: Cause) -> bool {
        let follows = self.last.is_some_and(|last| {
            last.box_id == place.box_id
                && last.generation == place.generation
                && last.index.checked_add(1) == Some(place.index)
        });
        follows
            && self.layer == piece.layer
            && self.cause == cause
            && piece.context_key == self.context_key.as_deref()
    }

    fn grow(&mut self, place: Place, tokens: u32) {
        self.cards += 1;
        self.tokens = self.tokens.saturating_add(tokens);
        self.last = Some(place);
        let to = place.index.saturating_add(1);
        let Place { box_id, generation, .. } = place;
        self.source = Some(Source::Stretch(Stretch { box_id, generation, from: to - self.cards, to }));
    }
}
