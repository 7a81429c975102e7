//! Remembered answers for `Idempotency-Key` (API-16): written in the commit whose answer they hold.

use crate::{Hash256, Invalid, Timestamp, limits};

/// What identifies a repeatable request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AnswerKey {
    /// Who asks; keys of different callers never meet.
    pub caller: String,
    /// The caller's key.
    pub key: String,
    /// Hash of method, path and body: the same key must mean the same request.
    pub request_hash: Hash256,
}

impl AnswerKey {
    /// Checks the header's value.
    pub fn new(caller: String, key: &str, request_hash: Hash256) -> Result<Self, Invalid> {
        let legal = (1..=limits::IDEMPOTENCY_KEY_CHARS).contains(&key.len())
            && key.bytes().all(|b| b.is_ascii_graphic());
        if !legal {
            let reason = format!("must be 1 to {} visible ASCII characters", limits::IDEMPOTENCY_KEY_CHARS);
            return Err(Invalid::field("Idempotency-Key", reason));
        }
        Ok(Self { caller, key: key.to_owned(), request_hash })
    }
}

/// The first answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Which request.
    pub key: AnswerKey,
    /// HTTP status.
    pub status: u16,
    /// Response body. Never a secret: those are derived again.
    pub body: String,
    /// When it was given.
    pub created_at: Timestamp,
}
