//! Every numbered invariant of `docs/protocol.md` stands in the code that upholds it and in a test that checks it.

use super::{Problems, SourceFile};

const DOCUMENT: &str = "docs/protocol.md";

/// Each number in document, code and test.
pub(super) fn are_upheld_and_tested(files: &[SourceFile]) -> Problems {
    let Some(document) = files.iter().find(|file| file.path == DOCUMENT) else {
        return vec![format!("{DOCUMENT}: is missing; it numbers the invariants")];
    };
    let numbers = numbered(&document.text);
    if numbers.is_empty() {
        return vec![format!("{DOCUMENT}: has no numbered list under `## Invariants`")];
    }
    let (tests, code): (Vec<_>, Vec<_>) = files
        .iter()
        .filter(|file| file.is_rust() && file.path.starts_with("crates/"))
        .partition(|file| file.path.contains("/tests/"));
    let mut problems = vec![];
    for number in numbers {
        if !code.iter().any(|file| mentions(&file.text, number)) {
            problems.push(format!(
                "{DOCUMENT}: invariant {number} is named nowhere in the code; say where it is upheld"
            ));
        }
        if !tests.iter().any(|file| mentions(&file.text, number)) {
            problems
                .push(format!("{DOCUMENT}: invariant {number} is named in no test; say where it is checked"));
        }
    }
    problems
}

/// The numbers of the list under the heading.
fn numbered(document: &str) -> Vec<u32> {
    let section = document.split("\n## ").find(|part| part.starts_with("Invariants")).unwrap_or_default();
    let number = |line: &str| line.split_once(". ").and_then(|(number, _)| number.parse().ok());
    section.lines().filter_map(number).collect()
}

/// `invariant 3`, `Invariant 3:`, `invariant_3_…`, but not `invariant 31`.
fn mentions(text: &str, number: u32) -> bool {
    let text = text.to_lowercase();
    [format!("invariant {number}"), format!("invariant_{number}")].iter().any(|name| {
        text.match_indices(name.as_str())
            .any(|(at, found)| !text[at + found.len()..].starts_with(|next: char| next.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOC: &str =
        "# P\n\n## Invariants\n\nText.\n\n1. **One.** x\n2. **Two.** y\n\n## More\n\n3. not this\n";

    fn problems(code: &str, test: &str) -> usize {
        let files = [
            SourceFile::new(DOCUMENT, DOC),
            SourceFile::new("crates/a/src/lib.rs", code),
            SourceFile::new("crates/a/tests/it/main.rs", test),
        ];
        are_upheld_and_tested(&files).len()
    }

    #[test]
    fn a_number_that_is_missing_in_code_or_test_is_a_problem() {
        assert_eq!(
            problems("//! Invariant 1: a. Invariant 2: b.", "fn invariant_1_x() {} // invariant 2"),
            0
        );
        assert_eq!(problems("//! Invariant 1", "fn invariant_1_x() {} // invariant 2"), 1);
        assert_eq!(problems("//! Invariant 1, invariant 23", "invariant_1 invariant_2"), 1);
        assert_eq!(problems("", ""), 4);
    }

    #[test]
    fn without_the_document_nothing_is_known() {
        assert_eq!(are_upheld_and_tested(&[]).len(), 1);
    }
}
