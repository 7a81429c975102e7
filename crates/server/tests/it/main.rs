//! The HTTP contract, checked from outside on both backends.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

mod access;
mod bad_input;
mod boxes;
mod calls;
mod cards;
mod carried_out;
mod collect;
mod compaction;
mod compose;
mod connections;
mod damage;
mod delegate;
mod documents;
mod events;
mod experience;
mod fork;
mod handoffs;
mod idempotency;
mod instances;
mod isolation;
mod knowledge;
mod long_work;
mod openapi;
mod pack;
mod projects;
mod roster;
mod sessions;
mod settings;
mod streams;
mod support;
mod system;
mod teams;
mod tls;
mod todo;
mod turns;
