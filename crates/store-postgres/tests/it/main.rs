//! The many-machine backend under the suite of every backend, against the reference store, and where it is alone:
//! migrations, row-level security, the sequencer, and faults of the connection.
//!
//! `CARDWIRE_TEST_POSTGRES` names the server; without it every test fails.

// A failed expectation is what a test is for, also in the functions that tests share.
#![allow(clippy::unwrap_used)]

mod batch_plans;
mod batches;
mod claims;
mod compression;
mod conformance;
mod damage;
mod differential;
mod faults;
mod isolation;
mod migrations;
mod plans;
mod schema;
mod scratch;
mod search;
mod selftest;
mod sequencer;
mod session_plans;
mod silence;
mod together;
mod worker;
