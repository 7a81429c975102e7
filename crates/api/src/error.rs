//! Errors, everywhere the same body: `{"error":{"code","message","detail"?}}`.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

macro_rules! error_codes {
    ($($(#[$doc:meta])* $name:ident = $status:literal $text:literal,)*) => {
        /// A stable code with its HTTP status.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[$doc])* $name,)*
        }

        impl ErrorCode {
            /// All codes, in order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The HTTP status.
            pub const fn status(self) -> u16 {
                match self {
                    $(Self::$name => $status,)*
                }
            }

            /// The code on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

error_codes! {
    /// Malformed or out of range; the message names the field.
    BadRequest = 400 "bad_request",
    /// No token, or one that opens nothing.
    Unauthenticated = 401 "unauthenticated",
    /// The token may not do this.
    Forbidden = 403 "forbidden",
    /// No such thing here.
    NotFound = 404 "not_found",
    /// The path exists, the method does not.
    MethodNotAllowed = 405 "method_not_allowed",
    /// Not as the caller assumed.
    Conflict = 409 "conflict",
    /// The card id holds another fact.
    CardConflict = 409 "card_conflict",
    /// The box takes no more changes.
    BoxSealed = 409 "box_sealed",
    /// Over a size limit.
    TooLarge = 413 "too_large",
    /// Too many requests by this token.
    RateLimited = 429 "rate_limited",
    /// A fault of ours. The message tells nothing; the log does.
    Internal = 500 "internal",
    /// The store cannot be used now.
    Unavailable = 503 "unavailable",
    /// It took too long.
    Timeout = 504 "timeout",
}

/// The body of every error.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// What went wrong.
    pub error: ErrorInfo,
}

/// What went wrong.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ErrorInfo {
    /// Stable, for programs.
    pub code: String,
    /// For people.
    pub message: String,
    /// Facts, such as the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Value>,
}
