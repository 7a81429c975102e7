//! Writes an iteration: every file once, whole and for good (HO-08, HO-11).
//!
//! Invariant: what is on disk never changes. The same content again is fine, so that whoever went down in the middle
//! starts anew; other content is refused.

use crate::{
    Files, Part, Refusal, RefusalKind, SafePath, check_report,
    files::FileError,
    part::{SUMMARY, iteration_of},
    problem::code,
    summary,
};
use cardwire_model::{
    CanonicalJson, Hash256,
    limits::{HANDOFF_FILE_BYTES, NAME_CHARS},
};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Digits of a hash in an index: all of them would be most of its tokens.
const HASH_DIGITS: usize = 32;

/// The directory of an iteration, to be filled.
pub struct Iteration<'a> {
    files: &'a dyn Files,
    dir: SafePath,
    hashes: HashMap<(String, Part), String>,
}

impl<'a> Iteration<'a> {
    /// An iteration in a directory below the root, named `iteration_<n>`. Nothing is written yet.
    pub fn open(files: &'a dyn Files, dir: &str) -> Result<Self, Refusal> {
        let dir = SafePath::parse(dir).map_err(|error| {
            Refusal::new(RefusalKind::Invalid, code::UNSAFE_PATH, Some("dir"), error.to_string())
        })?;
        if iteration_of(&dir).is_none() {
            return Err(Refusal::request("dir", "the directory of an iteration is named iteration_<n>"));
        }
        Ok(Self { files, dir, hashes: HashMap::new() })
    }

    /// Writes a part of a sample.
    pub fn put(&mut self, part: Part, sample_id: &str, content: &Value) -> Result<(), Refusal> {
        if part == Part::Report {
            return self.put_report(content);
        }
        check_id(sample_id)?;
        let inner = content.get("sample_id");
        if inner.is_some_and(|inner| inner.as_str() != Some(sample_id)) {
            return Err(Refusal::request("sample_id", format!("the content is not that of {sample_id}")));
        }
        let hash = self.write(&part.file(sample_id), content)?;
        self.hashes.insert((sample_id.to_owned(), part), hash);
        Ok(())
    }

    /// Writes the report, if it is one.
    pub fn put_report(&mut self, report: &Value) -> Result<(), Refusal> {
        check_report(report)?;
        self.write(&Part::Report.file(""), report).map(drop)
    }

    /// Writes the summary of failed samples.
    pub fn put_failure_summary(&mut self, content: &Value) -> Result<(), Refusal> {
        self.write(SUMMARY, content).map(drop)
    }

    /// An entry for the index: `about` with the id, the paths and the hashes of the sample. Its parts must be there.
    pub fn entry(&self, sample_id: &str, about: Value) -> Result<Value, Refusal> {
        check_id(sample_id)?;
        let Value::Object(mut entry) = about else {
            return Err(Refusal::request("about", "must be an object"));
        };
        let mut hashes = Map::new();
        entry.insert("sample_id".to_owned(), sample_id.into());
        for part in Part::CASE {
            let file = part.file(sample_id);
            let hash = match self.hashes.get(&(sample_id.to_owned(), part)) {
                Some(hash) => hash.clone(),
                // Written before we started anew.
                None => hash_of(&self.read(&file)?),
            };
            hashes.insert(part.as_str().to_owned(), hash.into());
            entry.insert(part.path_field().to_owned(), file.into());
        }
        entry.insert("sha256".to_owned(), Value::Object(hashes));
        Ok(Value::Object(entry))
    }

    fn write(&self, below: &str, content: &Value) -> Result<String, Refusal> {
        let text = CanonicalJson::from_value(content)
            .map_err(|invalid| Refusal::request("content", format!("{below}: {invalid}")))?;
        let bytes = text.as_bytes();
        if bytes.len() as u64 > HANDOFF_FILE_BYTES {
            let message = format!("{below}: a file has at most {HANDOFF_FILE_BYTES} bytes");
            return Err(Refusal::new(RefusalKind::TooLarge, code::INVALID_FILE, Some("content"), message));
        }
        let path = summary::join(&self.dir, below)?;
        self.files.create(&path, bytes).map_err(|error| error.write_refusal(below))?;
        Ok(hash_of(bytes))
    }

    fn read(&self, below: &str) -> Result<Vec<u8>, Refusal> {
        let path = summary::join(&self.dir, below)?;
        match self.files.read(&path, HANDOFF_FILE_BYTES) {
            Ok(bytes) if bytes.is_empty() => Err(FileError::Missing.refusal(below)),
            Ok(bytes) => Ok(bytes),
            Err(error) => Err(error.refusal(below)),
        }
    }
}

/// The digits of a hash that an index carries.
pub(crate) fn hash_of(bytes: &[u8]) -> String {
    let mut digits = Hash256::of(bytes).to_string();
    digits.truncate(HASH_DIGITS);
    digits
}

fn check_id(sample_id: &str) -> Result<(), Refusal> {
    if sample_id.chars().count() > NAME_CHARS {
        return Err(Refusal::request(
            "sample_id",
            format!("a sample_id has at most {NAME_CHARS} characters"),
        ));
    }
    crate::part::check_sample_id(sample_id).map_err(|error| {
        Refusal::new(RefusalKind::Invalid, code::UNSAFE_PATH, Some("sample_id"), error.to_string())
    })
}
