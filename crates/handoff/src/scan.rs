//! Makes a package of an iteration that is on disk, for people who have the files but not the package.
//!
//! It guesses as little as it can: which samples failed is what evaluations, summary and report say.

use crate::{
    Files, Part, Refusal, RefusalKind, SafePath,
    files::FileError,
    iteration::hash_of,
    package::{INDEX, SUGGESTIONS},
    part::{SAMPLES, SUMMARY, iteration_of, sample_of},
    problem::code,
    report, summary,
};
use cardwire_model::limits::{HANDOFF_ENTRIES, HANDOFF_FILE_BYTES};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};

/// Members of an entry that are taken over from what somebody wrote about the sample.
const ABOUT: [&str; 4] = ["failure_type", "conversation_turns", "checkers_failed", "priority"];

/// The `execute_to_init` package of a directory below the root. `about` has the fields that a person gives, such as
/// `timestamp`, `trigger_reason` and `modification_suggestions_summary`; they come before what is found.
pub fn package_from_directory(files: &dyn Files, dir: &str, about: Value) -> Result<Value, Refusal> {
    let dir = SafePath::parse(dir).map_err(|error| {
        Refusal::new(RefusalKind::Invalid, code::UNSAFE_PATH, Some("execution_output_dir"), error.to_string())
    })?;
    let Value::Object(about) = about else {
        return Err(Refusal::request("about", "must be an object"));
    };
    let files = files.kept();
    let scan = Scan { files: &*files, dir: &dir };
    let report_path = about
        .get(Part::Report.path_field())
        .and_then(Value::as_str)
        .map_or_else(|| Part::Report.file(""), str::to_owned);
    let report = scan.json(&report_path)?.unwrap_or_default();
    let summary = scan.json(SUMMARY)?.unwrap_or_default();
    let known = Known { affected: report::affected(&report), listed: listed(&summary) };
    let (total, entries) = scan.samples(&known)?;

    let mut package = json!({
        "version": "2.0",
        "handoff_type": crate::types::EXECUTE_TO_INIT,
        "metadata": {},
        "execution_output_dir": dir,
        "iteration_summary": { "total_samples": total, "failed_samples": entries.len() },
        INDEX: entries.into_values().collect::<Vec<_>>(),
        "layer1_problems_report_path": report_path,
        SUGGESTIONS: [],
    });
    if let Some(number) = iteration_of(&dir) {
        package["iteration_summary"]["total_iterations"] = json!(number);
    }
    for (key, value) in about {
        package[key] = value;
    }
    Ok(package)
}

/// What report and summary say of samples.
struct Known<'a> {
    /// The worst severity of the problems that affect a sample.
    affected: HashMap<&'a str, &'static str>,
    /// What the summary says of a sample, if it says anything.
    listed: HashMap<&'a str, Option<&'a Map<String, Value>>>,
}

