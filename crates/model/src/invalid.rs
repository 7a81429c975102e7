//! Refusals of malformed values: each names the field, so that a caller can mend the request.

use crate::{inbox::names, limits};
use thiserror::Error;

names! {
    /// Codes of refusals that programs tell apart from other malformed requests.
    InvalidCode {
        /// No `x__context`, or one that is not shared (CM-05, CC-01, CC-03).
        ContextKey = "invalid_context_key",
        /// Both `query` and `human_message` (CM-06).
        DualQueryPath = "dual_query_path",
        /// A system message among those of memory (CM-07, ST-06).
        SystemInCheckpoint = "system_in_checkpoint",
        /// The blackboard has no such field (ST-01).
        BlackboardKey = "invalid_blackboard_key",
        /// The field has operations of its own (ST-02).
        ReducerField = "reducer_field",
        /// The block is made anew for every call (ST-08).
        ContextNotPersistable = "context_not_persistable",
        /// No request can be made of these cards (OB-01).
        Unrepairable = "unrepairable_context",
        /// What must be sent does not fit (OB-02).
        ContextOverflow = "context_overflow",
        /// A tool that is known here and carried out by others (PM-15).
        NotImplemented = "not_implemented",
    }
}

/// A value that cannot become one of our types.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Invalid {
    /// The field has a wrong type, shape or value.
    #[error("{field}: {reason}")]
    Field {
        /// JSON pointer or parameter name, e.g. `content/0/name` or `card_id`.
        field: String,
        /// What is wrong, as a short clause.
        reason: String,
    },
    /// The same, with a code of its own.
    #[error("{field}: {reason}")]
    Coded {
        /// Which refusal.
        code: InvalidCode,
        /// See [`Self::Field`].
        field: String,
        /// See [`Self::Field`].
        reason: String,
    },
    /// The field is well-formed but over a named limit.
    #[error("{field}: {actual} is over the limit of {limit} {unit}")]
    TooLarge {
        /// Which field.
        field: String,
        /// The limit, inclusive.
        limit: usize,
        /// What was given.
        actual: usize,
        /// `bytes`, `cards`, …
        unit: &'static str,
    },
}

impl Invalid {
    /// A wrong value in `field`.
    pub fn field(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Field { field: field.into(), reason: reason.into() }
    }

    /// A wrong value in `field`, by a code of its own.
    pub fn coded(code: InvalidCode, field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Coded { code, field: field.into(), reason: reason.into() }
    }

    /// Checks `actual <= limit`.
    pub fn check_size(field: &str, actual: usize, limit: usize, unit: &'static str) -> Result<(), Self> {
        if actual <= limit {
            Ok(())
        } else {
            Err(Self::TooLarge { field: field.to_owned(), limit, actual, unit })
        }
    }

    /// Checks a name that others chose, such as a model its calls: short, printable, not blank.
    pub fn check_printable(field: &str, name: &str) -> Result<(), Self> {
        Self::check_printable_within(field, name, limits::NAME_CHARS)
    }

    /// [`Self::check_printable`] for a name that may have so many characters.
    pub fn check_printable_within(field: &str, name: &str, most: usize) -> Result<(), Self> {
        let legal =
            !name.trim().is_empty() && name.chars().count() <= most && !name.chars().any(char::is_control);
        let reason = || format!("must be 1 to {most} printable characters, not blank");
        if legal { Ok(()) } else { Err(Self::field(field, reason())) }
    }

    /// The same refusal of a field within another.
    #[must_use]
    pub fn under(self, parent: &str) -> Self {
        let field = format!("{parent}/{}", self.field_name());
        self.at(field)
    }

    /// The same refusal of a field that is called `field` where it was given.
    #[must_use]
    pub fn at(self, field: impl Into<String>) -> Self {
        let field = field.into();
        match self {
            Self::Field { reason, .. } => Self::Field { field, reason },
            Self::Coded { code, reason, .. } => Self::Coded { code, field, reason },
            Self::TooLarge { limit, actual, unit, .. } => Self::TooLarge { field, limit, actual, unit },
        }
    }

    /// The field the refusal is about.
    pub fn field_name(&self) -> &str {
        match self {
            Self::Field { field, .. } | Self::Coded { field, .. } | Self::TooLarge { field, .. } => field,
        }
    }
}
