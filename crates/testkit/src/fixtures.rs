//! Small valid values for tests: builders with defaults, fresh ids from a seed, a clock that is set by hand.
//!
//! Must not know a store. Invariant: whatever a builder gives is what the model itself would accept.

mod boxes;
mod cards;
mod clock;
mod ids;
mod records;

pub use boxes::BoxBuilder;
pub use cards::{CardBuilder, text_card};
pub use clock::ManualClock;
pub use ids::SeededIds;
pub use records::{ProjectBuilder, TokenBuilder, answer, audit, event};

use cardwire_model::{AgentId, CanonicalJson, ProjectId, Timestamp};

/// A project's name.
pub fn project_id(name: &str) -> ProjectId {
    name.parse().expect("a project name")
}

/// An agent's name.
pub fn agent_id(name: &str) -> AgentId {
    name.parse().expect("an agent name")
}

/// A moment, in seconds since 1970.
pub const fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

/// Canonical JSON from a literal.
pub fn json(text: &str) -> CanonicalJson {
    CanonicalJson::parse(text, "fixture").expect("JSON that can be kept")
}
