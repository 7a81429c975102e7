//! Reads the fields of an object and refuses those it does not know, by their paths.

use crate::ConfigError;
use serde_json::{Map, Value};

pub(super) struct Reader<'a> {
    path: String,
    fields: &'a Map<String, Value>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(path: &str, value: &'a Value, known: &[&str]) -> Result<Self, ConfigError> {
        let fields = value.as_object().ok_or_else(|| ConfigError::new(path, "must be an object"))?;
        let this = Self { path: path.to_owned(), fields };
        match fields.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => {
                let reason = format!("is no field here; there are {}", known.join(", "));
                Err(ConfigError::new(this.path(key), reason))
            }
            None => Ok(this),
        }
    }

    pub(super) fn path(&self, key: &str) -> String {
        format!("{}/{key}", self.path)
    }

    /// A field that is there; `null` stands for one that is not.
    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        self.fields.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn string(&self, key: &str) -> Result<Option<String>, ConfigError> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        self.typed(key, "must be a string", text)
    }

    pub(super) fn number(&self, key: &str) -> Result<Option<u64>, ConfigError> {
        self.typed(key, "must be a whole number from 0", Value::as_u64)
    }

    pub(super) fn list(&self, key: &str) -> Result<Option<&'a [Value]>, ConfigError> {
        let list = self.get(key).map(|value| value.as_array().map(Vec::as_slice));
        match list {
            Some(None) => Err(ConfigError::new(self.path(key), "must be a list")),
            Some(list) => Ok(list),
            None => Ok(None),
        }
    }

    fn typed<T>(
        &self,
        key: &str,
        reason: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| ConfigError::new(self.path(key), reason))
    }
}
