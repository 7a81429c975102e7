//! What a decision is made on: [`Keys`] name the rows, a store loads them in one read, and the pure function sees
//! the [`Snapshot`].

use crate::{
    Answer, AnswerKey, BoxHead, BoxId, CardId, Hash256, Project, Timestamp, Token, TokenId, card::is_visible,
};
use std::collections::{HashMap, HashSet};

/// Which rows to load.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    /// The realm's project row.
    pub project: bool,
    /// Cards, for existence and equality (not their content).
    pub cards: Vec<CardId>,
    /// Box heads.
    pub boxes: Vec<BoxId>,
    /// Which of these cards are direct entries of the box's current generation. The box's head is loaded too.
    pub members: Option<(BoxId, Vec<CardId>)>,
    /// A token of the realm.
    pub token: Option<TokenId>,
    /// A remembered answer.
    pub answer: Option<AnswerKey>,
}

/// The rows as they were in one consistent read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The realm's project row, if asked for and there.
    pub project: Option<Project>,
    /// The cards that are there.
    pub cards: HashMap<CardId, CardFact>,
    /// The boxes that are there.
    pub boxes: HashMap<BoxId, BoxHead>,
    /// Those of `Keys::members` that are entries.
    pub members: HashSet<CardId>,
    /// The token, if asked for and there.
    pub token: Option<Token>,
    /// The answer, if asked for and there.
    pub answer: Option<Answer>,
}

/// What a decision needs to know of an existing card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CardFact {
    /// Equal facts have equal hashes (CB-07).
    pub fact_hash: Hash256,
    /// When it was deleted.
    pub deleted_at: Option<Timestamp>,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
}

impl CardFact {
    /// Whether reads show the card at `now`.
    pub fn is_visible(&self, now: Timestamp) -> bool {
        is_visible(self.deleted_at, self.expires_at, now)
    }
}
