//! The limits that a user can meet, read from the source that names them: their words are their doc comments.

use super::{head, row};

const SOURCE: &str = include_str!("../../../model/src/limits.rs");

/// Limits of the machinery, which nobody outside meets as such.
const INSIDE: [&str; 34] = [
    "KIB",
    "MIB",
    "SEGMENT_DEPTH",
    "OWN_FILES",
    "STORE_WAIT_SECONDS",
    "ACCEPTED_TOKENS",
    "COUNTED_ADDRESSES",
    "EVENT_PAGE",
    "SEAL_ROWS",
    "READY_SECONDS",
    "READY_SHARED_MS",
    "MARK_SECONDS",
    "LOG_SECONDS",
    "LOG_FAILURES",
    "DAMAGED_NAMED",
    "DECIDE_ATTEMPTS",
    "AT_ONCE_BYTES",
    "POISON_ROWS",
    "RECALLED_TURNS",
    "RECALLED_AGENTS",
    "RECALL_PAUSE_MS",
    "BRANCH_ATTEMPTS",
    "REMAINS_ENTRIES",
    "BRANCH_PAGE",
    "DELETED_CARDS",
    "SEARCHED_GRANTS",
    "EXPLAINED_VERSIONS",
    "OPENED_SUMMARIES",
    "WATCHDOG_PAGE",
    "MEASURED_PAGES",
    "EXPERIENCE_TURNS",
    "EXPERIENCE_CANDIDATES",
    "HANDOFF_PROBLEMS",
    "SCHEMA_MISFITS",
];

/// A limit as its source has it.
struct Limit {
    name: String,
    value: String,
    words: String,
}

/// The table of limits.
pub(super) fn table() -> String {
    let limits = read();
    let mut page = head(["limit", "value", "of what"]);
    for limit in limits.iter().filter(|limit| !INSIDE.contains(&limit.name.as_str())) {
        let value = number(&limit.value, &limits).map_or_else(|| limit.value.clone(), grouped);
        let words = words(&limit.words, &limits);
        page += &row([&format!("`{}`", limit.name), &value, &words]);
    }
    page
}

fn read() -> Vec<Limit> {
    let (mut limits, mut words) = (vec![], String::new());
    for line in SOURCE.lines() {
        if let Some(text) = line.strip_prefix("/// ") {
            words += text;
            words.push(' ');
        } else if let Some((name, rest)) = constant(line).filter(|(name, _)| *name != "_") {
            let value = rest.split_once('=').map_or("", |(_, value)| value).trim_end_matches(';').trim();
            let words = std::mem::take(&mut words);
            limits.push(Limit { name: name.to_owned(), value: value.to_owned(), words });
        } else {
            words.clear();
        }
    }
    limits
}

fn constant(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("pub const ").or_else(|| line.strip_prefix("const "))?.split_once(':')
}

/// The value of a product of numbers and other limits.
fn number(text: &str, limits: &[Limit]) -> Option<u64> {
    let factor = |factor: &str| {
        let factor = factor.split(" as ").next()?.trim().replace('_', "");
        let named = || limits.iter().find(|limit| limit.name.replace('_', "") == factor);
        factor.parse().ok().or_else(|| number(&named()?.value, limits))
    };
    text.split('*').map(factor).product()
}

/// Thousands with a comma between them.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// "See [`X`]." becomes what X says; links become names.
fn words(text: &str, limits: &[Limit]) -> String {
    let text = text.trim();
    let same = text.strip_prefix("See [`").and_then(|rest| rest.strip_suffix("`]."));
    let same = same.and_then(|name| limits.iter().find(|limit| limit.name == name));
    same.map_or(text, |limit| limit.words.trim()).replace("[`", "`").replace("`]", "`")
}

#[test]
fn every_limit_has_a_value_and_words() {
    let limits = read();
    for limit in &limits {
        assert!(number(&limit.value, &limits).is_some(), "{} = {}", limit.name, limit.value);
        assert!(!limit.words.is_empty() || limit.name.ends_with("IB"), "{} has no words", limit.name);
    }
    let unknown: Vec<_> =
        INSIDE.iter().filter(|name| !limits.iter().any(|limit| limit.name == **name)).collect();
    assert!(unknown.is_empty(), "no limits any more: {unknown:?}");
}
