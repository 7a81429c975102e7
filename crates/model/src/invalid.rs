//! Refusals of malformed values: each names the field, so that a caller can mend the request.

use thiserror::Error;

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

    /// Checks `actual <= limit`.
    pub fn check_size(field: &str, actual: usize, limit: usize, unit: &'static str) -> Result<(), Self> {
        if actual <= limit {
            Ok(())
        } else {
            Err(Self::TooLarge { field: field.to_owned(), limit, actual, unit })
        }
    }

    /// The field the refusal is about.
    pub fn field_name(&self) -> &str {
        match self {
            Self::Field { field, .. } | Self::TooLarge { field, .. } => field,
        }
    }
}
