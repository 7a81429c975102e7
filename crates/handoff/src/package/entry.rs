//! One failed sample in an index: where its parts are and how much it matters (HO-04).

use super::safe_path;
use crate::{
    Part, SafePath,
    fields::Fields,
    part::check_sample_id,
    problem::{Findings, Place, code},
};
use cardwire_model::{Hash256, limits::NAME_CHARS};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Fewest digits of a hash: enough to see that a file was changed, short enough for an index.
const HASH_DIGITS: usize = 16;

/// How much a failed sample matters; the most important is the smallest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Read it first.
    High,
    /// Also what an entry has that does not say.
    Medium,
    /// Leave it out first.
    Low,
}

/// A failed sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Which sample.
    pub sample_id: String,
    /// How much it matters.
    pub priority: Priority,
    paths: BTreeMap<Part, SafePath>,
    /// Lowercase digits, or the first of them.
    hashes: BTreeMap<Part, String>,
}

impl Entry {
    /// Where a part is, below `execution_output_dir`. Every part of a case has a path.
    pub fn path(&self, part: Part) -> Option<&SafePath> {
        self.paths.get(&part)
    }

    /// Whether these are the bytes that the part had when the package was made. Without a hash nobody knows.
    pub fn agrees(&self, part: Part, bytes: &[u8]) -> bool {
        match self.hashes.get(&part) {
            Some(digits) => Hash256::of(bytes).to_string().starts_with(digits),
            None => true,
        }
    }

    /// An entry for a sample that no index names, by the names that its files have.
    pub(crate) fn by_name(sample_id: &str) -> Result<Self, crate::UnsafePath> {
        let paths: Result<_, _> =
            Part::CASE.into_iter().map(|part| Ok((part, part.path(sample_id)?))).collect();
        let (priority, hashes) = (Priority::Medium, BTreeMap::new());
        Ok(Self { sample_id: sample_id.to_owned(), priority, paths: paths?, hashes })
    }

    /// Reads an entry and notes what is wrong with it.
    pub(crate) fn read(fields: &Fields<'_>, findings: &mut Findings) -> Option<Self> {
        let sample_id = fields.text(findings, "sample_id").and_then(|id| check_id(fields, id, findings));
        let mut paths = BTreeMap::new();
        for part in Part::CASE {
            let key = part.path_field();
            let path = fields.string(findings, key);
            let path = path.and_then(|path| safe_path(path, &fields.path(key), findings));
            paths.extend(path.map(|path| (part, path)));
        }
        fields.optional("failure_type", |fields| {
            fields.string(findings, "failure_type");
        });
        fields.optional("conversation_turns", |fields| {
            fields.count(findings, "conversation_turns");
        });
        fields.optional("checkers_failed", |fields| {
            fields.texts(findings, "checkers_failed");
        });
        let priority = priority(fields, findings);
        let hashes = hashes(fields, findings);
        let complete = paths.len() == Part::CASE.len();
        complete.then_some(Self { sample_id: sample_id?.to_owned(), priority: priority?, paths, hashes })
    }
}

fn check_id<'a>(fields: &Fields<'_>, id: &'a str, findings: &mut Findings) -> Option<&'a str> {
    if id.chars().count() > NAME_CHARS {
        fields.error(findings, "sample_id", format!("has at most {NAME_CHARS} characters"));
        return None;
    }
    match check_sample_id(id) {
        Ok(()) => Some(id),
        Err(error) => {
            let field = fields.path("sample_id");
            findings.error(code::UNSAFE_PATH, Place::field(&field), error.to_string());
            None
        }
    }
}

fn priority(fields: &Fields<'_>, findings: &mut Findings) -> Option<Priority> {
    let Some(value) = fields.map.get("priority") else { return Some(Priority::Medium) };
    match value.as_str() {
        Some("high") => Some(Priority::High),
        Some("medium") => Some(Priority::Medium),
        Some("low") => Some(Priority::Low),
        Some(_) | None => {
            fields.error(findings, "priority", "must be high, medium or low");
            None
        }
    }
}

/// A hash that cannot be read would not be checked, hence it is an error and not an unknown field.
fn hashes(fields: &Fields<'_>, findings: &mut Findings) -> BTreeMap<Part, String> {
    let mut hashes = BTreeMap::new();
    let Some(given) = fields.map.get("sha256") else { return hashes };
    let Some(given) = given.as_object() else {
        fields.error(findings, "sha256", "must be an object of digests by part");
        return hashes;
    };
    for part in Part::CASE {
        let Some(value) = given.get(part.as_str()) else { continue };
        match value.as_str().filter(|digits| is_hash(digits)) {
            Some(digits) => drop(hashes.insert(part, digits.to_ascii_lowercase())),
            None => {
                let message = format!("must be {HASH_DIGITS} to 64 hexadecimal digits");
                fields.error(findings, &format!("sha256/{part}"), message);
            }
        }
    }
    hashes
}

fn is_hash(digits: &str) -> bool {
    (HASH_DIGITS..=64).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Reads the entries of an index that is kept in a file; nothing unless all of them can be read.
pub(crate) fn read_list(list: &[Value], file: &str) -> Option<Vec<Entry>> {
    let mut findings = Findings::default();
    let mut entries = Vec::with_capacity(list.len());
    for item in list {
        let fields = Fields { map: item.as_object()?, at: "", file: Some(file), code: code::INVALID_FILE };
        entries.push(Entry::read(&fields, &mut findings)?);
    }
    findings.finish().ok()?;
    Some(entries)
}
