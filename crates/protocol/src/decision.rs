//! What every decision takes and gives.

use cardwire_model::{AuditAction, AuditVerdict, event::PUBLIC_CHANNEL};
use cardwire_model::{
    CanonicalJson, Commit, EventId, EventKind, Invalid, NewAudit, NewEvent, ProjectId, Realm, Timestamp,
};
use serde_json::Value;
use std::{fmt, sync::Arc};
use thiserror::Error;
use uuid::Uuid;

/// Who acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor(String);

impl Actor {
    /// The holder of a token, by the token's id; the workers inside a server are a part of it.
    pub fn token(id: cardwire_model::TokenId) -> Self {
        if id == cardwire_model::TokenId::WORKERS { Self::system("worker") } else { Self(id.to_string()) }
    }

    /// A part of the system itself, e.g. `sys.kernel`.
    pub fn system(part: &str) -> Self {
        Self(format!("sys.{part}"))
    }

    /// The holder of a turn.
    pub fn turn(id: cardwire_model::TurnId) -> Self {
        Self(id.to_string())
    }

    /// The name in the audit log.
    pub fn name(&self) -> &str {
        &self.0
    }
}

/// Where fresh ids come from. Passed in, so that a decision stays a function of what it is given.
#[derive(Clone)]
pub struct Fresh(Arc<dyn Fn() -> Uuid + Send + Sync>);

impl Fresh {
    /// Wraps a source of ids.
    pub fn new(source: impl Fn() -> Uuid + Send + Sync + 'static) -> Self {
        Self(Arc::new(source))
    }

    /// A fresh value.
    pub fn uuid(&self) -> Uuid {
        (self.0)()
    }
}

impl fmt::Debug for Fresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fresh")
    }
}

/// When and by whom, with a source of fresh ids.
#[derive(Debug, Clone)]
pub struct Moment {
    /// The kernel's clock.
    pub now: Timestamp,
    /// Who acts.
    pub actor: Actor,
    /// Fresh ids.
    pub fresh: Fresh,
}

impl Moment {
    /// An event of this moment.
    pub(crate) fn event(&self, kind: EventKind, target: impl ToString, data: &Value) -> NewEvent {
        NewEvent {
            id: EventId::from_uuid(self.fresh.uuid()),
            kind,
            target: target.to_string(),
            channel: PUBLIC_CHANNEL.to_owned(),
            agent_id: None,
            turn_id: None,
            batch_id: None,
            trace_id: None,
            data: own_json(data),
            at: self.now,
        }
    }

    /// An audit row of this moment.
    pub(crate) fn audit(&self, action: AuditAction, subject: impl ToString, detail: &Value) -> NewAudit {
        NewAudit {
            actor: self.actor.name().to_owned(),
            action,
            subject: subject.to_string(),
            verdict: AuditVerdict::Allowed,
            detail: own_json(detail),
            at: self.now,
        }
    }
}

/// JSON of our own making. What others said in it may have no canonical form, e.g. a name with NUL in a message; it is told as
/// nearly as can be, and never left out (F-27).
pub(crate) fn own_json(value: &Value) -> CanonicalJson {
    CanonicalJson::nearest(value)
}

/// What to write, and what to tell the caller once it is written. An empty commit means there is nothing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision<T> {
    /// Applied by the store.
    pub commit: Commit,
    /// Told to the caller.
    pub outcome: T,
}

impl<T> Decision<T> {
    /// Nothing to write.
    pub fn nothing(realm: impl Into<Realm>, outcome: T) -> Self {
        Self { commit: Commit::new(realm), outcome }
    }
}

/// An expected "no", with the facts a caller needs. Nothing is written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Rejection {
    /// The request is malformed or over a limit.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// There is no such thing in this project.
    #[error("{what} not found: {id}")]
    NotFound {
        /// `card`, `box`, `project`, …
        what: &'static str,
        /// Which one.
        id: String,
    },
    /// The id holds another fact.
    #[error("card {id} exists with other content; cards never change")]
    CardConflict {
        /// Which card.
        id: String,
    },
    /// The card under this id was deleted or has expired, and its id stays taken.
    #[error("card {id} was deleted or has expired; its id cannot be used again")]
    CardGone {
        /// Which card.
        id: String,
    },
    /// The box takes no more changes.
    #[error("box {id} is sealed")]
    BoxSealed {
        /// Which box.
        id: String,
    },
    /// Something is not as the caller assumed.
    #[error("{0}")]
    Conflict(String),
    /// What the command was made from has changed: make it again, then decide again.
    #[error("somebody else got in between; repeat the request")]
    Outdated,
    /// Results that were told of once are others now (HO-11).
    #[error(
        "this iteration was handed over before, and {0} has changed since; a new iteration needs a directory of its own"
    )]
    IterationChanged(String),
    /// The caller may not do this.
    #[error("{0}")]
    Forbidden(String),
    /// The box was not handed to the agent that wants to hand it on.
    #[error("box {id} was not handed to this agent")]
    UnauthorizedBox {
        /// Which box.
        id: String,
    },
    /// The turn was ended, taken away or given to somebody else: nothing this caller says counts (DP-17).
    #[error("{0} at epoch {1} is not live any more")]
    StaleTurn(cardwire_model::TurnId, u64),
    /// The turn token does not belong to this turn.
    #[error("the token does not open this turn")]
    Unauthenticated,
    /// A turn was not accepted.
    #[error("{}", .0.message)]
    Refused(Refusal),
    /// The head of this agent is gone: rebuild it, then decide again (WD-08).
    #[error("the state of agent {0} is lost")]
    Lost(cardwire_model::AgentId),
}

