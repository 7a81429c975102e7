//! Which cases are loaded, and in which order (LD-03): those that the report calls typical, by the urgency of their
//! problem; then those of the index, by priority.

use super::{LoadRequest, Loader, Mode, PartRef};
use crate::{
    Entry, Package, Part, Refusal, RefusalKind,
    fit::by_priority,
    package::Execution,
    problem::{Findings, Place, code},
    report,
};
use serde_json::Value;
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

/// The samples that are asked for by name; none when all are.
fn wanted<'a>(request: &'a LoadRequest, typical: &[&'a str]) -> Option<HashSet<&'a str>> {
    match request.mode {
        Mode::ReportOnly | Mode::Full => None,
        Mode::Typical => Some(typical.iter().copied().collect()),
        Mode::Custom => Some(request.sample_ids.iter().map(String::as_str).collect()),
    }
}

/// The index to choose from: the package's own, unless that was shortened and does not name what is wanted.
pub(super) fn index<'a>(
    package: &Package,
    execution: &'a Execution,
    report: Option<&Value>,
    request: &LoadRequest,
    loader: &mut Loader<'_>,
) -> Cow<'a, [Entry]> {
    let needs_more = || {
        let typical = report.map(report::typical_cases).unwrap_or_default();
        let named: HashSet<&str> = execution.index.iter().map(|entry| entry.sample_id.as_str()).collect();
        match wanted(request, &typical) {
            None => request.mode == Mode::Full,
            Some(wanted) => !wanted.is_subset(&named),
        }
    };
    let complete = if package.is_truncated() && needs_more() { loader.complete_index() } else { None };
    complete.map_or(Cow::Borrowed(&execution.index), Cow::Owned)
}

pub(super) fn cases<'a>(
    index: &'a [Entry],
    report: Option<&Value>,
    request: &LoadRequest,
    loader: &mut Loader<'_>,
) -> Result<Vec<Cow<'a, Entry>>, Refusal> {
    if request.mode == Mode::ReportOnly {
        return Ok(vec![]);
    }
    let typical = report.map(report::typical_cases).unwrap_or_default();
    let wanted = wanted(request, &typical).unwrap_or_default();
    let by_id: HashMap<&str, &Entry> = index.iter().map(|entry| (entry.sample_id.as_str(), entry)).collect();

    if request.mode == Mode::Custom {
        refuse_unknown(&wanted, &by_id)?;
    }
    let mut cases = Vec::new();
    let mut taken = HashSet::new();
    let is_wanted = |id: &str| request.mode == Mode::Full || wanted.contains(id);
    for &id in typical.iter().filter(|id| is_wanted(id)) {
        match (by_id.get(id), request.mode) {
            (Some(&entry), _) if taken.insert(id) => cases.push(Cow::Borrowed(entry)),
            // The report may know a case that the index does not name: its files have the usual names.
            (None, Mode::Typical) => cases.extend(unnamed(id, loader).map(Cow::Owned)),
            (Some(_), _) | (None, Mode::ReportOnly | Mode::Full | Mode::Custom) => {}
        }
    }
    if request.mode != Mode::Typical {
        let rest = by_priority(index).into_iter().map(|at| &index[at]);
        let rest = rest.filter(|entry| is_wanted(&entry.sample_id) && taken.insert(entry.sample_id.as_str()));
        cases.extend(rest.map(Cow::Borrowed));
    }
    Ok(cases)
}

/// An id in a report may be anything, also a path that leads elsewhere.
fn unnamed(id: &str, loader: &mut Loader<'_>) -> Option<Entry> {
    match Entry::by_name(id) {
        Ok(entry) => Some(entry),
        Err(error) => {
            let (part, path) = (Part::Report, "typical_case_id".to_owned());
            let error = Some(error.to_string());
            loader.load.invalid.push(PartRef { sample_id: None, part, path, tokens: None, error });
            None
        }
    }
}

fn refuse_unknown(wanted: &HashSet<&str>, by_id: &HashMap<&str, &Entry>) -> Result<(), Refusal> {
    let mut unknown: Vec<&str> = wanted.iter().copied().filter(|id| !by_id.contains_key(id)).collect();
    unknown.sort_unstable();
    let Some(first) = unknown.first() else { return Ok(()) };
    let message = format!("the index names no sample {first}");
    let mut refusal = Refusal::new(RefusalKind::NotFound, code::UNKNOWN_SAMPLE, Some("sample_ids"), message);
    let mut findings = Findings::default();
    for id in &unknown {
        let message = format!("the index names no sample {id}");
        // The code decides nothing here: the findings only sort and bound what is named.
        findings.warning(code::UNKNOWN_SAMPLE, Place::field("sample_ids"), message);
    }
    refusal.problems = findings.finish()?;
    for problem in &mut refusal.problems {
        problem.severity = crate::Severity::Error;
    }
    Err(refusal)
}
