//! Pure decisions: each takes the rows it was given, a command and the moment, and answers with a [`Commit`] or a
//! [`Rejection`].
//!
//! This crate must not know IO, async, clocks or randomness: fresh ids and `now` arrive inside the command. A rule
//! of the specification about facts, access or the audit chain is written here and nowhere else. One file per
//! verb, so that the folder listing reads as the specification.

pub mod access;
pub mod audit;
pub mod batch;
pub mod decision;
pub mod facts;
pub mod handoff;
pub mod handover;
pub mod idempotency;
pub mod knowledge;
pub mod pmo;
pub mod project;
pub mod resource;
pub mod roster;
pub mod session;
pub mod token;
pub mod turn;
pub mod unasked;
pub mod watchdog;

pub use decision::{Actor, Decision, Fresh, Moment, Refusal, RefusalCode, Rejection, Verdict};

#[cfg(test)]
mod fixtures;
