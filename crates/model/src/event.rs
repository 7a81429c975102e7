//! The durable event log: rows written in the same commit as what they tell of (NF-08, API-13).

use crate::{AgentId, BatchId, CanonicalJson, EventId, Timestamp, TurnId};
use serde_json::Value;
use std::collections::BTreeMap;

macro_rules! event_kinds {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// What happened. The name is `component.suffix` of the event's subject.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum EventKind {
            $($(#[$doc])* $name,)*
        }

        impl EventKind {
            /// All kinds, in order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name on the wire and in the store.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

event_kinds! {
    /// A project came into being.
    ProjectCreated = "project.created",
    /// Its title or settings changed.
    ProjectUpdated = "project.updated",
    /// It was deleted.
    ProjectDeleted = "project.deleted",
    /// A card was written outside any box.
    CardCreated = "card.created",
    /// A card was soft-deleted.
    CardDeleted = "card.deleted",
    /// A box came into being.
    BoxCreated = "box.created",
    /// Cards were added to a box.
    BoxAppended = "box.appended",
    /// A box got a new generation.
    BoxRewritten = "box.rewritten",
    /// A box takes no more changes.
    BoxSealed = "box.sealed",
    /// An agent's turn changed its state.
    AgentState = "agent.state",
    /// A turn took a step.
    AgentStep = "agent.step",
    /// A turn ended: exactly one per accepted enqueue (NF-04).
    AgentTask = "agent.task",
    /// An agent was added to the roster or changed.
    AgentProvisioned = "agent.provisioned",
    /// Work waits, and no worker has asked for it for a while: once per worker target and time of waiting.
    WorkerWanted = "worker.wanted",
    /// A batch was forked or closed.
    BatchState = "batch.state",
    /// A session was patched, compacted, restored or deleted.
    SessionState = "session.state",
    /// A handoff package was accepted.
    HandoffAccepted = "handoff.accepted",
}

impl EventKind {
    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == name)
    }
}

/// An event as decided, before the log gives it a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// Names the event everywhere, e.g. for de-duplication on a bus.
    pub id: EventId,
    /// What happened.
    pub kind: EventKind,
    /// To what: the id of the project, card, box, agent or batch.
    pub target: String,
    /// The channel it belongs to.
    pub channel: String,
    /// Which agent it concerns.
    pub agent_id: Option<AgentId>,
    /// Which turn.
    pub turn_id: Option<TurnId>,
    /// Which batch.
    pub batch_id: Option<BatchId>,
    /// Which trace.
    pub trace_id: Option<String>,
    /// Ids and counters only; never content.
    pub data: CanonicalJson,
    /// When it was decided.
    pub at: Timestamp,
}

impl NewEvent {
    /// The members of `data`, for those who look for them beside it (WK-06, DP-12). What the event itself says under a name
    /// is not said twice.
    pub fn told(&self, is_taken: impl Fn(&str) -> bool) -> BTreeMap<String, Value> {
        match self.data.to_value() {
            Value::Object(members) => members.into_iter().filter(|(name, _)| !is_taken(name)).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                BTreeMap::new()
            }
        }
    }
}

/// The channel of events that belong to none in particular.
pub const PUBLIC_CHANNEL: &str = "public";

/// An event at its place in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Place in the project's log: 1, 2, 3, … without gaps.
    pub position: u64,
    /// What happened.
    pub event: NewEvent,
}

impl Event {
    /// The bus subject (PM-19): `cg.v1.<project>.<channel>.evt.<component>.<target>.<suffix>`.
    pub fn subject(&self, project: &str) -> String {
        let kind = self.event.kind.as_str();
        let (component, suffix) = kind.split_once('.').unwrap_or((kind, ""));
        format!("cg.v1.{project}.{}.evt.{component}.{}.{suffix}", self.event.channel, self.event.target)
    }
}
