//! What the files of a package were when it was accepted (HO-11): a hash of each, by which a load knows a file that was
//! rewritten since.
//!
//! It must not know cards or stores: it is written and read as JSON. Invariant: of a package that was accepted with
//! fingerprints, no load gives a file that was not there then.

mod take;

use crate::{Files, Part, Problem, SafePath, Severity};
use cardwire_model::{Hash256, limits::HANDOFF_FINGERPRINTS};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

pub use take::HashAllowance;

/// Digits of a hash that are kept, as in an index.
const HASH_DIGITS: usize = 32;
/// The member of a document that holds the samples.
const SAMPLES: &str = "samples";

/// What a file was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fingerprint {
    /// The first digits of the hash of its bytes, or all of them.
    Hash(String),
    /// What can be seen without reading it: it was too much to be hashed.
    Look {
        bytes: u64,
        /// In microseconds since 1970, where that is known.
        modified: Option<i64>,
    },
}

/// What the files of a package were when it was accepted. The default is that nobody recorded it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fingerprints {
    report: Option<Fingerprint>,
    samples: BTreeMap<String, [Option<Fingerprint>; Part::CASE.len()]>,
    /// Every file that a load could give is recorded, so that one that is not was not there.
    complete: bool,
}

impl Fingerprints {
    /// What was recorded of a package: the hash of its report, and its documents. A package of before there were any has
    /// perhaps the lengths of some files, as `{sample: [bytes, …]}`.
    pub fn read(report: Option<&str>, lengths: &Value, documents: &[Value]) -> Self {
        let mut samples = BTreeMap::new();
        let listed = documents.iter().filter_map(|document| document[SAMPLES].as_object());
        for (sample, files) in listed.chain(lengths.as_object().filter(|_| documents.is_empty())).flatten() {
            let read = |n: usize| Fingerprint::read(&files[n]);
            samples.insert(sample.clone(), std::array::from_fn(read));
        }
        let report = report.map(|digits| Fingerprint::Hash(digits.to_owned()));
        Self { report, samples, complete: !documents.is_empty() }
    }

    /// The documents that keep what was recorded of samples: at least one, each short enough for a card.
    pub fn documents(&self) -> Vec<Value> {
        let file = |print: &Option<Fingerprint>| print.as_ref().map_or(Value::Null, Fingerprint::to_json);
        let sample = |(id, files): (&String, &[Option<Fingerprint>; 4])| {
            (id.clone(), Value::Array(files.iter().map(file).collect()))
        };
        let all: Vec<(String, Value)> = self.samples.iter().map(sample).collect();
        let document = |samples: &[(String, Value)]| json!({ SAMPLES: samples.iter().cloned().collect::<Map<String, Value>>() });
        if all.is_empty() {
            vec![document(&[])]
        } else {
            all.chunks(HANDOFF_FINGERPRINTS).map(document).collect()
        }
    }

    /// What the sender should know of files that were not hashed.
    pub fn warning(&self) -> Option<Problem> {
        let files = self.samples.values().flatten();
        let looked = files.filter(|file| matches!(file, Some(Fingerprint::Look { .. }))).count();
        (looked > 0).then(|| Problem {
            severity: Severity::Warning,
            code: "not_hashed",
            file: None,
            field: None,
            message: format!(
                "{looked} files were too much to be hashed; a later change of one of them is known by its length and time alone"
            ),
        })
    }

    /// Whether the package may give files of this sample at all.
    pub(crate) fn knows(&self, sample_id: &str) -> bool {
        !self.complete || self.samples.contains_key(sample_id)
    }

    /// Whether the report is the one that was accepted.
    pub(crate) fn agrees_with_report(&self, bytes: &[u8]) -> bool {
        self.report.as_ref().is_none_or(|print| print.agrees(bytes, || None))
    }

