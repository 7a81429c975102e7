//! Arguments of a tool, read by name: trimmed, typed, and refused by name (W-10).

use cardwire_model::Invalid;
use serde_json::{Map, Value};

pub(super) struct Args<'a> {
    pub(super) tool: &'a str,
    pub(super) given: &'a Map<String, Value>,
}

impl Args<'_> {
    pub(super) fn refuse(&self, name: &str, reason: &str) -> Invalid {
        Invalid::field(format!("args/{name}"), format!("{}: args.{name} {reason}", self.tool))
    }

    /// No argument that the tool does not know.
    pub(super) fn only(&self, names: &[&str]) -> Result<(), Invalid> {
        match self.given.keys().find(|key| !names.contains(&key.as_str())) {
            Some(key) => Err(self.refuse(key, "is not known")),
            None => Ok(()),
        }
    }

    /// Text; blank and null count as absent.
    pub(super) fn optional(&self, name: &str) -> Result<Option<String>, Invalid> {
        match self.given.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => {
                let text = text.trim();
                Ok((!text.is_empty()).then(|| text.to_owned()))
            }
            Some(_) => Err(self.refuse(name, "must be a string")),
        }
    }

    /// A box; what is blank names none (W-10).
    pub(super) fn box_id(&self, name: &str) -> Result<Option<String>, Invalid> {
        match self.given.get(name) {
            Some(Value::String(text)) if text.trim().is_empty() => Err(self.refuse(name, "must be a box_id")),
            Some(_) | None => self.optional(name),
        }
    }

    pub(super) fn required(&self, name: &str) -> Result<String, Invalid> {
        self.optional(name)?.ok_or_else(|| self.refuse(name, "is required"))
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, Invalid> {
        match self.given.get(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.refuse(name, "must be true or false")),
        }
    }
}
