//! Facts: cards and boxes (SPEC.md, CardBox).

pub mod append;
pub mod create_box;
pub mod delete_card;
pub mod flatten;
pub mod fork_box;
pub mod put_card;
pub mod rewrite_box;
pub mod seal_box;

use crate::{RefusalCode, Rejection};
use cardwire_model::{
    BoxHead, BoxId, Card, CardId, Entry, Generation, Invalid, NewBox, Snapshot, Timestamp, limits,
};
use std::{collections::HashSet, hash::Hash};

/// The box, which must exist and take changes (CB-12, X-09).
fn open_box(snapshot: &Snapshot, box_id: BoxId) -> Result<&BoxHead, Rejection> {
    let head = snapshot.boxes.get(&box_id).ok_or_else(|| Rejection::not_found("box", box_id))?;
    if head.sealed {
        return Err(Rejection::BoxSealed { id: box_id.to_string() });
    }
    Ok(head)
}

/// The same, and nobody's: a box that a turn writes on is written by that turn alone.
fn free_box(snapshot: &Snapshot, box_id: BoxId) -> Result<&BoxHead, Rejection> {
    let head = open_box(snapshot, box_id)?;
    match snapshot.writers.iter().find(|(written, _)| *written == box_id) {
        Some((_, writer)) => {
            let message = format!("a turn of agent {writer} writes box {box_id}");
            Err(Rejection::refused(RefusalCode::OutputBoxInUse, message))
        }
        None => Ok(head),
    }
}

/// Every card must exist in the project and be visible (CB-10, CB-11).
fn check_cards(snapshot: &Snapshot, card_ids: &[CardId], now: Timestamp) -> Result<(), Rejection> {
    let missing = |id: &&CardId| !snapshot.cards.get(id).is_some_and(|card| card.is_visible(now));
    match card_ids.iter().find(missing) {
        Some(id) => Err(Rejection::not_found("card", id)),
        None => Ok(()),
    }
}

/// What a caller may write: not what the kernel writes and believes, and under no id that it derives.
/// `named` is the id that the caller chose.
pub fn check_given(card: &Card, named: Option<CardId>) -> Result<(), Invalid> {
    if card.kind.is_kernels() {
        let reason = format!("{} cards are written by the kernel alone", card.kind.as_str());
        return Err(Invalid::field("metadata/type", reason));
    }
    if named.is_some_and(CardId::is_derived) {
        return Err(Invalid::field("card_id", "ids of version 8 are derived by the kernel; choose another"));
    }
    Ok(())
}

/// The ids without repeats; the first occurrence keeps its place (CB-11).
pub fn distinct<T: Copy + Eq + Hash>(ids: &[T]) -> Vec<T> {
    let mut seen = HashSet::with_capacity(ids.len());
    ids.iter().copied().filter(|id| seen.insert(*id)).collect()
}

fn check_box_size(cards: usize) -> Result<(), Rejection> {
    Ok(Invalid::check_size("card_ids", cards, limits::BOX_CARDS, "cards")?)
}

/// A generation of a box that holds exactly these cards.
pub(crate) fn plain_box(box_id: BoxId, generation: Generation, cards: &[CardId], now: Timestamp) -> NewBox {
    let count = cards.len() as u32;
    NewBox {
        head: BoxHead { generation, len: count, entries: count, ..BoxHead::empty(box_id, now) },
        entries: cards.iter().copied().map(Entry::direct).collect(),
    }
}
