//! Boxes on the wire (API-01..API-03, API-17).

use crate::{cards::CardOut, parse};
use cardwire_kernel::{BoxView, protocol::facts::flatten::Shown};
use cardwire_model::BoxHead;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A box to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BoxIn {
    /// Absent to make a box. A given id must be a box that is there.
    #[serde(default)]
    #[schema(pattern = "^[0-9a-f]{32}$")]
    pub box_id: Option<String>,
    /// Its cards, in order.
    #[serde(default)]
    pub card_ids: Vec<String>,
}

/// Cards to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AppendIn {
    /// In this order; those that are there already stay where they are.
    pub card_ids: Vec<String>,
    /// Refuse unless the box has exactly so many cards.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub expected_len: Option<u32>,
}

/// The new contents of a box.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RewriteIn {
    /// Its cards, in order.
    pub card_ids: Vec<String>,
}

/// What to fork.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForkIn {
    /// How many cards from the start; all of them when absent.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub upto: Option<u32>,
}

/// A box.
#[derive(Debug, Serialize, ToSchema)]
pub struct BoxOut {
    /// Its id.
    pub box_id: String,
    /// Its cards in order, each once.
    pub card_ids: Vec<String>,
    /// How many.
    pub len: u32,
    /// Rises with every rewrite.
    pub generation: u32,
    /// Takes no more changes.
    pub sealed: bool,
    /// When it was made.
    pub created_at: String,
    /// Nothing was made: the box was there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub idempotent: bool,
}

impl BoxOut {
    /// The box as it was read.
    pub fn new(view: &BoxView) -> Self {
        Self::with_cards(&view.head, view.card_ids().map(|id| id.to_string()).collect())
    }

    /// The box with these cards.
    pub fn with_cards(head: &BoxHead, card_ids: Vec<String>) -> Self {
        Self {
            box_id: head.box_id.to_string(),
            card_ids,
            len: head.len,
            generation: head.generation.get(),
            sealed: head.sealed,
            created_at: head.created_at.to_string(),
            idempotent: false,
        }
    }
}

/// What an append or a rewrite did. It does not list the whole box: an append costs the same whatever its length.
#[derive(Debug, Serialize, ToSchema)]
pub struct BoxChangeOut {
    /// Which box.
    pub box_id: String,
    /// At which generation.
    pub generation: u32,
    /// Cards it shows now.
    pub len: u32,
    /// Cards that were not there before.
    pub added: Vec<String>,
    /// Takes no more changes.
    pub sealed: bool,
}

/// Which boxes to read.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BoxBatchIn {
    /// At most 100 distinct ids.
    pub box_ids: Vec<String>,
    /// Whether to read the last `limit` cards of each too.
    #[serde(default)]
    pub hydrate: Option<bool>,
    /// 1 to 500, clamped; 200 when absent.
    #[serde(default, deserialize_with = "parse::clamped")]
    pub limit: Option<i64>,
}

/// The boxes that are there, in the order asked for, each once.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct BoxBatchOut {
    /// What was found.
    pub boxes: Vec<BatchBoxOut>,
    /// Boxes that were not.
    pub missing_box_ids: Vec<String>,
    /// Cards of the hydrated stretches that are deleted or expired.
    pub missing_card_ids: Vec<String>,
    /// Cards of the same that cannot be read, or are not what was written; absent when there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damaged_card_ids: Vec<String>,
}

/// A box of a batch.
#[derive(Debug, Serialize, ToSchema)]
pub struct BatchBoxOut {
    /// Its id.
    pub box_id: String,
    /// All its cards.
    pub card_ids: Vec<String>,
    /// The last `limit` of them, in box order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hydrated_cards: Option<Vec<CardOut>>,
}

/// Where the cards of a box came from (PK-19).
#[derive(Debug, Serialize, ToSchema)]
pub struct ProvenanceOut {
    /// Which box.
    pub box_id: String,
    /// Of the rules it was packed by.
    #[schema(required)]
    pub handover_hash: Option<String>,
    /// One entry per card, in box order.
    pub cards: Vec<CardProvenance>,
}

/// Where one card came from.
#[derive(Debug, Serialize, ToSchema)]
pub struct CardProvenance {
    /// Which card.
    pub card_id: String,
    /// `direct`, `argument`, `box` or `parent`.
    pub origin: &'static str,
    /// Index of the packing rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<u16>,
    /// The box it was inherited from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub box_id: Option<String>,
    /// The generation of that box.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<u32>,
}

impl CardProvenance {
    /// Of one card as it is shown.
    pub fn new(shown: &Shown) -> Self {
        let (origin, rule) = shown.source.origin();
        Self {
            card_id: shown.card_id.to_string(),
            origin,
            rule,
            box_id: shown.from.map(|(box_id, _)| box_id.to_string()),
            generation: shown.from.map(|(_, generation)| generation.get()),
        }
    }
}
