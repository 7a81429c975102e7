//! How a call fails. Invariant: a message holds no key and nothing of the request (SEC-09), except that of `NoRule`.

use crate::sse::EventTooLong;
use std::time::Duration;
use thiserror::Error;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ModelError {
    /// The key is missing, wrong, or may not do this.
    #[error("authentication: {message}")]
    Authentication {
        /// What happened, as a short clause.
        message: String,
    },
    /// Too many requests.
    #[error("rate limited: {message}")]
    RateLimited {
        /// See [`Self::Authentication`].
        message: String,
        /// How long the provider wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// The provider has too much to do.
    #[error("overloaded: {message}")]
    Overloaded {
        /// See [`Self::Authentication`].
        message: String,
        /// See [`Self::RateLimited`].
        retry_after: Option<Duration>,
    },
    /// No whole answer in time.
    #[error("timeout: {message}")]
    Timeout {
        /// See [`Self::Authentication`].
        message: String,
    },
    /// No connection, or one that broke.
    #[error("network: {message}")]
    Network {
        /// See [`Self::Authentication`].
        message: String,
    },
    /// The request is longer than the model can read.
    #[error("context length: {message}")]
    ContextLength {
        /// See [`Self::Authentication`].
        message: String,
    },
    /// The provider refuses the request as it is.
    #[error("bad request: {message}")]
    BadRequest {
        /// See [`Self::Authentication`].
        message: String,
    },
    /// The provider refuses the request for what it is about.
    #[error("filtered: {message}")]
    Filtered {
        /// See [`Self::Authentication`].
        message: String,
    },
    /// The provider failed.
    #[error("server: {message}")]
    Server {
        /// See [`Self::Authentication`].
        message: String,
    },
    /// An answer that cannot be read.
    #[error("malformed answer: {message}")]
    Malformed {
        /// See [`Self::Authentication`].
        message: String,
    },
    /// It failed in a way of its own: a script says so.
    #[error("failed: {message}")]
    Failed {
        /// See [`Self::Authentication`].
        message: String,
    },
    /// The script has no answer to this request, and the message quotes it.
    #[error("no rule: {message}")]
    NoRule {
        /// See [`Self::Authentication`].
        message: String,
    },
}

impl ModelError {
    /// The names of all kinds.
    pub const KINDS: [&'static str; 12] = [
        "authentication",
        "rate_limited",
        "overloaded",
        "timeout",
        "network",
        "context_length",
        "bad_request",
        "filtered",
        "server",
        "malformed",
        "failed",
        "no_rule",
    ];

    /// Its name, for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Authentication { .. } => "authentication",
            Self::RateLimited { .. } => "rate_limited",
            Self::Overloaded { .. } => "overloaded",
            Self::Timeout { .. } => "timeout",
            Self::Network { .. } => "network",
            Self::ContextLength { .. } => "context_length",
            Self::BadRequest { .. } => "bad_request",
            Self::Filtered { .. } => "filtered",
            Self::Server { .. } => "server",
            Self::Malformed { .. } => "malformed",
            Self::Failed { .. } => "failed",
            Self::NoRule { .. } => "no_rule",
        }
    }

    /// How long the provider wants to be left alone, if it says so.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Overloaded { retry_after, .. } => *retry_after,
            Self::Authentication { .. }
            | Self::Timeout { .. }
            | Self::Network { .. }
            | Self::ContextLength { .. }
            | Self::BadRequest { .. }
            | Self::Filtered { .. }
            | Self::Server { .. }
            | Self::Malformed { .. }
            | Self::Failed { .. }
            | Self::NoRule { .. } => None,
        }
    }

    /// The same error, saying that the wait it asks for is longer than anybody waits.
    pub(crate) fn not_waited_for(mut self, most: Duration) -> Self {
        if let (Some(asked), Self::RateLimited { message, .. } | Self::Overloaded { message, .. }) =
            (self.retry_after(), &mut self)
        {
            let (asked, most) = (asked.as_secs(), most.as_secs());
            *message =
                format!("{message}; it asks to wait {asked} s, and no call waits longer than {most} s");
        }
        self
    }

    /// The same error, saying where it came from.
    pub(crate) fn at(mut self, place: &str) -> Self {
        let message = match &mut self {
            Self::Authentication { message }
            | Self::RateLimited { message, .. }
            | Self::Overloaded { message, .. }
            | Self::Timeout { message }
            | Self::Network { message }
            | Self::ContextLength { message }
            | Self::BadRequest { message }
            | Self::Filtered { message }
            | Self::Server { message }
            | Self::Malformed { message }
            | Self::Failed { message }
            | Self::NoRule { message } => message,
        };
        *message = format!("{message} at {place}");
        self
    }

    /// Whether the same request may be answered later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::RateLimited { .. }
            | Self::Overloaded { .. }
            | Self::Timeout { .. }
            | Self::Network { .. }
            | Self::Server { .. } => true,
            Self::Authentication { .. }
            | Self::ContextLength { .. }
            | Self::BadRequest { .. }
            | Self::Filtered { .. }
            | Self::Malformed { .. }
            | Self::Failed { .. }
            | Self::NoRule { .. } => false,
        }
    }

    /// The error of a kind, however it is spelt: `RateLimited` is `rate_limited`. A request that is too long has other names
    /// elsewhere, too: `overflow`, `context_overflow`, `ContextLengthExceeded`.
    pub fn named(kind: &str, message: String) -> Option<Self> {
        let is_part = |c: &char| !matches!(c, '_' | '-' | ' ');
        let plain: String = kind.chars().filter(is_part).flat_map(char::to_lowercase).collect();
        Some(match plain.as_str() {
            "authentication" => Self::Authentication { message },
            "ratelimited" => Self::RateLimited { message, retry_after: None },
            "overloaded" => Self::Overloaded { message, retry_after: None },
            "timeout" => Self::Timeout { message },
            "network" => Self::Network { message },
            "contextlength" | "contextlengthexceeded" | "contextoverflow" | "overflow" => {
                Self::ContextLength { message }
            }
            "badrequest" => Self::BadRequest { message },
            "filtered" => Self::Filtered { message },
            "server" => Self::Server { message },
            "malformed" => Self::Malformed { message },
            "failed" => Self::Failed { message },
            "norule" => Self::NoRule { message },
            _ => return None,
        })
    }

    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self::Malformed { message: message.into() }
    }
}

impl From<EventTooLong> for ModelError {
    fn from(error: EventTooLong) -> Self {
        Self::malformed(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_known_by_its_name_and_five_may_be_tried_again() {
        let mut retryable = vec![];
        for kind in ModelError::KINDS {
            let error = ModelError::named(kind, "x".to_owned()).unwrap();
            assert_eq!(error.kind(), kind);
            assert!(error.to_string().ends_with(": x"), "{error}");
            if error.is_retryable() {
                retryable.push(kind);
            }
        }
        assert_eq!(retryable, ["rate_limited", "overloaded", "timeout", "network", "server"]);
        let long =
            ["overflow", "context_overflow", "CONTEXTOVERFLOW", "ContextLengthExceeded", "context length"];
        for name in long {
            assert_eq!(ModelError::named(name, String::new()).unwrap().kind(), "context_length", "{name}");
        }
        assert_eq!(ModelError::named("RateLimited", String::new()).unwrap().kind(), "rate_limited");
        assert_eq!(ModelError::named("exploded", String::new()), None);
    }
}