    /// Why a part is not the one that was accepted. `path` is below the root of `files`.
    pub(crate) fn objection(
        &self,
        sample_id: &str,
        part: Part,
        bytes: &[u8],
        files: &dyn Files,
        path: &SafePath,
    ) -> Option<&'static str> {
        let place = Part::CASE.iter().position(|case| *case == part);
        let print = place.and_then(|place| self.samples.get(sample_id)?.get(place)?.as_ref());
        match print {
            None if self.complete => Some("was not there when the package was accepted"),
            None => None,
            Some(print) => {
                let modified = || files.stat(path).ok().and_then(|stat| stat.modified);
                (!print.agrees(bytes, modified)).then_some("has changed since the package was accepted")
            }
        }
    }
}

impl Fingerprint {
    fn of(hash: Hash256) -> Self {
        let mut digits = hash.to_string();
        digits.truncate(HASH_DIGITS);
        Self::Hash(digits)
    }

    fn agrees(&self, found: &[u8], modified: impl FnOnce() -> Option<i64>) -> bool {
        match self {
            Self::Hash(digits) => Hash256::of(found).to_string().starts_with(digits),
            Self::Look { bytes, modified: was } => {
                found.len() as u64 == *bytes && (was.is_none() || modified() == *was)
            }
        }
    }

    /// Digits of a hash; or a length with a time; or a length.
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::String(digits) => Some(Self::Hash(digits.clone())),
            Value::Number(bytes) => Some(Self::Look { bytes: bytes.as_u64()?, modified: None }),
            Value::Array(look) => {
                let modified = look.get(1).and_then(Value::as_i64);
                Some(Self::Look { bytes: look.first()?.as_u64()?, modified })
            }
            Value::Null | Value::Bool(_) | Value::Object(_) => None,
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Hash(digits) => json!(digits),
            Self::Look { bytes, modified } => json!([bytes, modified]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_model::{CanonicalJson, limits::CARD_BYTES};

    fn prints(samples: usize, id: impl Fn(usize) -> String) -> Fingerprints {
        let look = Fingerprint::Look { bytes: 16 << 20, modified: Some(4_102_444_800_000_000) };
        let files = [Some(look), Some(Fingerprint::of(Hash256::ZERO)), None, None];
        let samples = (0..samples).map(|n| (id(n), files.clone())).collect();
        Fingerprints { report: None, samples, complete: true }
    }

    /// F-20, SEC-07
    #[test]
    fn as_many_samples_share_a_document_as_fit_into_a_card_and_all_are_read_again() {
        // A name of a file has at most 255 bytes, and a quotation mark takes two in JSON.
        let id = |n: usize| format!("{n:0>5}{}", "\"".repeat(245));
        for (samples, documents) in [(0, 1), (1, 1), (HANDOFF_FINGERPRINTS, 1), (HANDOFF_FINGERPRINTS + 1, 2)]
        {
            let prints = prints(samples, id);
            let made = prints.documents();
            assert_eq!(made.len(), documents, "{samples}");
            for document in &made {
                assert!(CanonicalJson::from_value(document).unwrap().as_bytes().len() < CARD_BYTES);
            }
            assert_eq!(Fingerprints::read(None, &Value::Null, &made), prints);
        }
    }

    /// F-20: what was accepted before there were fingerprints is held to what was recorded of it.
    #[test]
    fn a_package_of_before_is_known_by_its_report_and_the_lengths_of_its_files() {
        let old =
            Fingerprints::read(Some(&Hash256::of(b"r").to_string()), &json!({ "S": [1, 2, 3, 4] }), &[]);
        assert!(old.agrees_with_report(b"r") && !old.agrees_with_report(b"s"));
        assert!(old.knows("T") && old.warning().is_some());
        let nothing = Fingerprints::read(None, &Value::Null, &[]);
        assert_eq!(nothing, Fingerprints::default());
        assert!(nothing.agrees_with_report(b"x") && nothing.knows("x"));
    }
}
