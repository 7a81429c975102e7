//! Differences, reasons and summaries on the wire (RP-03, RP-04, CP-08).

use crate::{cards::CardOut, parse};
use cardwire_kernel::{
    Side, WhyAnswer,
    composer::diff::{Diff, DiffEntry, LayerDiff, Moved},
};
use cardwire_model::{Card, CardId, Invalid, ProjectId};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// One side of a comparison: a call, or a turn.
pub fn side(field: &str, text: &str) -> Result<Side, Invalid> {
    if text.starts_with("turn_") {
        return parse::one(field, text).map(Side::Turn);
    }
    parse::one(field, text).map(Side::Call)
}

/// What changed.
#[derive(Debug, Serialize, ToSchema)]
pub struct DiffOut {
    /// As it was asked for.
    pub left: String,
    /// As it was asked for.
    pub right: String,
    /// Every layer that either has, in order.
    pub layers: Vec<LayerDiffOut>,
    /// Cards that both have, in different layers.
    pub moved: Vec<MovedOut>,
    /// All tokens on the left.
    pub tokens_left: u64,
    /// All tokens on the right.
    pub tokens_right: u64,
    /// Right minus left.
    pub delta: i64,
}

/// What changed in one layer.
#[derive(Debug, Serialize, ToSchema)]
pub struct LayerDiffOut {
    /// Which.
    pub layer: &'static str,
    /// What only the right has.
    pub added: Vec<DiffEntryOut>,
    /// What only the left has.
    pub removed: Vec<DiffEntryOut>,
    /// How many cards both have.
    pub kept: u32,
    /// Its tokens on the left.
    pub tokens_left: u64,
    /// Its tokens on the right.
    pub tokens_right: u64,
    /// Right minus left.
    pub delta: i64,
}

/// A card with its price.
#[derive(Debug, Serialize, ToSchema)]
pub struct DiffEntryOut {
    /// Which card.
    pub card_id: String,
    /// What it costs.
    pub tokens: u32,
}

/// A card that changed its layer.
#[derive(Debug, Serialize, ToSchema)]
pub struct MovedOut {
    /// Which card.
    pub card_id: String,
    /// Where it was.
    pub from: &'static str,
    /// Where it is.
    pub to: &'static str,
}

impl DiffOut {
    /// The difference of what was asked for.
    pub fn new(left: &str, right: &str, diff: &Diff) -> Self {
        let moved = |moved: &Moved| MovedOut {
            card_id: moved.card_id.to_string(),
            from: moved.from.as_str(),
            to: moved.to.as_str(),
        };
        Self {
            left: left.to_owned(),
            right: right.to_owned(),
            layers: diff.layers.iter().map(LayerDiffOut::from).collect(),
            moved: diff.moved.iter().map(moved).collect(),
            tokens_left: diff.tokens_left,
            tokens_right: diff.tokens_right,
            delta: diff.delta,
        }
    }
}

impl From<&LayerDiff> for LayerDiffOut {
    fn from(diff: &LayerDiff) -> Self {
        let entry =
            |entry: &DiffEntry| DiffEntryOut { card_id: entry.card_id.to_string(), tokens: entry.tokens };
        Self {
            layer: diff.layer.as_str(),
            added: diff.added.iter().map(entry).collect(),
            removed: diff.removed.iter().map(entry).collect(),
            kept: diff.kept,
            tokens_left: diff.tokens_left,
            tokens_right: diff.tokens_right,
            delta: diff.delta,
        }
    }
}

/// Why a card is in a call, or why not.
#[derive(Debug, Serialize, ToSchema)]
pub struct WhyOut {
    /// Which call.
    pub call_id: String,
    /// Which card.
    pub card_id: String,
    /// Whether it was sent.
    pub included: bool,
    /// In which layer it is or would have been, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<&'static str>,
    /// The reason, for programs.
    pub reason: &'static str,
    /// The reason, for people.
    pub rule: &'static str,
    /// What it costs, or would have cost.
    pub tokens: u32,
}

impl From<&WhyAnswer> for WhyOut {
    fn from(answer: &WhyAnswer) -> Self {
        let why = &answer.why;
        Self {
            call_id: answer.call_id.to_string(),
            card_id: answer.card_id.to_string(),
            included: why.included,
            layer: why.layer.map(|layer| layer.as_str()),
            reason: why.cause.as_str(),
            rule: why.rule,
            tokens: why.tokens,
        }
    }
}

/// What a summary stands for.
#[derive(Debug, Serialize, ToSchema)]
pub struct ExpandOut {
    /// The card of the summary.
    pub card_id: String,
    /// Its text.
    pub summary: String,
    /// The cards it stands for, with those of the summaries before it.
    pub cards: Vec<CardOut>,
}

impl ExpandOut {
    /// The cards as their project shows them.
    pub fn new(project: &ProjectId, summary: CardId, text: String, cards: &[Arc<Card>]) -> Self {
        let cards = cards.iter().map(|card| CardOut::new(project, card)).collect();
        Self { card_id: summary.to_string(), summary: text, cards }
    }
}
