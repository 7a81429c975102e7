//! Small valid values for tests: builders with defaults, fresh ids from a seed, a clock that is set by hand.
//!
//! Must not know a store. Invariant: whatever a builder gives is what the model itself would accept.

mod batch;
mod boxes;
mod cards;
mod clock;
mod graph;
mod ids;
mod records;
mod roster;
mod sessions;
mod turns;

pub use batch::{batch, branch, branch_end, full_batch, full_branch};
pub use boxes::BoxBuilder;
pub use cards::{CardBuilder, text_card};
pub use clock::ManualClock;
pub use graph::{answered, edge, full_edge, step, tool_call};
pub use ids::SeededIds;
pub use records::{ProjectBuilder, TokenBuilder, answer, audit, event};
pub use roster::{agent_row, identity_edge, profile, resource};
pub use sessions::{NAMESPACES, namespace, passage, session, session_key, shelf};
pub use turns::{ended, full_item, idle_head, live_head, report_item, turn_item};

use cardwire_model::{
    AgentId, CanonicalJson, Channel, ProfileName, ProjectId, StepId, Timestamp, WorkerTarget,
};

/// A project's name.
pub fn project_id(name: &str) -> ProjectId {
    name.parse().expect("a project name")
}

/// An agent's name.
pub fn agent_id(name: &str) -> AgentId {
    name.parse().expect("an agent name")
}

/// A channel's name.
pub fn channel(name: &str) -> Channel {
    name.parse().expect("a channel name")
}

/// The name of a kind of workers.
pub fn worker_target(name: &str) -> WorkerTarget {
    name.parse().expect("a name of workers")
}

/// A document's name.
pub fn resource_name(name: &str) -> cardwire_model::ResourceName {
    name.parse().expect("a legal name")
}

/// A profile's name.
pub fn profile_name(name: &str) -> ProfileName {
    name.parse().expect("a profile name")
}

/// A step's name.
pub fn step_id(name: &str) -> StepId {
    name.parse().expect("a step id")
}

/// A moment, in seconds since 1970.
pub const fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

/// Canonical JSON from a literal.
pub fn json(text: &str) -> CanonicalJson {
    CanonicalJson::parse(text, "fixture").expect("JSON that can be kept")
}
