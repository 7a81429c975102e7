//! Teams as documents, and the processes by which they work as decisions over a transcript (PR-01..PR-11).
//!
//! A run of a team is a list of rounds, each of which asks some members and has their outcomes. [`next`] says what
//! comes after the rounds that were made.
//!
//! This crate must not know IO, async, clocks, randomness, stores or models.
//! Invariant: what comes next depends on the team, the query and the rounds alone, so that a run goes on after a crash
//! as if there had been none.

pub mod finished;
pub mod process;
pub mod prompts;
pub mod role;
pub mod round;
pub mod team;
pub mod text;

mod answer;
mod dynamic;
mod hand_over;
mod hierarchical;
mod map_reduce;
mod next;
mod play;
mod react;
mod sequential;

pub use finished::{Finished, finished, map_results};
pub use next::next;
pub use process::Process;
pub use role::Role;
pub use round::{Act, Delegate, Outcome, Round, Status, Task};
pub use team::{Limits, Member, NamedProfile, Team};
pub use text::text_of;

/// The workers that serve the agents of a team, unless a profile says otherwise.
pub const WORKER_TARGET: &str = "cardwire";

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod properties;
