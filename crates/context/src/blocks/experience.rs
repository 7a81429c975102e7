//! `experience__context`: what came of earlier sessions (EX-01, EX-02).

mod record;
mod told;

pub use record::{KnowledgeRef, Outcome, Record};
pub use told::{Told, TurnTold};

use super::{cut, one_line};
use serde_json::Value;
use std::collections::HashSet;

/// How many experiences the block shows unless somebody says otherwise.
pub const SHOWN: usize = 3;
/// How much of a summary is shown, in characters.
const SUMMARY_CHARS: usize = 100;

/// The experiences to show, each once and at most `k`. They come best first; with `prefer_success` successes go before
/// everything else. What was chosen may be given again with what is found after it: that chooses as if of all at once.
pub fn choose(found: Vec<Record>, k: usize, prefer_success: bool) -> Vec<Record> {
    let mut seen = HashSet::new();
    let mut records: Vec<Record> =
        found.into_iter().filter(|record| seen.insert(record.session_id.clone())).collect();
    if prefer_success {
        records.sort_by_key(|record| record.outcome != Outcome::Success);
    }
    records.truncate(k);
    records
}

/// Whether nothing that is found after these can take the place of one of them.
pub fn is_settled(chosen: &[Record], k: usize, prefer_success: bool) -> bool {
    let stays = |record: &Record| !prefer_success || record.outcome == Outcome::Success;
    chosen.len() >= k && chosen.iter().all(stays)
}

/// The block.
pub fn render(records: &[Record]) -> String {
    if records.is_empty() {
        return String::new();
    }
    let shown = records.iter().enumerate().map(|(index, record)| experience(index + 1, record));
    format!("# Experience Context\n\n## Similar Experiences{}", shown.collect::<String>())
}

/// What an experience is found by.
pub fn search_text(record: &Record) -> String {
    let outcome = match record.outcome {
        // Nothing came of it yet.
        Outcome::Pending => "",
        Outcome::Success | Outcome::Failure | Outcome::Partial => record.outcome.as_str(),
    };
    let lines = [&record.goal, outcome, &record.summary, &record.tools.join(", "), &record.agents.join(", ")];
    let lines: Vec<_> = lines.into_iter().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

fn experience(number: usize, record: &Record) -> String {
    let summary = one_line(&record.summary);
    let references = match record.knowledge_refs.len() {
        0 => String::new(),
        references => references.to_string(),
    };
    let lines = [
        ("Goal", one_line(&record.goal)),
        ("Outcome", record.outcome.as_str().to_owned()),
        ("Summary", cut(&summary, SUMMARY_CHARS).trim_end().to_owned()),
        ("Tools", one_line(&record.tools.join(", "))),
        ("Agents", one_line(&record.agents.join(", "))),
        ("Feedback", record.feedback.as_ref().map(feedback).unwrap_or_default()),
        ("Knowledge References", references),
    ];
    let mut text = format!("\n\n### Experience {number}");
    for (name, said) in lines {
        if !said.is_empty() {
            text.push_str(&format!("\n- {name}: {said}"));
        }
    }
    text
}

/// A text as it is, an object as `stars=5, comment=good`, by name.
fn feedback(value: &Value) -> String {
    let plain = |value: &Value| match value {
        Value::String(text) => one_line(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    };
    let Value::Object(members) = value else {
        return plain(value);
    };
    let mut members: Vec<_> = members.iter().collect();
    members.sort_by_key(|(name, _)| *name);
    let members: Vec<_> =
        members.into_iter().map(|(name, value)| format!("{}={}", one_line(name), plain(value))).collect();
    members.join(", ")
}

#[cfg(test)]
mod tests;
