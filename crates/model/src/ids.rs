//! The registry of machine ids. Each is a 128-bit value with its own type; parsing one as another is an error
//! that names both.

use crate::Invalid;
use std::{fmt, str::FromStr};
use uuid::Uuid;

macro_rules! machine_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $field:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// What the id starts with on the wire.
            pub const PREFIX: &'static str = $prefix;

            /// Wraps a value made by the id source.
            pub const fn from_uuid(value: Uuid) -> Self {
                Self(value)
            }

            /// The bare value, as stored.
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", $prefix, self.0.simple())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str(text: &str) -> Result<Self, Invalid> {
                parse_uuid(text, $prefix, $field).map(Self)
            }
        }
    };
}

machine_id!(
    /// One immutable fact.
    CardId, "", "card_id"
);
impl CardId {
    /// Whether it was made by [`Self::derived`]: such ids are not for callers to choose.
    pub fn is_derived(self) -> bool {
        self.0.get_version_num() == 8 && self.0.get_variant() == uuid::Variant::RFC4122
    }

    /// The id of a card that is named by what it stands for.
    pub fn derived(parts: &[&str]) -> Self {
        let hasher = crate::hash::FieldHasher::default();
        let hash = parts.iter().fold(hasher, |hasher, part| hasher.field(part.as_bytes())).finish();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash.as_bytes()[..16]);
        Self(uuid::Builder::from_custom_bytes(bytes).into_uuid())
    }
}

machine_id!(
    /// One ordered list of card references.
    BoxId, "", "box_id"
);
machine_id!(
    /// One row of the event log, before it has a position.
    EventId, "evt_", "event_id"
);
machine_id!(
    /// One access token (never its secret).
    TokenId, "tok_", "token_id"
);

machine_id!(
    /// One leased piece of work of an agent (`agent_turn_id` on the wire).
    TurnId, "turn_", "agent_turn_id"
);
machine_id!(
    /// One row of an agent's inbox.
    InboxId, "inbox_", "inbox_id"
);
machine_id!(
    /// One row of the execution graph.
    EdgeId, "edge_", "edge_id"
);
machine_id!(
    /// One fork_join.
    BatchId, "batch_", "batch_id"
);

/// All prefixes in use, so that a wrong id can be named for what it is.
const PREFIXES: &[(&str, &str)] = &[
    ("evt_", "an event id"),
    ("tok_", "a token id"),
    ("turn_", "a turn id"),
    ("inbox_", "an inbox id"),
    ("edge_", "an edge id"),
    ("batch_", "a batch id"),
    ("bt_", "a batch task id"),
    ("step_", "a step id"),
    ("call_", "a call id"),
];

fn parse_uuid(text: &str, prefix: &str, field: &str) -> Result<Uuid, Invalid> {
    let expected = format!("{prefix}<32 hexadecimal digits>");
    let Some(bare) = text.strip_prefix(prefix) else {
        return Err(other_id(text, field, &expected));
    };
    let wrong = || Invalid::field(field, format!("expected {expected}"));
    // Only the plain and the hyphenated form: `uuid` would also take braces and `urn:uuid:`.
    if !matches!(bare.len(), 32 | 36) {
        return Err(if prefix.is_empty() { other_id(text, field, &expected) } else { wrong() });
    }
    Uuid::try_parse(bare).map_err(|_| wrong())
}

/// What has not the prefix that was expected may have another.
fn other_id(text: &str, field: &str, expected: &str) -> Invalid {
    let reason = match PREFIXES.iter().find(|(prefix, _)| text.starts_with(prefix)) {
        Some((_, what)) => format!("expected {expected}, got {what}"),
        None => format!("expected {expected}"),
    };
    Invalid::field(field, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyphenated_input_is_accepted_and_normalised() {
        let id: CardId = "0192F0C1-2345-7abc-8def-0123456789ab".parse().unwrap();
        assert_eq!(id.to_string(), "0192f0c123457abc8def0123456789ab");
    }

    #[test]
    fn an_id_of_another_kind_is_named_in_the_error() {
        let error = "turn_0192f0c123457abc8def0123456789ab".parse::<CardId>().unwrap_err();
        assert!(error.to_string().contains("got a turn id"), "{error}");
        assert!("tok_0192f0c123457abc8def0123456789ab".parse::<TokenId>().is_ok());
        for damaged in ["turn_xx", "turn_zz92f0c123457abc8def0123456789ab"] {
            let error = damaged.parse::<TurnId>().unwrap_err().to_string();
            assert!(error.ends_with("expected turn_<32 hexadecimal digits>"), "{error}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for bad in ["", "x", "{0192f0c1-2345-7abc-8def-0123456789ab}", "0192f0c123457abc8def0123456789a\u{0}"]
        {
            assert!(bad.parse::<BoxId>().is_err(), "{bad:?}");
        }
    }
}
