//! JSON Schema within counted steps (F-41, SEC-07). Schemas come from clients, so that reading one and checking a value
//! with it are bounded: the first by [`Room`], the second by [`Steps`].
//!
//! The draft is 2020-12; where `$schema` names an older one, its spellings are understood. A schema is one document:
//! what refers to another is refused when it is read. `format` and `content…` are notes for people.
//! This must not know where schemas are kept.
//! Invariant: a schema that was read can be run on any value, and never costs more than the limits say.

mod bounds;
mod check;
mod compare;
mod draft;
mod ecma;
mod keyword;
mod number;
mod pattern;
mod place;
mod read;
mod reference;
mod words;

pub use bounds::{Room, Steps, Unfinished};

use crate::{CanonicalJson, Invalid, limits};
use keyword::Node;
use serde_json::Value;

/// A schema that can be run.
#[derive(Debug, Clone)]
pub struct Schema {
    /// The first is the schema itself.
    nodes: Vec<Node>,
}

/// One reason why a value does not fit. It quotes the schema, and of the value only names of members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// JSON pointer to the part of the value.
    pub place: String,
    /// What is wrong there.
    pub message: String,
}

impl Schema {
    /// Reads a schema that stands in `field`; the refusal names the place in it.
    pub fn read(schema: &Value, field: &str, room: &mut Room) -> Result<Self, Invalid> {
        check_size(schema, field, room)?;
        Ok(Self { nodes: read::read(schema, field, room)? })
    }

    /// Every reason why a value does not fit, as far as [`limits::SCHEMA_MISFITS`] goes.
    pub fn misfits(&self, value: &Value, steps: &mut Steps) -> Result<Vec<Misfit>, Unfinished> {
        check::misfits(&self.nodes, value, steps)
    }
}

/// Checks the bounds of a schema that others run, e.g. that of a tool's arguments.
pub fn check_size(schema: &Value, field: &str, room: &mut Room) -> Result<(), Invalid> {
    let depth = depth(schema, limits::SCHEMA_DEPTH + 1);
    Invalid::check_size(field, depth, limits::SCHEMA_DEPTH, "levels")?;
    let text = CanonicalJson::from_value(schema)
        .map_err(|invalid| Invalid::field(field, format!("cannot be kept as it is: {invalid}")))?;
    room.take_bytes(field, text.as_bytes().len())
}

/// How deep a value nests; no further than `most`.
fn depth(value: &Value, most: usize) -> usize {
    let inner = |value: &Value| if most == 0 { 0 } else { depth(value, most - 1) };
    match value {
        Value::Array(items) => 1 + items.iter().map(inner).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(inner).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

#[cfg(test)]
mod tests;
