//! The HTTP contract, checked from outside on both backends.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

mod access;
mod bad_input;
mod boxes;
mod cards;
mod delegate;
mod documents;
mod events;
mod fork;
mod idempotency;
mod instances;
mod isolation;
mod pack;
mod projects;
mod roster;
mod support;
mod system;
mod tls;
mod turns;