/// The failed samples of a summary: entries of an index, or ids under any member whose name says so.
fn listed(summary: &Value) -> HashMap<&str, Option<&Map<String, Value>>> {
    let mut listed = HashMap::new();
    let lists = summary::listed(summary).into_iter().chain(
        ["failed_samples", "failed_sample_ids", "failures"]
            .into_iter()
            .filter_map(|key| summary.get(key)?.as_array().map(Vec::as_slice)),
    );
    for item in lists.flatten() {
        match item {
            Value::String(id) => {
                listed.entry(id.as_str()).or_insert(None);
            }
            Value::Object(map) => {
                if let Some(id) = map.get("sample_id").and_then(Value::as_str) {
                    listed.insert(id, Some(map));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {}
        }
    }
    listed
}

/// A directory that is looked through.
struct Scan<'a> {
    files: &'a dyn Files,
    dir: &'a SafePath,
}

impl Scan<'_> {
    /// How many samples there are, and the entries of those that failed, by their ids.
    fn samples(&self, known: &Known<'_>) -> Result<(u64, BTreeMap<String, Value>), Refusal> {
        let mut total = 0;
        let mut entries = BTreeMap::new();
        let mut refusal = None;
        let listed = self.files.list(&summary::join(self.dir, SAMPLES)?, &mut |name| {
            let Some(id) = sample_of(name) else { return Ok(()) };
            total += 1;
            match self.entry(id, known) {
                Ok(entry) => entries.extend(entry.map(|entry| (id.to_owned(), entry))),
                Err(refused) => {
                    refusal = Some(refused);
                    return Err(FileError::Missing);
                }
            }
            if entries.len() > HANDOFF_ENTRIES {
                return Err(FileError::TooLarge { limit: HANDOFF_ENTRIES as u64 });
            }
            Ok(())
        });
        match (refusal, listed) {
            (Some(refusal), _) => Err(refusal),
            (None, Ok(())) if total == 0 => Err(FileError::Missing.refusal(SAMPLES)),
            (None, Ok(())) => Ok((total, entries)),
            (None, Err(FileError::TooLarge { limit })) => {
                let message = format!("more than {limit} samples failed");
                Err(Refusal::new(RefusalKind::TooLarge, code::PACKAGE_TOO_LARGE, None, message))
            }
            (None, Err(error)) => Err(error.refusal(SAMPLES)),
        }
    }

    /// The entry of a sample that failed; none for one that passed.
    fn entry(&self, id: &str, known: &Known<'_>) -> Result<Option<Value>, Refusal> {
        let unsafe_id = |error: crate::UnsafePath| {
            Refusal::new(RefusalKind::Invalid, code::UNSAFE_PATH, None, error.to_string()).about(SAMPLES)
        };
        let evaluation_file = Part::Evaluation.path(id).map_err(unsafe_id)?;
        let evaluation = self.read(evaluation_file.as_str())?;
        let evaluation_value =
            evaluation.as_deref().and_then(|bytes| summary::parse(bytes).ok()).unwrap_or_default();
        let listed = known.listed.get(id);
        let failed = evaluation_value.get("passed") == Some(&Value::Bool(false));
        if !failed && listed.is_none() && !known.affected.contains_key(id) {
            return Ok(None);
        }
        let mut entry = Map::new();
        let mut hashes = Map::new();
        entry.insert("sample_id".to_owned(), id.into());
        let mut trace = Value::Null;
        for part in Part::CASE {
            let file = part.file(id);
            let bytes = if part == Part::Evaluation { evaluation.clone() } else { self.read(&file)? };
            entry.insert(part.path_field().to_owned(), file.into());
            // A file that is missing has no hash, and the gate will name it.
            let Some(bytes) = bytes else { continue };
            hashes.insert(part.as_str().to_owned(), hash_of(&bytes).into());
            if part == Part::Trace {
                trace = summary::parse(&bytes).unwrap_or_default();
            }
        }
        entry.insert("sha256".to_owned(), Value::Object(hashes));
        let said = listed.copied().flatten();
        for key in ABOUT {
            let value = said.and_then(|said| said.get(key)).or_else(|| evaluation_value.get(key));
            let value = value.cloned().or_else(|| match key {
                "conversation_turns" => turns(&trace).map(Value::from),
                "checkers_failed" => failed_checkers(&evaluation_value),
                "priority" => known.affected.get(id).map(|severity| priority(severity).into()),
                _ => None,
            });
            entry.extend(value.map(|value| (key.to_owned(), value)));
        }
        Ok(Some(Value::Object(entry)))
    }

    /// A file that is there or not; anything else is a refusal.
    fn read(&self, below: &str) -> Result<Option<Vec<u8>>, Refusal> {
        match self.files.read(&summary::join(self.dir, below)?, HANDOFF_FILE_BYTES) {
            Ok(bytes) => Ok(Some(bytes).filter(|bytes| !bytes.is_empty())),
            Err(FileError::Missing) => Ok(None),
            Err(error) => Err(error.refusal(below)),
        }
    }

    fn json(&self, below: &str) -> Result<Option<Value>, Refusal> {
        let Some(bytes) = self.read(below)? else { return Ok(None) };
        summary::parse(&bytes).map(Some).map_err(|reason| {
            let message = format!("{below}: {reason}");
            Refusal::new(RefusalKind::Unprocessable, code::INVALID_FILE, None, message).about(below)
        })
    }
}

fn turns(trace: &Value) -> Option<usize> {
    let keys = ["conversation_history", "turns", "messages"];
    keys.into_iter().find_map(|key| trace.get(key)?.as_array()).map(Vec::len)
}

/// `checkers: [{name, passed: false}]`, as evaluations often have it.
fn failed_checkers(evaluation: &Value) -> Option<Value> {
    let checkers = evaluation.get("checkers")?.as_array()?;
    let failed = checkers.iter().filter(|checker| checker.get("passed") == Some(&Value::Bool(false)));
    Some(failed.filter_map(|checker| checker.get("name").filter(|name| name.is_string()).cloned()).collect())
}

fn priority(severity: &str) -> &'static str {
    match severity {
        "critical" | "high" => "high",
        "medium" => "medium",
        _ => "low",
    }
}
