//! What tests of every crate share: the reference store, the conformance suite, the differential test, fixtures.
//!
//! A dev-dependency only. This crate must not know a concrete backend: it sees [`cardwire_store::Store`], and a
//! backend's own tests plug themselves in with [`conformance_tests!`] and [`differential()`].
//! Invariant: everything here is deterministic in its seed, and a failure names the seed.

// A failed expectation is what this crate is for: panicking with a message is its way of answering.
#![allow(clippy::unwrap_used, clippy::expect_used)]

pub mod chain;
pub mod conformance;
pub mod counts;
pub mod differential;
pub mod dump;
pub mod fixtures;
pub mod generate;
pub mod lost;
pub mod reference;
pub mod rng;
pub mod scratch;
pub mod wanted;

pub use counts::scaled;
pub use differential::{differential, differential_in_groups};
pub use dump::{Dump, dump};
pub use fixtures::{BoxBuilder, CardBuilder, ManualClock, ProjectBuilder, SeededIds, TokenBuilder};
pub use reference::ReferenceStore;
pub use rng::{Rng, test_seed};
