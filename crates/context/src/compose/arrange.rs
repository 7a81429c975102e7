//! Where each layer goes (X-14, OB-05). The one place that knows.

use crate::piece::Piece;
use cardwire_model::{Layer, Placement};

/// The pieces of a request by layer.
#[derive(Debug, Clone, Default)]
pub struct Layers<'a> {
    /// The agent's own prompt.
    pub system_prompt: Option<Piece<'a>>,
    /// Blocks, in any order.
    pub blocks: Vec<Piece<'a>>,
    /// The conversation so far.
    pub checkpoint: Vec<Piece<'a>>,
    /// What is asked now.
    pub query: Option<Piece<'a>>,
    /// What this turn has said and been told since.
    pub turn: Vec<Piece<'a>>,
}

/// Puts the layers in order. The order in which blocks are given does not matter (CM-03).
pub fn arrange<'a>(layers: Layers<'a>, placement: Placement) -> Vec<Piece<'a>> {
    let Layers { system_prompt, mut blocks, checkpoint, query, turn } = layers;
    blocks.sort_by_key(|piece| (is_after_history(piece.layer, placement), piece.layer, piece.context_key));
    let after =
        blocks.iter().position(|piece| is_after_history(piece.layer, placement)).unwrap_or(blocks.len());
    let count = blocks.len() + checkpoint.len() + turn.len() + 2;
    let mut pieces = Vec::with_capacity(count);
    pieces.extend(system_prompt);
    pieces.extend_from_slice(&blocks[..after]);
    pieces.extend(checkpoint);
    pieces.extend_from_slice(&blocks[after..]);
    pieces.extend(query);
    pieces.extend(turn);
    pieces
}

/// What changes from call to call goes after the history in placement `cache`, so that everything before it is a prefix
/// that the provider has seen already.
const fn is_after_history(layer: Layer, placement: Placement) -> bool {
    match placement {
        Placement::Seed => false,
        Placement::Cache => match layer {
            Layer::Experience | Layer::Knowledge | Layer::Todo => true,
            Layer::SystemPrompt
            | Layer::Framework
            | Layer::Compression
            | Layer::Extra
            | Layer::Checkpoint
            | Layer::Query
            | Layer::Turn
            | Layer::Tools => false,
        },
    }
}
