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
use std::collections::{HashMap, HashSet};

pub(super) fn cases(
    package: &Package,
    execution: &Execution,
    report: Option<&Value>,
    request: &LoadRequest,
    loader: &mut Loader<'_>,
) -> Result<Vec<Entry>, Refusal> {
    let typical = report.map(report::typical_cases).unwrap_or_default();
    let wanted: HashSet<&str> = match request.mode {
        Mode::ReportOnly => return Ok(vec![]),
        Mode::Typical => typical.iter().copied().collect(),
        Mode::Full => HashSet::new(),
        Mode::Custom => request.sample_ids.iter().map(String::as_str).collect(),
    };
    let named: HashSet<&str> = execution.index.iter().map(|entry| entry.sample_id.as_str()).collect();
    // A shortened index is looked beyond only if it does not name what is wanted.
    let needs_more = request.mode == Mode::Full || !wanted.is_subset(&named);
    let complete = if package.is_truncated() && needs_more { loader.complete_index() } else { None };
    let index = complete.unwrap_or_else(|| execution.index.clone());
    let by_id: HashMap<&str, &Entry> = index.iter().map(|entry| (entry.sample_id.as_str(), entry)).collect();

    if request.mode == Mode::Custom {
        refuse_unknown(&wanted, &by_id)?;
    }
    let mut cases = Vec::new();
    let mut taken = HashSet::new();
    let is_wanted = |id: &str| request.mode == Mode::Full || wanted.contains(id);
    for &id in typical.iter().filter(|id| is_wanted(id)) {
        match (by_id.get(id), request.mode) {
            (Some(&entry), _) if taken.insert(id) => cases.push(entry.clone()),
            // The report may know a case that the index does not name: its files have the usual names.
            (None, Mode::Typical) => cases.extend(unnamed(id, loader)),
            (Some(_), _) | (None, Mode::ReportOnly | Mode::Full | Mode::Custom) => {}
        }
    }
    if request.mode != Mode::Typical {
        let rest = by_priority(&index).into_iter().map(|at| &index[at]);
        let rest = rest.filter(|entry| is_wanted(&entry.sample_id) && taken.insert(entry.sample_id.as_str()));
        cases.extend(rest.cloned());
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
