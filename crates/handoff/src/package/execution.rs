//! `execute_to_init`: where an iteration is on disk, which samples failed, and what to do about it (HO-03 to HO-07).

use super::{Entry, Execution, safe_path};
use crate::{
    Part,
    fields::Fields,
    problem::{Findings, Place, code},
};
use cardwire_model::limits::{
    HANDOFF_ENTRIES, HANDOFF_INDEX_TEXT_CHARS, HANDOFF_SUGGESTION_CHARS, HANDOFF_SUGGESTIONS,
    HANDOFF_SUGGESTIONS_MIN,
};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// The field of the index.
pub(crate) const INDEX: &str = "failure_samples_index";
/// The field of the suggestions.
pub(crate) const SUGGESTIONS: &str = "modification_suggestions_summary";

/// Members of an entry that would carry what belongs into files (HO-05).
const INLINE: [&str; 5] = ["content", "conversation_history", "trace", "sample", "tool_calls"];

pub(super) fn read(fields: &Fields<'_>, findings: &mut Findings) -> Option<Execution> {
    let dir = fields.string(findings, "execution_output_dir");
    let dir = dir.and_then(|dir| safe_path(dir, "execution_output_dir", findings));
    fields.text(findings, "trigger_reason");
    let summary = fields.object(findings, "iteration_summary");
    let index = index(fields, findings);
    let key = Part::Report.path_field();
    let report = fields.string(findings, key);
    let report = report.and_then(|report| safe_path(report, key, findings));
    suggestions(fields, findings);
    let execution = Execution { dir: dir?, report: report?, index: index? };
    check_summary(summary?, &execution, findings);
    Some(execution)
}

fn index(fields: &Fields<'_>, findings: &mut Findings) -> Option<Vec<Entry>> {
    let objects = fields.objects(findings, INDEX)?;
    if objects.len() > HANDOFF_ENTRIES {
        fields.error(findings, INDEX, format!("has at most {HANDOFF_ENTRIES} entries"));
        return None;
    }
    if objects.is_empty() {
        fields.warning(findings, "empty_index", INDEX, "names no failed sample");
    }
    let mut entries = Vec::with_capacity(objects.len());
    let mut ids = HashSet::new();
    for (at, map) in objects {
        check_inline(&at, map, findings);
        let entry = Fields { map, at: &at, ..*fields };
        if let Some(read) = Entry::read(&entry, findings) {
            if !ids.insert(read.sample_id.clone()) {
                entry.error(findings, "sample_id", format!("{} is there already", read.sample_id));
            }
            entries.push(read);
        }
    }
    Some(entries)
}

/// HO-05: an entry refers to files, it does not quote them.
fn check_inline(at: &str, entry: &Map<String, Value>, findings: &mut Findings) {
    for key in INLINE.into_iter().filter(|key| entry.contains_key(*key)) {
        let field = format!("{at}/{key}");
        let message = "is content; leave it in its file and give the path";
        findings.error(code::INLINE_CONTENT, Place::field(&field), message);
    }
    for (key, value) in entry {
        if is_long(key) || holds_long_text(value) {
            let key: String = key.chars().take(64).collect();
            let field = format!("{at}/{key}");
            let message = format!("holds a text of more than {HANDOFF_INDEX_TEXT_CHARS} characters");
            findings.error(code::INLINE_CONTENT, Place::field(&field), message);
        }
    }
}

fn holds_long_text(value: &Value) -> bool {
    match value {
        Value::String(text) => is_long(text),
        Value::Array(items) => items.iter().any(holds_long_text),
        Value::Object(members) => members.iter().any(|(key, value)| is_long(key) || holds_long_text(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn is_long(text: &str) -> bool {
    text.chars().count() > HANDOFF_INDEX_TEXT_CHARS
}

/// HO-07
fn suggestions(fields: &Fields<'_>, findings: &mut Findings) {
    let Some(texts) = fields.texts(findings, SUGGESTIONS) else { return };
    if texts.len() > HANDOFF_SUGGESTIONS {
        let message = format!("has at most {HANDOFF_SUGGESTIONS} suggestions; the rest go into the report");
        fields.error(findings, SUGGESTIONS, message);
    }
    if texts.len() < HANDOFF_SUGGESTIONS_MIN {
        let message = format!("should have {HANDOFF_SUGGESTIONS_MIN} to {HANDOFF_SUGGESTIONS} suggestions");
        fields.warning(findings, "few_suggestions", SUGGESTIONS, message);
    }
    for (index, text) in texts.iter().enumerate() {
        let key = format!("{SUGGESTIONS}/{index}");
        if text.trim().is_empty() {
            fields.error(findings, &key, "must not be blank");
        }
        if text.chars().count() > HANDOFF_SUGGESTION_CHARS {
            fields.error(findings, &key, format!("has at most {HANDOFF_SUGGESTION_CHARS} characters"));
        }
    }
}

/// Sums that do not add up are for people to look at.
fn check_summary(summary: &Map<String, Value>, execution: &Execution, findings: &mut Findings) {
    let number = |key: &str| summary.get(key).and_then(Value::as_u64);
    let mut warn = |key: &str, message: String| {
        let field = format!("iteration_summary/{key}");
        findings.warning("summary_mismatch", Place::field(&field), message);
    };
    let (failed, total, listed) =
        (number("failed_samples"), number("total_samples"), execution.index.len() as u64);
    if let Some(failed) = failed.filter(|failed| *failed != listed) {
        warn("failed_samples", format!("says {failed}, and the index names {listed}"));
    }
    if let (Some(failed), Some(total)) = (failed, total)
        && failed > total
    {
        warn("failed_samples", format!("says {failed} of {total}"));
    }
}
