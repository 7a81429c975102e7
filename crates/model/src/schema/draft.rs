//! Drafts of JSON Schema, as far as they read the same keywords differently.

use crate::Invalid;
use serde_json::Value;

/// Which draft a schema is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Draft {
    Four,
    Six,
    Seven,
    Year2019,
    Year2020,
}

const KNOWN: [(&str, Draft); 5] = [
    ("json-schema.org/draft-04/schema", Draft::Four),
    ("json-schema.org/draft-06/schema", Draft::Six),
    ("json-schema.org/draft-07/schema", Draft::Seven),
    ("json-schema.org/draft/2019-09/schema", Draft::Year2019),
    ("json-schema.org/draft/2020-12/schema", Draft::Year2020),
];

impl Draft {
    /// The draft that `$schema` names; the newest without it.
    pub(super) fn of(schema: &Value, field: &str) -> Result<Self, Invalid> {
        let Some(named) = schema.get("$schema") else { return Ok(Self::Year2020) };
        let bare = named.as_str().map(|name| name.trim_end_matches('#'));
        let bare =
            bare.and_then(|name| name.strip_prefix("https://").or_else(|| name.strip_prefix("http://")));
        KNOWN.iter().find(|(name, _)| Some(*name) == bare).map(|(_, draft)| *draft).ok_or_else(|| {
            let reason = "must name one of the drafts 04, 06, 07, 2019-09 and 2020-12 of json-schema.org";
            Invalid::field(format!("{field}/$schema"), reason)
        })
    }

    /// `$ref` stands alone: what is beside it counts for nothing.
    pub(super) fn ref_stands_alone(self) -> bool {
        self <= Self::Seven
    }

    /// `items` may be a list, and `additionalItems` is for what comes after it.
    pub(super) fn items_may_be_listed(self) -> bool {
        self <= Self::Year2019
    }

    /// `dependencies` has not been split in two yet.
    pub(super) fn has_dependencies(self) -> bool {
        self <= Self::Seven
    }

    /// `exclusiveMinimum` is `true` beside a `minimum`.
    pub(super) fn bounds_are_flagged(self) -> bool {
        self == Self::Four
    }

    /// Items that fit `contains` are evaluated ones.
    pub(super) fn contains_evaluates(self) -> bool {
        self == Self::Year2020
    }
}
