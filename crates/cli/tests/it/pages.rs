//! The pages below `docs/` are true: their shell lines work when they are pasted in order, and print what the page shows.
//!
//! Of a page, every `sh` block is run, and each line of a `text` block must be among what was printed; `…` stands for any
//! text. Blocks of any other kind are for reading.

use crate::support::{Backend, Home, paste};

#[test]
fn the_concepts_are_as_they_are_told() {
    run("concepts");
}

#[test]
fn a_worker_is_written_as_its_page_tells() {
    run("workers");
}

#[test]
fn work_is_delegated_as_its_page_tells() {
    run("delegation");
}

#[test]
fn sessions_and_contexts_are_as_their_page_tells() {
    run("sessions");
}

#[test]
fn knowledge_is_added_and_found_as_its_page_tells() {
    run("knowledge");
}

#[test]
fn trouble_is_told_in_the_words_of_its_page() {
    run("troubleshooting");
}

#[test]
fn what_a_page_shows_is_found_with_gaps_and_in_order_only() {
    let printed = "ID      STATUS\nturn_1  success  \n";
    assert_eq!(missing(printed, "turn_… success\nID STATUS"), None);
    assert_eq!(missing(printed, "turn_1\nsuccess … turn_1"), Some("success … turn_1".to_owned()));
    assert_eq!(missing(printed, "turn_1 failed"), Some("turn_1 failed".to_owned()));
}

fn run(name: &str) {
    let path = format!("{}/../../docs/{name}.md", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(path).unwrap();
    let blocks = blocks(&page);
    let lines: Vec<&str> = blocks.iter().filter(|(kind, _)| *kind == "sh").map(|(_, text)| *text).collect();
    let pasted = paste(&Home::new(Backend::Sqlite), &lines.concat());
    let printed = format!("{}\n{}", pasted.output, pasted.errors);
    for (_, shown) in blocks.iter().filter(|(kind, _)| *kind == "text") {
        if let Some(line) = missing(&printed, shown) {
            panic!("{name}.md shows `{line}`, which was not printed:\n{printed}");
        }
    }
}

/// The kind and text of each code block.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let mut found = vec![];
    let mut rest = page;
    while let Some((_, after)) = rest.split_once("\n```") {
        let (kind, after) = after.split_once('\n').unwrap();
        let (text, after) = after.split_once("```\n").expect("a block ends");
        found.push((kind, text));
        rest = after;
    }
    found
}

/// The first line of what is shown that was not printed.
fn missing(printed: &str, shown: &str) -> Option<String> {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let printed: Vec<String> = printed.lines().map(words).collect();
    let mut lines = shown.lines().map(words).filter(|line| !line.is_empty());
    lines.find(|line| !printed.iter().any(|printed| shows(printed, line)))
}

/// Whether a printed line has the parts around each `…`, in order.
fn shows(printed: &str, line: &str) -> bool {
    let mut rest = printed;
    line.split('…').map(str::trim).all(|part| match rest.split_once(part) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}
