//! Loads one case and makes it fit (LD-04): first its trace is shortened, then its sample, evaluation and attribution;
//! then they are left out in the same order, because evaluation and attribution carry the cause.

use super::{Loader, PartRef, Text};
use crate::{Entry, Part, SafePath, files::FileError, summary};
use cardwire_model::limits::HANDOFF_FILE_BYTES;
use serde_json::Value;

/// What is given up first.
const GIVEN_UP: [Part; 4] = [Part::Trace, Part::Sample, Part::Evaluation, Part::Attribution];

/// A part that was read.
struct Candidate<'a> {
    part: Part,
    path: &'a str,
    whole: Text,
    short: Option<Text>,
    form: Form,
}

/// In which form a part is given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Whole,
    Short,
    Omitted,
}

impl Candidate<'_> {
    fn tokens(&self) -> u32 {
        match (self.form, &self.short) {
            (Form::Whole, _) | (Form::Short, None) => self.whole.tokens,
            (Form::Short, Some(short)) => short.tokens,
            (Form::Omitted, _) => 0,
        }
    }
}

impl Loader<'_> {
    pub(super) fn case(&mut self, entry: &Entry, parts: &[Part]) {
        let mut candidates = Vec::new();
        for &part in parts {
            let Some(path) = entry.path(part) else { continue };
            // What cannot fit is not read.
            if self.left() == 0 || self.bytes_left == 0 {
                self.load.omitted.push(part_ref(entry, part, path.as_str(), None, None));
                continue;
            }
            candidates.extend(self.candidate(entry, part, path));
        }
        self.shrink(entry, parts, &mut candidates);
        for candidate in candidates {
            self.settle(entry, candidate);
        }
    }

    /// Reads a part; what cannot be used is noted.
    fn candidate<'a>(&mut self, entry: &Entry, part: Part, file: &'a SafePath) -> Option<Candidate<'a>> {
        let path = file.as_str();
        let note = |error: Option<String>| part_ref(entry, part, path, None, error);
        let bytes = match self.read_path(file) {
            Ok(bytes) => bytes,
            Err(FileError::Missing) => {
                self.load.missing.push(note(None));
                return None;
            }
            // Too large for what this load may still read, not for a load of its own.
            Err(FileError::TooLarge { limit }) if limit < HANDOFF_FILE_BYTES => {
                self.load.omitted.push(note(None));
                return None;
            }
            Err(error) => {
                self.load.invalid.push(note(Some(error.to_string())));
                return None;
            }
        };
        if !entry.agrees(part, &bytes) {
            self.load.changed.push(note(Some("has changed since its hash was taken".to_owned())));
            return None;
        }
        // LD-08: what is no JSON is told as such, whatever it was before.
        let whole = match Text::parse(&bytes) {
            Ok(whole) => whole,
            Err(reason) => {
                self.load.invalid.push(note(Some(reason)));
                return None;
            }
        };
        if let Some(objection) = self.objection(entry, part, file, &bytes) {
            self.load.changed.push(note(Some(objection.to_owned())));
            return None;
        }
        Some(Candidate { part, path, whole, short: None, form: Form::Whole })
    }

    /// Why these bytes are not those that were accepted (HO-11).
    fn objection(&self, entry: &Entry, part: Part, file: &SafePath, bytes: &[u8]) -> Option<&'static str> {
        // It was read by this path a moment ago.
        let path = self.dir.join_path(file).ok()?;
        self.accepted.objection(&entry.sample_id, part, bytes, self.files, &path)
    }

    /// Gives up as little as is needed.
    fn shrink(&mut self, entry: &Entry, parts: &[Part], candidates: &mut [Candidate<'_>]) {
        if total(candidates) <= u64::from(self.left()) {
            return;
        }
        let key_turns = self.key_turns(entry, parts, candidates);
        for form in [Form::Short, Form::Omitted] {
            for part in GIVEN_UP {
                if total(candidates) <= u64::from(self.left()) {
                    return;
                }
                let Some(candidate) = candidates.iter_mut().find(|candidate| candidate.part == part) else {
                    continue;
                };
                if form == Form::Short {
                    candidate.short = candidate.whole.truncated(part, &key_turns);
                }
                candidate.form = form;
            }
        }
    }

    /// The turns that evaluation and attribution speak of (LD-05), whether or not these were asked for: which turns
    /// matter does not depend on what else is loaded.
    fn key_turns(&mut self, entry: &Entry, parts: &[Part], candidates: &[Candidate<'_>]) -> Vec<u64> {
        let mut turns = Vec::new();
        let has_turns = candidates.iter().any(|candidate| has_turns(candidate.part));
        for part in [Part::Evaluation, Part::Attribution] {
            match candidates.iter().find(|candidate| candidate.part == part) {
                Some(candidate) => collect(&candidate.whole.json.to_value(), &mut turns),
                // What was asked for and is no candidate cannot be used, and that is noted.
                None if has_turns && !parts.contains(&part) => {
                    self.aside(entry, part).iter().for_each(|value| collect(value, &mut turns));
                }
                None => {}
            }
        }
        turns.sort_unstable();
        turns.dedup();
        turns
    }

    /// A part that nobody asked for, read for the turns that it names: it is not loaded and takes no budget, only bytes.
    /// One that cannot be used names none, and that is no news to the reader.
    fn aside(&mut self, entry: &Entry, part: Part) -> Option<Value> {
        let path = entry.path(part)?;
        let bytes = self.read_path(path).ok()?;
        let is_same = entry.agrees(part, &bytes) && self.objection(entry, part, path, &bytes).is_none();
        summary::parse(&bytes).ok().filter(|_| is_same)
    }

    fn settle(&mut self, entry: &Entry, candidate: Candidate<'_>) {
        let Candidate { part, path, whole, short, form } = candidate;
        let note = |tokens: u32| part_ref(entry, part, path, Some(tokens), None);
        match (form, short) {
            (Form::Omitted, _) => self.load.omitted.push(note(whole.tokens)),
            (Form::Short, Some(short)) => {
                self.load.truncated.push(note(whole.tokens));
                self.push(Some(&entry.sample_id), part, path, short, true);
            }
            (Form::Whole, _) | (Form::Short, None) => {
                self.push(Some(&entry.sample_id), part, path, whole, false);
            }
        }
    }
}

fn part_ref(entry: &Entry, part: Part, path: &str, tokens: Option<u32>, error: Option<String>) -> PartRef {
    PartRef { sample_id: Some(entry.sample_id.clone()), part, path: path.to_owned(), tokens, error }
}

fn total(candidates: &[Candidate<'_>]) -> u64 {
    candidates.iter().map(|candidate| u64::from(candidate.tokens())).sum()
}

/// Whether a part tells the turns that others refer to.
fn has_turns(part: Part) -> bool {
    match part {
        Part::Sample | Part::Trace => true,
        Part::Report | Part::Evaluation | Part::Attribution => false,
    }
}

fn collect(value: &Value, turns: &mut Vec<u64>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                match (key.as_str(), member) {
                    ("turn_index", Value::Array(items)) => {
                        turns.extend(items.iter().filter_map(Value::as_u64))
                    }
                    ("turn_index", member) => turns.extend(member.as_u64()),
                    (_, member) => collect(member, turns),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, turns)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
