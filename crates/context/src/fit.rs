//! The budget of a request (OB-02): what does not fit is left out in a fixed order, and listed.
//!
//! Invariant: a call and its results are kept together or left out together, and what is pinned stays.

mod repaired;

pub use repaired::{CannotSend, fit_repaired};

use crate::{
    lint::{Fate, pair},
    piece::Piece,
};
use cardwire_model::{Cause, Layer, ManifestEntry, Provider};
use thiserror::Error;

/// How much may be sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budget {
    /// How much the model takes; no limit when it is not known.
    pub window: Option<u32>,
    /// What of it is kept free for the answer.
    pub reserve: u32,
    /// What is sent besides the pieces, e.g. the list of tools.
    pub fixed: u32,
}

/// What is kept free for the answer unless somebody says otherwise: an eighth of the window, at most 16,384 tokens.
pub fn default_reserve(window: Option<u32>) -> u32 {
    window.map_or(0, |window| (window / 8).min(16_384))
}

/// What of a window is left beside so many tokens and what is kept free for the answer (OB-03).
pub fn left(window: u32, reserve: Option<u32>, taken: u64) -> u64 {
    let reserve = reserve.unwrap_or_else(|| default_reserve(Some(window)));
    u64::from(window.saturating_sub(reserve)).saturating_sub(taken)
}

/// Tokens of what a request had that the next one could leave out. What is pinned counts, too: a manifest does not tell, so
/// that this is the most that could go, not what will.
pub fn droppable(entries: &[ManifestEntry]) -> u64 {
    let goes = |entry: &&ManifestEntry| STAGES.iter().any(|stage| stage.takes(entry.layer));
    entries.iter().filter(goes).map(|entry| u64::from(entry.tokens)).sum()
}

/// What is sent, and what is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitted<'a> {
    /// What is sent, in the order it came.
    pub kept: Vec<Piece<'a>>,
    /// What is left out, in the order it came, and why.
    pub omitted: Vec<(Piece<'a>, Cause)>,
    /// Tokens of what is sent, with what is fixed.
    pub tokens: u32,
}

impl Fitted<'_> {
    /// Tokens of the whole request, had there been room for all of it.
    pub fn wanted(&self) -> u32 {
        self.omitted.iter().fold(self.tokens, |sum, (piece, _)| sum.saturating_add(piece.tokens))
    }
}

/// Even the least that must be sent is too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the request needs at least {needed} tokens, and {available} are available")]
pub struct OverBudget {
    /// Tokens of what cannot be left out.
    pub needed: u32,
    /// The window without the reserve.
    pub available: u32,
}

/// Leaves out what does not fit: the oldest history first, whoever said it, then experience, knowledge, todo and blocks of
/// users' own. History is cut in one piece, so that a manifest names it by where it begins and not card by card (NF-12).
/// System prompt, framework, compression, query and the turn itself always stay.
pub fn fit<'a>(pieces: Vec<Piece<'a>>, budget: Budget) -> Result<Fitted<'a>, OverBudget> {
    let total = pieces.iter().fold(u64::from(budget.fixed), |sum, piece| sum + u64::from(piece.tokens));
    let Some(window) = budget.window else { return Ok(everything(pieces, total)) };
    let available = window.saturating_sub(budget.reserve);
    if total <= u64::from(available) {
        return Ok(everything(pieces, total));
    }
    let mut cut = Cut { excess: total - u64::from(available), groups: Groups::of(&pieces) };
    for stage in STAGES {
        for (index, piece) in pieces.iter().enumerate() {
            if stage.takes(piece.layer) {
                cut.drop(index);
            }
        }
    }
    let dropped: u64 = cut.groups.0.iter().filter(|group| group.dropped).map(|group| group.tokens).sum();
    let tokens = narrow(total - dropped);
    if cut.excess > 0 {
        return Err(OverBudget { needed: tokens, available });
    }
    let (mut kept, mut omitted) = (Vec::with_capacity(pieces.len()), vec![]);
    for (index, piece) in pieces.into_iter().enumerate() {
        let root = cut.groups.root(index);
        if cut.groups.0[root].dropped { omitted.push((piece, Cause::Budget)) } else { kept.push(piece) }
    }
    Ok(Fitted { kept, omitted, tokens })
}

fn everything(kept: Vec<Piece<'_>>, total: u64) -> Fitted<'_> {
    Fitted { kept, omitted: vec![], tokens: narrow(total) }
}

fn narrow(tokens: u64) -> u32 {
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

/// What is left out, in this order.
#[derive(Clone, Copy)]
enum Stage {
    History,
    Block(Layer),
}

const STAGES: [Stage; 5] = [
    Stage::History,
    Stage::Block(Layer::Experience),
    Stage::Block(Layer::Knowledge),
    Stage::Block(Layer::Todo),
    Stage::Block(Layer::Extra),
];

impl Stage {
    fn takes(self, layer: Layer) -> bool {
        match self {
            Self::History => layer == Layer::Checkpoint,
            Self::Block(block) => layer == block,
        }
    }
}

/// Pieces that are kept or left out together, under the index of the first of them.
#[derive(Clone, Copy)]
struct Group {
    /// A piece of the same group further up; the first of the group points to itself.
    up: usize,
    /// Of the whole group; only kept with the first.
    tokens: u64,
    /// One of them must stay.
    held: bool,
    dropped: bool,
}

struct Cut {
    /// Tokens that are still too many.
    excess: u64,
    groups: Groups,
}

impl Cut {
    fn drop(&mut self, index: usize) {
        let root = self.groups.root(index);
        let group = &mut self.groups.0[root];
        // A piece that costs nothing gains nothing.
        if self.excess > 0 && !group.held && !group.dropped && group.tokens > 0 {
            group.dropped = true;
            self.excess = self.excess.saturating_sub(group.tokens);
        }
    }
}

/// One [`Group`] per piece.
struct Groups(Vec<Group>);

impl Groups {
    /// A call goes with its results and with cards that name it again; everything else stands alone. A group that
    /// reaches into the turn must stay.
    fn of(pieces: &[Piece<'_>]) -> Self {
        // Which provider does not matter here: it decides how ids are written, not which belong together.
        let pairing = pair(Provider::OpenAiChat, pieces);
        let alone = |up| Group { up, tokens: 0, held: false, dropped: false };
        let mut groups = Self((0..pieces.len()).map(alone).collect());
        for (index, fate) in pairing.fates.iter().enumerate() {
            match fate {
                Fate::Answers(call) => groups.join(index, pairing.calls[*call].piece),
                Fate::Says | Fate::Replies { .. } | Fate::Orphan(_) | Fate::Repeats | Fate::Empty => {}
            }
        }
        for (index, call) in &pairing.repeats {
            groups.join(*index, pairing.calls[*call].piece);
        }
        for (index, piece) in pieces.iter().enumerate() {
            let root = groups.root(index);
            let group = &mut groups.0[root];
            group.tokens += u64::from(piece.tokens);
            group.held |= piece.pinned || !STAGES.iter().any(|stage| stage.takes(piece.layer));
        }
        groups
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one.max(other)].up = one.min(other);
    }

    /// The first of the group. Ways up are made shorter while they are walked.
    fn root(&mut self, mut index: usize) -> usize {
        while self.0[index].up != index {
            let up = self.0[index].up;
            self.0[index].up = self.0[up].up;
            index = up;
        }
        index
    }
}

#[cfg(test)]
mod tests;
