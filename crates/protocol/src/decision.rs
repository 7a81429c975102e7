//! What every decision takes and gives.

use cardwire_model::{AuditAction, AuditVerdict, event::PUBLIC_CHANNEL};
use cardwire_model::{
    CanonicalJson, Commit, EventId, EventKind, Invalid, NewAudit, NewEvent, ProjectId, Realm, Timestamp,
};
use serde_json::Value;
use thiserror::Error;

/// Who acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor(String);

impl Actor {
    /// The holder of a token, by the token's id.
    pub fn token(id: cardwire_model::TokenId) -> Self {
        Self(id.to_string())
    }

    /// A part of the system itself, e.g. `sys.kernel`.
    pub fn system(part: &str) -> Self {
        Self(format!("sys.{part}"))
    }

    /// The name in the audit log.
    pub fn name(&self) -> &str {
        &self.0
    }
}

/// When and by whom, with a fresh id for the one event a decision may emit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// The kernel's clock.
    pub now: Timestamp,
    /// Who acts.
    pub actor: Actor,
    /// A fresh id.
    pub event_id: EventId,
}

impl Moment {
    /// An event of this moment.
    pub(crate) fn event(&self, kind: EventKind, target: impl ToString, data: &Value) -> NewEvent {
        NewEvent {
            id: self.event_id,
            kind,
            target: target.to_string(),
            channel: PUBLIC_CHANNEL.to_owned(),
            agent_id: None,
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

/// JSON made of ids, names and counters, which is always representable.
pub(crate) fn own_json(value: &Value) -> CanonicalJson {
    CanonicalJson::from_value(value).unwrap_or_else(|_| CanonicalJson::empty_object())
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
    /// The box takes no more changes.
    #[error("box {id} is sealed")]
    BoxSealed {
        /// Which box.
        id: String,
    },
    /// Something is not as the caller assumed.
    #[error("{0}")]
    Conflict(String),
    /// The caller may not do this.
    #[error("{0}")]
    Forbidden(String),
}

impl Rejection {
    pub(crate) fn not_found(what: &'static str, id: impl ToString) -> Self {
        Self::NotFound { what, id: id.to_string() }
    }

    /// The same answer whether a project never was, is deleted or belongs to somebody else.
    pub fn no_project(id: &ProjectId) -> Self {
        Self::not_found("project", id)
    }
}
