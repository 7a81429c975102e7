//! Handover: what one agent gives another, packed into a box by explicit rules (SPEC.md, Packing).

pub mod again;
pub mod pack;
pub mod profile;
pub mod recipe;
pub mod rules;

pub use rules::{Handover, Order, PackRule};

use cardwire_model::{BoxId, Head};

/// Boxes that an agent has by what its head says: those of its live turn, and where it wrote last. Those that results have
/// named to it are its grants.
pub fn handed_over(head: &Head) -> impl Iterator<Item = BoxId> + use<> {
    let of_turn = head.live.as_ref().map(|live| [live.profile_box, live.context_box, live.output_box]);
    of_turn.into_iter().flatten().chain(head.last_output_box)
}
