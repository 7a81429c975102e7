//! Boxes: ordered card references with generations and segments (CB-11..CB-13, X-09).
//!
//! A box is a list of entries. An entry is a card, or a *segment*: the first `len` cards of another box at one
//! generation. Within a generation a box only grows, so a segment never changes its meaning. Readers see the
//! flattened list in which the first occurrence of a card keeps its place.

use crate::{BoxId, CardId, Hash256, Timestamp};
use std::borrow::Cow;

/// How often a box was rewritten; the first generation is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(u32);

impl Generation {
    /// The generation a box is created with.
    pub const FIRST: Self = Self(1);

    /// From the stored number.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The stored number.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The generation after this one.
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// The row that says what a box is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoxHead {
    /// Unique within its project.
    pub box_id: BoxId,
    /// The generation readers see.
    pub generation: Generation,
    /// Cards readers see: the flattened list without repeats.
    pub len: u32,
    /// Entries of this generation; the next entry gets this number.
    pub entries: u32,
    /// How deep its segments nest; 0 means that every entry is a card.
    pub depth: u16,
    /// No more changes: a turn has been shown this box.
    pub sealed: bool,
    /// The rules it was packed by, if it was packed.
    pub handover_hash: Option<Hash256>,
    /// When it was made.
    pub created_at: Timestamp,
}

impl BoxHead {
    /// An open box of the first generation, without cards.
    pub const fn empty(box_id: BoxId, created_at: Timestamp) -> Self {
        Self {
            box_id,
            generation: Generation::FIRST,
            len: 0,
            entries: 0,
            depth: 0,
            sealed: false,
            handover_hash: None,
            created_at,
        }
    }
}

/// A reference to a stable prefix of another box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Segment {
    /// Whose cards.
    pub box_id: BoxId,
    /// At which generation.
    pub generation: Generation,
    /// How many of them, as readers count.
    pub len: u32,
}

/// What an entry refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Item {
    /// One card.
    Card(CardId),
    /// A prefix of another box.
    Segment(Segment),
}

/// Why an entry is in the box (PK-19).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntrySource {
    /// Put there by whoever writes the box.
    Direct,
    /// Packed from an argument by the rule with this index.
    Argument(u16),
    /// Inherited from another box.
    Inherited,
    /// Inherited from another box, and written out once more because segments nest only so deep: the entry does not refer to
    /// that box, so that it is named here.
    Copied(BoxId, Generation),
    /// The pointer to the parent agent.
    Parent,
}

impl EntrySource {
    /// The name for readers, and the rule index where there is one.
    pub const fn origin(self) -> (&'static str, Option<u16>) {
        match self {
            Self::Direct => ("direct", None),
            Self::Argument(rule) => ("argument", Some(rule)),
            Self::Inherited | Self::Copied(..) => ("box", None),
            Self::Parent => ("parent", None),
        }
    }

    /// What the store keeps: the same, and the box that was copied, as `box:{box_id}:{generation}`.
    pub fn parts(self) -> (Cow<'static, str>, Option<u16>) {
        let (name, rule) = self.origin();
        match self {
            Self::Copied(box_id, generation) => {
                (format!("{name}:{box_id}:{}", generation.get()).into(), rule)
            }
            Self::Direct | Self::Argument(_) | Self::Inherited | Self::Parent => (name.into(), rule),
        }
    }

    /// The reverse of [`Self::parts`].
    pub fn from_parts(name: &str, rule: Option<u16>) -> Option<Self> {
        match (name, rule) {
            ("direct", None) => Some(Self::Direct),
            ("argument", Some(rule)) => Some(Self::Argument(rule)),
            ("box", None) => Some(Self::Inherited),
            ("parent", None) => Some(Self::Parent),
            (copied, None) => {
                let (box_id, generation) = copied.strip_prefix("box:")?.split_once(':')?;
                Some(Self::Copied(box_id.parse().ok()?, Generation::new(generation.parse().ok()?)))
            }
            (_, Some(_)) => None,
        }
    }
}

/// One entry of a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Entry {
    /// What it refers to.
    pub item: Item,
    /// Why it is there.
    pub source: EntrySource,
}

impl Entry {
    /// A card put there by the writer of the box.
    pub const fn direct(card_id: CardId) -> Self {
        Self { item: Item::Card(card_id), source: EntrySource::Direct }
    }
}

/// A box, or a new generation of one, with its first entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBox {
    /// The row it becomes.
    pub head: BoxHead,
    /// Its entries in order; `head.entries` of them.
    pub entries: Vec<Entry>,
}