/// Why a turn or a report was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// In one word.
    pub verdict: Verdict,
    /// The stable code.
    pub code: RefusalCode,
    /// For people.
    pub message: String,
}

/// How a dispatch that is not accepted ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Queuing is impossible or was refused.
    Busy,
    /// The request cannot be.
    Rejected,
    /// The project is not set up for it.
    Error,
}

impl Verdict {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Rejected => "rejected",
            Self::Error => "error",
        }
    }
}

macro_rules! refusal_codes {
    ($($(#[$doc:meta])* $name:ident = $verdict:ident $text:literal,)*) => {
        /// The codes of refused turns and reports.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum RefusalCode {
            $($(#[$doc])* $name,)*
        }

        impl RefusalCode {
            /// All codes, in order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The code on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// The word it goes with.
            pub const fn verdict(self) -> Verdict {
                match self {
                    $(Self::$name => Verdict::$verdict,)*
                }
            }
        }
    };
}

refusal_codes! {
    /// No agent was named.
    MissingAgentId = Rejected "missing_agent_id",
    /// No profile box was named.
    MissingProfileBoxId = Rejected "missing_profile_box_id",
    /// No context box was named.
    MissingContextBoxId = Rejected "missing_context_box_id",
    /// The lineage does not hold together.
    ProtocolViolation = Rejected "protocol_violation",
    /// Too deep.
    RecursionDepthExceeded = Rejected "recursion_depth_exceeded",
    /// No such box.
    ProfileBoxNotFound = Rejected "profile_box_not_found",
    /// No such box.
    ContextBoxNotFound = Rejected "context_box_not_found",
    /// No such box.
    UnknownOutputBox = Rejected "unknown_output_box",
    /// Another turn writes it.
    OutputBoxInUse = Rejected "output_box_in_use",
    /// It takes no more changes.
    OutputBoxSealed = Rejected "output_box_sealed",
    /// The correlation or turn id stands for another request.
    DuplicateCorrelation = Rejected "duplicate_correlation",
    /// Nobody is said to serve the agent.
    WorkerTargetMissing = Error "worker_target_missing",
    /// The agent has a live turn.
    AgentBusy = Busy "agent_busy",
    /// Too many turns wait.
    InboxFull = Busy "inbox_full",
    /// The agent waits for the caller already.
    AncestorCycle = Rejected "ancestor_cycle",
    /// Too many turns below one root.
    TreeBudgetExceeded = Rejected "tree_budget_exceeded",
    /// The result would not fit what the caller has left of its window.
    ResultBudgetExceeded = Rejected "result_budget_exceeded",
    /// Too many open turns in the project.
    ProjectBudgetExceeded = Rejected "project_budget_exceeded",
    /// Not one of ensure, create, derive.
    InvalidAction = Rejected "invalid_action",
    /// Tags that are no list of names.
    InvalidTags = Rejected "invalid_tags",
    /// Metadata that is no object.
    InvalidMetadata = Rejected "invalid_metadata",
    /// No such profile.
    ProfileNotFound = Rejected "profile_not_found",
    /// A copy of whom?
    MissingDerivedFrom = Rejected "missing_derived_from",
    /// It is a copy of somebody else.
    DerivedAgentConflict = Rejected "derived_agent_conflict",
    /// What an agent is does not change.
    ExistingAgentProfile = Rejected "existing_agent_profile_mutation_forbidden",
    /// Whose an agent is does not change.
    ExistingAgentOwner = Rejected "existing_agent_owner_mutation_forbidden",
    /// Who serves an agent does not change.
    ExistingAgentWorkerTarget = Rejected "existing_agent_worker_target_mutation_forbidden",
    /// The tags of an agent do not change.
    ExistingAgentTags = Rejected "existing_agent_tags_mutation_forbidden",
}

impl Rejection {
    pub(crate) fn refused(code: RefusalCode, message: impl Into<String>) -> Self {
        Self::Refused(Refusal { verdict: code.verdict(), code, message: message.into() })
    }

    pub(crate) fn not_found(what: &'static str, id: impl ToString) -> Self {
        Self::NotFound { what, id: id.to_string() }
    }

    /// The same answer whether a project never was, is deleted or belongs to somebody else.
    pub fn no_project(id: &ProjectId) -> Self {
        Self::not_found("project", id)
    }
}

#[cfg(test)]
mod tests {
    use crate::fixtures::moment;
    use cardwire_model::{AuditAction, EventKind, limits};
    use serde_json::{Value, json};

    /// F-27, SEC-08: an event or a record tells what it can, whatever others have said in it.
    #[test]
    fn nothing_is_left_out_of_events_and_records() {
        let deep = (0..limits::JSON_DEPTH).fold(json!("end"), |inner, _| json!([inner]));
        let data = json!({ "status": "failed", "error": "no\0pe", "deep": deep });
        let event = moment().event(EventKind::AgentTask, "a", &data).data.to_value();
        let record = moment().audit(AuditAction::AccessDenied, "a", &data).detail.to_value();
        for told in [event, record] {
            assert_eq!((&told["status"], &told["error"]), (&json!("failed"), &json!("no\u{fffd}pe")));
            assert!(told["deep"].to_string().contains("end"), "{told}");
            assert_ne!(told["deep"], Value::Null);
        }
    }
}
