//! Handover: what one agent gives another, packed into a box by explicit rules (SPEC.md, Packing).

pub mod pack;
pub mod profile;
pub mod recipe;
pub mod rules;

pub use rules::{Handover, Order, PackRule};
