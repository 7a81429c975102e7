//! A schema as it is run: nodes that name one another by their number.

use super::{number::Exact, pattern::Pattern};
use serde_json::Value;
use std::sync::Arc;

/// The number of a node.
pub(super) type Id = usize;

/// One schema: what all has to hold, in the order in which it is checked.
#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    pub(super) keywords: Vec<Keyword>,
    /// One of them asks what the others have evaluated.
    pub(super) asks_what_is_evaluated: bool,
}

impl Node {
    /// The schema `false`.
    pub(super) fn is_nothing(&self) -> bool {
        matches!(self.keywords[..], [Keyword::Nothing])
    }
}

#[derive(Debug, Clone)]
pub(super) enum Keyword {
    /// Nothing fits.
    Nothing,
    Type(Kinds),
    Enum(Vec<Value>),
    Const(Value),
    Least {
        limit: Exact,
        exclusive: bool,
    },
    Most {
        limit: Exact,
        exclusive: bool,
    },
    MultipleOf(Exact),
    MinLength(u64),
    MaxLength(u64),
    Pattern(Arc<Pattern>),
    Items(Items),
    MinItems(u64),
    MaxItems(u64),
    UniqueItems,
    Contains(Contains),
    Members(Members),
    MinProperties(u64),
    MaxProperties(u64),
    Required(Vec<String>),
    PropertyNames(Id),
    /// Where the first is there, the others are.
    DependentRequired(Vec<(String, Vec<String>)>),
    DependentSchemas(Vec<(String, Id)>),
    Ref(Id),
    AllOf(Vec<Id>),
    AnyOf(Vec<Id>),
    OneOf(Vec<Id>),
    Not(Id),
    If {
        test: Id,
        then: Option<Id>,
        otherwise: Option<Id>,
    },
    UnevaluatedItems(Id),
    UnevaluatedProperties(Id),
}

#[derive(Debug, Clone)]
pub(super) struct Items {
    pub(super) prefix: Vec<Id>,
    pub(super) rest: Option<Id>,
}

#[derive(Debug, Clone)]
pub(super) struct Contains {
    pub(super) schema: Id,
    pub(super) least: u64,
    pub(super) most: Option<u64>,
    pub(super) evaluates: bool,
}

/// What is said of members by their name.
#[derive(Debug, Clone, Default)]
pub(super) struct Members {
    /// Sorted by name.
    pub(super) named: Vec<(String, Id)>,
    pub(super) matching: Vec<(Arc<Pattern>, Id)>,
    /// For members of which nothing else is said.
    pub(super) others: Option<Id>,
}

impl Keyword {
    /// The schemas that are applied to the same value, so that none of them may come back to itself.
    pub(super) fn in_place(&self) -> Vec<Id> {
        match self {
            Self::Ref(id) | Self::Not(id) => vec![*id],
            Self::AllOf(all) | Self::AnyOf(all) | Self::OneOf(all) => all.clone(),
            Self::If { test, then, otherwise } => {
                [Some(*test), *then, *otherwise].into_iter().flatten().collect()
            }
            Self::DependentSchemas(all) => all.iter().map(|(_, id)| *id).collect(),
            Self::Nothing
            | Self::Type(_)
            | Self::Enum(_)
            | Self::Const(_)
            | Self::Least { .. }
            | Self::Most { .. }
            | Self::MultipleOf(_)
            | Self::MinLength(_)
            | Self::MaxLength(_)
            | Self::Pattern(_)
            | Self::Items(_)
            | Self::MinItems(_)
            | Self::MaxItems(_)
            | Self::UniqueItems
            | Self::Contains(_)
            | Self::Members(_)
            | Self::MinProperties(_)
            | Self::MaxProperties(_)
            | Self::Required(_)
            | Self::PropertyNames(_)
            | Self::DependentRequired(_)
            | Self::UnevaluatedItems(_)
            | Self::UnevaluatedProperties(_) => vec![],
        }
    }
}

/// Names of types, in the order in which they are told.
const KINDS: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// A set of types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    /// The types of a `type`, or nothing if one is no type.
    pub(super) fn of(names: &[&str]) -> Option<Self> {
        let mut kinds = 0;
        for name in names {
            kinds |= 1 << KINDS.iter().position(|kind| kind == name)?;
        }
        Some(Self(kinds))
    }

    pub(super) fn include(self, value: &Value) -> bool {
        let has = |name: &str| {
            KINDS.iter().position(|kind| *kind == name).is_some_and(|bit| self.0 & (1 << bit) != 0)
        };
        match value {
            Value::Null => has("null"),
            Value::Bool(_) => has("boolean"),
            Value::Number(number) => has("number") || has("integer") && Exact::of(number).is_whole(),
            Value::String(_) => has("string"),
            Value::Array(_) => has("array"),
            Value::Object(_) => has("object"),
        }
    }

    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        KINDS.into_iter().enumerate().filter(move |(bit, _)| self.0 & (1 << bit) != 0).map(|(_, name)| name)
    }
}
