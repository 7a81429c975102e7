//! Why a worker cannot go on with a turn.

use serde_json::Value;
use std::fmt;

/// What came instead of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The turn is somebody else's now, or has ended: nothing more is to be done for it (DP-17).
    Gone,
    /// The kernel refuses.
    Refused {
        /// The status of HTTP.
        status: u16,
        /// For programs.
        code: String,
        /// For people.
        message: String,
    },
    /// The kernel cannot be reached, and was asked long enough.
    Unreachable(String),
}

impl Trouble {
    /// What an answer other than a success means.
    pub(crate) fn of(status: u16, body: &Value) -> Self {
        match (status, body["error"]["code"].as_str()) {
            (401, _) | (409, Some("stale_turn")) => Self::Gone,
            _ => Self::refused(status, body),
        }
    }

    /// A refusal in the words of the kernel.
    pub(crate) fn refused(status: u16, body: &Value) -> Self {
        let text = |name: &str| body["error"][name].as_str().unwrap_or_default().to_owned();
        Self::Refused { status, code: text("code"), message: text("message") }
    }

    /// The code of a refusal.
    pub(crate) fn code(&self) -> &str {
        match self {
            Self::Gone => "stale_turn",
            Self::Refused { code, .. } => code,
            Self::Unreachable(_) => "unreachable",
        }
    }
}

/// For logs: without the message of a refusal, which may quote what was asked (OB-06).
pub(crate) struct Logged<'a>(pub(crate) &'a Trouble);

impl fmt::Display for Logged<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Trouble::Refused { status, code, .. } => write!(f, "refused: {status} {code}"),
            trouble @ (Trouble::Gone | Trouble::Unreachable(_)) => trouble.fmt(f),
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone => f.write_str("the turn is held by somebody else or has ended"),
            Self::Refused { code, message, .. } => write!(f, "{code}: {message}"),
            Self::Unreachable(why) => write!(f, "the kernel cannot be reached: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_stale_turn_is_gone_and_anything_else_is_a_refusal() {
        let body = |code: &str| json!({ "error": { "code": code, "message": "m" } });
        assert_eq!(Trouble::of(409, &body("stale_turn")), Trouble::Gone);
        assert_eq!(Trouble::of(401, &body("unauthenticated")), Trouble::Gone);
        assert_eq!(Trouble::refused(401, &body("unauthenticated")).code(), "unauthenticated");
        let refused = Trouble::of(409, &body("conflict"));
        assert_eq!((refused.code(), refused.to_string().as_str()), ("conflict", "conflict: m"));
        assert_eq!(Logged(&refused).to_string(), "refused: 409 conflict");
        assert_eq!(Trouble::of(500, &Value::Null).code(), "");
    }
}
