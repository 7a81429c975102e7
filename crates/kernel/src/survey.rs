//! Looking at many things at once: a run with all its turns, lists of cards and boxes, and where a card is used (IN-13, IN-14).
//!
//! Nothing is decided here and nothing is written. Invariant: each read is bounded by a limit of `model/limits.rs`, and tells
//! when it stopped there.

mod found;
mod handed;
mod holders;
mod outline;
mod sent;

pub use found::FoundCards;
pub use handed::{Compared, Handed, Now, Packing};
pub use holders::{CardBoxes, Holder};
pub use outline::{Outline, OutlinedTurn, RunView};
pub use sent::{CardCalls, SentCard};
