//! Reads members of JSON objects and notes everything that is wrong with them, instead of stopping at the first.

use crate::problem::{Findings, Place};
use serde_json::{Map, Value};

/// An object and where it is.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    pub(crate) map: &'a Map<String, Value>,
    /// Its path, empty for the outermost.
    pub(crate) at: &'a str,
    /// The file it was read from.
    pub(crate) file: Option<&'a str>,
    /// The code of errors in it.
    pub(crate) code: &'static str,
}

impl<'a> Fields<'a> {
    /// The path of a member.
    pub(crate) fn path(&self, key: &str) -> String {
        if self.at.is_empty() { key.to_owned() } else { format!("{}/{key}", self.at) }
    }

    pub(crate) fn error(&self, findings: &mut Findings, key: &str, message: impl Into<String>) {
        findings.error(self.code, Place { file: self.file, field: Some(&self.path(key)) }, message);
    }

    pub(crate) fn warning(
        &self,
        findings: &mut Findings,
        code: &'static str,
        key: &str,
        message: impl Into<String>,
    ) {
        findings.warning(code, Place { file: self.file, field: Some(&self.path(key)) }, message);
    }

    /// A member that must be there, as `read` sees it.
    fn required<T>(
        &self,
        findings: &mut Findings,
        key: &str,
        expected: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let Some(value) = self.map.get(key) else {
            self.error(findings, key, "is missing");
            return None;
        };
        let read = read(value);
        if read.is_none() {
            self.error(findings, key, format!("must be {expected}"));
        }
        read
    }

    /// A text that may be empty.
    pub(crate) fn string(&self, findings: &mut Findings, key: &str) -> Option<&'a str> {
        self.required(findings, key, "a string", Value::as_str)
    }

    /// A text that says something.
    pub(crate) fn text(&self, findings: &mut Findings, key: &str) -> Option<&'a str> {
        let text = self.string(findings, key)?;
        if text.trim().is_empty() {
            self.error(findings, key, "must not be blank");
            return None;
        }
        Some(text)
    }

    pub(crate) fn object(&self, findings: &mut Findings, key: &str) -> Option<&'a Map<String, Value>> {
        self.required(findings, key, "an object", Value::as_object)
    }

    pub(crate) fn list(&self, findings: &mut Findings, key: &str) -> Option<&'a [Value]> {
        self.required(findings, key, "a list", |value| value.as_array().map(Vec::as_slice))
    }

    /// A whole number that is not negative.
    pub(crate) fn count(&self, findings: &mut Findings, key: &str) -> Option<u64> {
        self.required(findings, key, "a whole number, zero or more", Value::as_u64)
    }

    pub(crate) fn number(&self, findings: &mut Findings, key: &str) -> Option<f64> {
        self.required(findings, key, "a number", Value::as_f64)
    }

    /// A list of texts.
    pub(crate) fn texts(&self, findings: &mut Findings, key: &str) -> Option<Vec<&'a str>> {
        let list = self.list(findings, key)?;
        self.texts_of(findings, key, list)
    }

    fn texts_of(&self, findings: &mut Findings, key: &str, list: &'a [Value]) -> Option<Vec<&'a str>> {
        let mut texts = Vec::with_capacity(list.len());
        for (index, item) in list.iter().enumerate() {
            match item.as_str() {
                Some(text) => texts.push(text),
                None => self.error(findings, &format!("{key}/{index}"), "must be a string"),
            }
        }
        (texts.len() == list.len()).then_some(texts)
    }

    /// The members of a list of objects, each with its path. What is no object is noted and left out.
    pub(crate) fn objects(
        &self,
        findings: &mut Findings,
        key: &str,
    ) -> Option<Vec<(String, &'a Map<String, Value>)>> {
        let list = self.list(findings, key)?;
        let mut objects = Vec::with_capacity(list.len());
        for (index, item) in list.iter().enumerate() {
            match item.as_object() {
                Some(object) => objects.push((self.path(&format!("{key}/{index}")), object)),
                None => self.error(findings, &format!("{key}/{index}"), "must be an object"),
            }
        }
        Some(objects)
    }

    /// Checks a member only if it is there and not null.
    pub(crate) fn optional(&self, key: &str, check: impl FnOnce(&Self)) {
        if self.map.get(key).is_some_and(|value| !value.is_null()) {
            check(self);
        }
    }
}
