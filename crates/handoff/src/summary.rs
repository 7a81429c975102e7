//! `failure_summary.json`: the summary of failed samples, and the complete index when the package's own is not (HO-06).

use crate::{
    Entry, Files, Package, Refusal, RefusalKind, SafePath, UnsafePath,
    files::FileError,
    package::{INDEX, read_list},
    part::SUMMARY,
    problem::code,
};
use cardwire_model::{CanonicalJson, limits::HANDOFF_FILE_BYTES};
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// Where what was in the file goes when there is no room for it beside the index.
const PREVIOUS: &str = "previous";

/// Puts the complete index beside the data. What the file says already is kept.
pub fn keep_complete_index(package: &Package, complete: &[Value], files: &dyn Files) -> Result<(), Refusal> {
    let Some(execution) = package.execution() else {
        return Err(Refusal::request("handoff_type", "only execute_to_init has an index"));
    };
    let path = path(&execution.dir)?;
    let found = match files.read(&path, HANDOFF_FILE_BYTES) {
        Ok(bytes) if bytes.is_empty() => None,
        Ok(bytes) => Some(parse(&bytes).map_err(|reason| corrupt(&reason))?),
        Err(FileError::Missing) => None,
        Err(error) => return Err(error.refusal(SUMMARY)),
    };
    if found.as_ref().is_some_and(|found| holds(found, complete)) {
        return Ok(());
    }
    let complete = merged(found.as_ref(), complete);
    let value = Value::Object(with_index(found, &complete));
    let text = CanonicalJson::from_value(&value).map_err(|invalid| {
        Refusal::new(RefusalKind::Invalid, code::INVALID_PACKAGE, None, invalid.to_string())
    })?;
    if text.as_bytes().len() as u64 > HANDOFF_FILE_BYTES {
        let message =
            format!("{SUMMARY} would have more than {HANDOFF_FILE_BYTES} bytes with the complete index");
        return Err(Refusal::new(RefusalKind::TooLarge, code::PACKAGE_TOO_LARGE, None, message));
    }
    files.replace(&path, text.as_bytes()).map_err(|error| error.write_refusal(SUMMARY))
}

/// Where the file is, below the root.
pub(crate) fn path(dir: &SafePath) -> Result<SafePath, Refusal> {
    join(dir, SUMMARY)
}

/// A path below the directory of an iteration.
pub(crate) fn join(dir: &SafePath, below: &str) -> Result<SafePath, Refusal> {
    dir.join(below).map_err(too_long)
}

/// A path below the directory is no path any more.
pub(crate) fn too_long(error: UnsafePath) -> Refusal {
    Refusal::new(RefusalKind::Invalid, code::UNSAFE_PATH, Some("execution_output_dir"), error.to_string())
}

/// Reads JSON as strictly as cards are read, so that whatever is loaded can be kept as one.
pub(crate) fn canonical(bytes: &[u8]) -> Result<CanonicalJson, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("not UTF-8: {error}"))?;
    CanonicalJson::parse(text, "content").map_err(|invalid| format!("not JSON: {invalid}"))
}

/// The same as a tree.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, String> {
    Ok(canonical(bytes)?.to_value())
}

/// The entries of the complete index: under its key, or the file itself.
pub(crate) fn listed(summary: &Value) -> Option<&[Value]> {
    match summary {
        Value::Array(list) => Some(list),
        Value::Object(map) => map.get(INDEX)?.as_array().map(Vec::as_slice),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// The same, read.
pub(crate) fn entries(summary: &Value) -> Option<Vec<Entry>> {
    read_list(listed(summary)?, SUMMARY)
}

/// Whether every entry is there as it is.
fn holds(summary: &Value, complete: &[Value]) -> bool {
    let Some(listed) = listed(summary) else { return false };
    let by_id: HashMap<&str, &Value> =
        listed.iter().filter_map(|entry| Some((entry.get("sample_id")?.as_str()?, entry))).collect();
    let is_there = |entry: &Value| {
        let id = entry.get("sample_id").and_then(Value::as_str);
        id.and_then(|id| by_id.get(id)).is_some_and(|found| *found == entry)
    };
    complete.iter().all(is_there)
}

/// The index with what the file's own index lists besides: a package that came before still refers to it.
fn merged(found: Option<&Value>, complete: &[Value]) -> Vec<Value> {
    let id = |entry: &Value| entry.get("sample_id").and_then(Value::as_str).map(str::to_owned);
    let new: HashSet<Option<String>> = complete.iter().map(id).collect();
    let own = found.and_then(|found| found.get(INDEX)?.as_array()).map(Vec::as_slice).unwrap_or_default();
    // What is no index by our rules is put aside as it is.
    let own = if read_list(own, SUMMARY).is_some() { own } else { &[] };
    let others = own.iter().filter(|entry| !new.contains(&id(entry)));
    complete.iter().chain(others).cloned().collect()
}

fn with_index(found: Option<Value>, complete: &[Value]) -> Map<String, Value> {
    let (mut map, displaced) = match found {
        None => (Map::new(), None),
        Some(Value::Object(mut map)) => {
            let displaced = map.remove(INDEX);
            (map, displaced)
        }
        Some(other) => (Map::new(), Some(other)),
    };
    if let Some(displaced) = displaced {
        map.insert(free_key(&map), displaced);
    }
    map.insert(INDEX.to_owned(), Value::Array(complete.to_vec()));
    map
}

/// `previous`, `previous_2`, …: what was put aside before stays where it is.
fn free_key(map: &Map<String, Value>) -> String {
    let names = std::iter::once(PREVIOUS.to_owned()).chain((2_u64..).map(|n| format!("{PREVIOUS}_{n}")));
    names.into_iter().find(|name| !map.contains_key(name)).unwrap_or_else(|| PREVIOUS.to_owned())
}

fn corrupt(reason: &str) -> Refusal {
    let message = format!("{SUMMARY}: {reason}");
    Refusal::new(RefusalKind::Unprocessable, code::INVALID_FILE, None, message).about(SUMMARY)
}
