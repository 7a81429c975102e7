//! What a model is sent, as a pure function of named layers: the composer, the linter, budgets, manifests, and the text of
//! every block.
//!
//! This crate must not know IO, async, clocks, randomness or stores.
//! Invariant: same input, same bytes (NF-11).

pub mod blocks;
pub mod compaction;
pub mod compose;
pub mod cost;
pub mod diff;
pub mod fit;
pub mod layers;
pub mod lint;
pub mod manifest;
pub mod piece;
pub mod process;
pub mod prompt;
pub mod render;
pub mod search;
pub mod tokens;
mod vocabulary;
pub mod why;
pub mod words;

#[cfg(test)]
mod fixtures;
