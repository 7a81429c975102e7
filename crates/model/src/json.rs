//! Canonical JSON: the one byte form in which content is kept, hashed and returned (CB-20).
//!
//! Keys sorted as in RFC 8785, numbers in their shortest form, no blanks. Unlike RFC 8785, 64-bit integers stay
//! exact. What cannot be kept exactly (a duplicate key, a number that no double holds, NUL, a lone surrogate,
//! nesting past the limit) is refused with a pointer to the place.

mod members;
mod number;
mod objects;
mod parse;
mod place;
mod read;
mod write;

use crate::Invalid;
pub use members::Members;
pub use place::{BODY, place};
pub use read::read;
use serde::{Serialize, Serializer};
use std::{fmt, sync::Arc};

/// JSON text in canonical form. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CanonicalJson(Arc<str>);

impl CanonicalJson {
    /// Reads any JSON text; `field` is where the value sits in the request, for error messages.
    pub fn parse(text: &str, field: &str) -> Result<Self, Invalid> {
        parse::canonicalise(text, field).map(|text| Self(text.into()))
    }

    /// A value made by ourselves. Fails only for what [`Self::parse`] refuses, e.g. NUL in a string.
    pub fn from_value(value: &serde_json::Value) -> Result<Self, Invalid> {
        match write::canonical(value) {
            Some(text) => Ok(Self(text.into())),
            // It says what is wrong, and where.
            None => Self::parse(&value.to_string(), "value"),
        }
    }

    /// A value made by ourselves, as nearly as there is a canonical text for it: NUL becomes U+FFFD, and what is nested past the
    /// limit becomes its text.
    pub fn nearest(value: &serde_json::Value) -> Self {
        write::canonical(value).map_or_else(|| Self(write::nearest(value).into()), |text| Self(text.into()))
    }

    /// Text read back from a store, which holds only canonical text.
    pub fn from_stored(text: &str) -> Self {
        Self(text.into())
    }

    /// The empty object.
    pub fn empty_object() -> Self {
        Self("{}".into())
    }

    /// A string value.
    pub fn string(text: &str) -> Result<Self, Invalid> {
        match write::string(text) {
            Some(text) => Ok(Self(text.into())),
            None => Self::from_value(&serde_json::Value::String(text.to_owned())),
        }
    }

    /// The canonical text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The canonical bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The members of an object in canonical order, or `None` for any other value.
    pub fn members(&self) -> Option<Members<'_>> {
        Members::of(&self.0)
    }

    /// The text when the value is a string.
    pub fn to_text(&self) -> Option<String> {
        if self.0.starts_with('"') { serde_json::from_str(&self.0).ok() } else { None }
    }

    /// The value as a tree. Numbers past 64 bits become doubles, which [`Self::parse`] made sure is exact.
    pub fn to_value(&self) -> serde_json::Value {
        serde_json::from_str(&self.0).unwrap_or(serde_json::Value::Null)
    }
}

impl fmt::Debug for CanonicalJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for CanonicalJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &serde_json::value::RawValue =
            serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}
