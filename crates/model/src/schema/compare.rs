//! Values compared with one another, each part of them a step.

use super::{
    bounds::{Steps, Unfinished},
    number::Exact,
};
use serde_json::Value;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Bytes of a text that are looked at in the time of one step.
pub(super) const BYTES_PER_STEP: usize = 64;

/// Comparisons of a sort that take as long as one step.
const SORTED_PER_STEP: usize = 4;

/// Whether two values are the same to JSON Schema.
pub(super) fn equal(one: &Value, other: &Value, steps: &mut Steps) -> Result<bool, Unfinished> {
    steps.take(1)?;
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => Ok(Exact::of(one).compare(Exact::of(other)).is_eq()),
        (Value::String(one), Value::String(other)) => {
            steps.take(one.len().min(other.len()) / BYTES_PER_STEP)?;
            Ok(one == other)
        }
        (Value::Array(one), Value::Array(other)) => {
            if one.len() != other.len() {
                return Ok(false);
            }
            for (one, other) in one.iter().zip(other) {
                if !equal(one, other, steps)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Object(one), Value::Object(other)) => {
            if one.len() != other.len() {
                return Ok(false);
            }
            // Both are sorted.
            for ((name, one), (other_name, other)) in one.iter().zip(other) {
                steps.take(name.len().min(other_name.len()) / BYTES_PER_STEP)?;
                if name != other_name || !equal(one, other, steps)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Bool(one), Value::Bool(other)) => Ok(one == other),
        (Value::Null, Value::Null) => Ok(true),
        _ => Ok(false),
    }
}

/// Whether no two items are equal: those with the same digest are compared.
pub(super) fn all_differ(items: &[Value], steps: &mut Steps) -> Result<bool, Unfinished> {
    // Before the room for them is taken.
    steps.take(items.len() * items.len().max(1).ilog2() as usize / SORTED_PER_STEP)?;
    let mut digests = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let mut hasher = DefaultHasher::new();
        digest(item, &mut hasher, steps)?;
        digests.push((hasher.finish(), index));
    }
    digests.sort_unstable();
    for (place, (digest, index)) in digests.iter().enumerate() {
        for (_, other) in digests[place + 1..].iter().take_while(|(other, _)| other == digest) {
            if equal(&items[*index], &items[*other], steps)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// The same for values that are equal.
fn digest(value: &Value, hasher: &mut DefaultHasher, steps: &mut Steps) -> Result<(), Unfinished> {
    steps.take(1)?;
    match value {
        Value::Null => hasher.write_u8(0),
        Value::Bool(is_true) => hasher.write_u8(1 + u8::from(*is_true)),
        Value::Number(number) => Exact::of(number).bits().hash(hasher),
        Value::String(text) => {
            steps.take(text.len() / BYTES_PER_STEP)?;
            text.hash(hasher);
        }
        Value::Array(items) => {
            hasher.write_usize(items.len());
            for item in items {
                digest(item, hasher, steps)?;
            }
        }
        Value::Object(members) => {
            hasher.write_usize(members.len());
            for (name, member) in members {
                steps.take(name.len() / BYTES_PER_STEP)?;
                name.hash(hasher);
                digest(member, hasher, steps)?;
            }
        }
    }
    Ok(())
}
