//! Reading of JSON objects with the path of whatever is wrong.

use super::ENTRIES;
use cardwire_model::{Invalid, limits::NAME_CHARS};
use serde_json::{Map, Value};
use std::ops::RangeInclusive;

/// An object of a document and where it is. `null` counts as absent.
pub(super) struct Fields<'a> {
    path: String,
    value: &'a Value,
    map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    /// The object at this path; the document itself has the empty one.
    pub(super) fn of(path: &str, value: &'a Value) -> Result<Self, Invalid> {
        let place = if path.is_empty() { "body" } else { path };
        let map = value.as_object().ok_or_else(|| Invalid::field(place, "must be an object"))?;
        Ok(Self { path: path.to_owned(), value, map })
    }

    /// Where a field of it is.
    pub(super) fn at(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}/{name}", self.path) }
    }

    /// A refusal of a field.
    pub(super) fn wrong(&self, name: &str, reason: &str) -> Invalid {
        Invalid::field(self.at(name), reason)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The object as a value.
    pub(super) fn value(&self) -> &'a Value {
        self.value
    }

    /// The object as it is.
    pub(super) fn map(&self) -> &'a Map<String, Value> {
        self.map
    }

    /// Refuses every other field.
    pub(super) fn only(&self, names: &[&str]) -> Result<(), Invalid> {
        match self.map.keys().find(|key| !names.contains(&key.as_str())) {
            Some(key) => Err(Invalid::unknown(self.at(key), key, names)),
            None => Ok(()),
        }
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    /// A text.
    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>, Invalid> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => value.as_str().map(Some).ok_or_else(|| self.wrong(name, "must be a text")),
        }
    }

    /// A text that must be there and say something.
    pub(super) fn required_text(&self, name: &str) -> Result<&'a str, Invalid> {
        match self.text(name)? {
            None => Err(self.wrong(name, "is required")),
            Some(text) if text.trim().is_empty() => Err(self.wrong(name, "must not be blank")),
            Some(text) => Ok(text),
        }
    }

    /// The name of a team or the id of a member.
    pub(super) fn id(&self, name: &str) -> Result<String, Invalid> {
        let id = self.required_text(name)?;
        check_name(&self.at(name), id, NAME_CHARS)?;
        Ok(id.to_owned())
    }

    /// `true` or `false`.
    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, Invalid> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => value.as_bool().map(Some).ok_or_else(|| self.wrong(name, "must be true or false")),
        }
    }

    /// An object, as given.
    pub(super) fn object(&self, name: &str) -> Result<Option<Value>, Invalid> {
        match self.get(name) {
            None => Ok(None),
            Some(value) if value.is_object() => Ok(Some(value.clone())),
            Some(_) => Err(self.wrong(name, "must be an object")),
        }
    }

    /// An object, to be read.
    pub(super) fn fields(&self, name: &str) -> Result<Option<Fields<'a>>, Invalid> {
        self.get(name).map(|value| Fields::of(&self.at(name), value)).transpose()
    }

    /// The items of a list with their paths; `None` if there is no list.
    pub(super) fn list(&self, name: &str) -> Result<Option<Vec<(String, &'a Value)>>, Invalid> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let list = value.as_array().ok_or_else(|| self.wrong(name, "must be a list"))?;
        Invalid::check_size(&self.at(name), list.len(), ENTRIES, "entries")?;
        let at = |index: usize| format!("{}/{index}", self.at(name));
        Ok(Some(list.iter().enumerate().map(|(index, item)| (at(index), item)).collect()))
    }

    /// The items of a list with their paths; none if there is no list.
    pub(super) fn entries(&self, name: &str) -> Result<Vec<(String, &'a Value)>, Invalid> {
        Ok(self.list(name)?.unwrap_or_default())
    }

    /// A whole number within bounds.
    pub(super) fn number(
        &self,
        name: &str,
        default: u32,
        bounds: RangeInclusive<u32>,
    ) -> Result<u32, Invalid> {
        let Some(value) = self.get(name) else { return Ok(default) };
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        number.filter(|number| bounds.contains(number)).ok_or_else(|| {
            let reason = format!("must be a whole number from {} to {}", bounds.start(), bounds.end());
            self.wrong(name, &reason)
        })
    }
}

/// Whether this may be a name: names travel in URLs and NATS subjects.
pub(super) fn check_name(path: &str, name: &str, chars: usize) -> Result<(), Invalid> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if name.is_empty() || name.len() > chars || !name.bytes().all(legal) {
        let reason =
            format!("must be 1 to {chars} characters of A-Z, a-z, 0-9, _ and -, and {name:?} is not");
        return Err(Invalid::field(path, reason));
    }
    Ok(())
}
