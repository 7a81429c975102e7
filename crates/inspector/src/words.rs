//! Two texts compared word by word.

use maud::{Markup, html};
use std::collections::BTreeSet;

/// Longer texts are shown whole, one after the other: the comparison takes time by the product of both.
const WORDS: usize = 1_500;

/// What of a comparison a run of words is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Same,
    Gone,
    New,
}

/// The second text, with what of the first is gone and what is new.
pub(crate) fn compared(left: &str, right: &str) -> Markup {
    html! {
        @for (kind, text) in diff(left, right) {
            @match kind {
                Kind::Same => (text),
                Kind::Gone => del { (text) },
                Kind::New => ins { (text) },
            }
        }
    }
}

/// Whether two texts say one thing in other words: they have most of their words in common.
pub(crate) fn are_alike(left: &str, right: &str) -> bool {
    let words =
        |text: &str| -> BTreeSet<String> { text.split_whitespace().take(WORDS).map(str::to_owned).collect() };
    let (left, right) = (words(left), words(right));
    2 * left.intersection(&right).count() >= left.len().max(right.len())
}

fn diff(left: &str, right: &str) -> Vec<(Kind, String)> {
    let (left, right): (Vec<&str>, Vec<&str>) = (split(left), split(right));
    if left.len() > WORDS || right.len() > WORDS {
        return vec![(Kind::Gone, left.concat()), (Kind::New, right.concat())];
    }
    // lengths[i][j]: the longest run of words that the rest of both have in common, from i and j on.
    let mut lengths = vec![vec![0_u16; right.len() + 1]; left.len() + 1];
    for i in (0..left.len()).rev() {
        for j in (0..right.len()).rev() {
            lengths[i][j] = if left[i] == right[j] {
                lengths[i + 1][j + 1] + 1
            } else {
                lengths[i + 1][j].max(lengths[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut out) = (0, 0, vec![]);
    while i < left.len() || j < right.len() {
        let (kind, word) = match (left.get(i), right.get(j)) {
            (Some(a), Some(b)) if a == b => {
                j += 1;
                i += 1;
                (Kind::Same, *a)
            }
            (Some(a), Some(_)) if lengths[i + 1][j] >= lengths[i][j + 1] => {
                i += 1;
                (Kind::Gone, *a)
            }
            (_, Some(b)) => {
                j += 1;
                (Kind::New, *b)
            }
            (Some(a), None) => {
                i += 1;
                (Kind::Gone, *a)
            }
            (None, None) => break,
        };
        push(&mut out, kind, word);
    }
    out
}

fn push(out: &mut Vec<(Kind, String)>, kind: Kind, word: &str) {
    match out.last_mut() {
        Some((last, text)) if *last == kind => text.push_str(word),
        _ => out.push((kind, word.to_owned())),
    }
}

/// Words with the blanks behind them, so that together they are the text.
fn split(text: &str) -> Vec<&str> {
    text.split_inclusive(char::is_whitespace).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(left: &str, right: &str) -> String {
        let mark = |(kind, text): (Kind, String)| match kind {
            Kind::Same => text,
            Kind::Gone => format!("[-{text}-]"),
            Kind::New => format!("[+{text}+]"),
        };
        diff(left, right).into_iter().map(mark).collect()
    }

    #[test]
    fn words_that_changed_are_told_and_nothing_is_lost() {
        assert_eq!(
            told("the clock is 10:01 now", "the clock is 10:02 now"),
            "the clock is [-10:01 -][+10:02 +]now"
        );
        assert_eq!(told("", "new"), "[+new+]");
        assert_eq!(told("gone", ""), "[-gone-]");
        assert_eq!(told("same", "same"), "same");
    }

    #[test]
    fn texts_are_alike_that_have_most_words_in_common() {
        assert!(are_alike("You find facts about tables.", "You find facts about files."));
        assert!(!are_alike("You lead research.", "You find facts about files."));
    }

    #[test]
    fn long_texts_are_shown_whole() {
        let long = "word ".repeat(WORDS + 1);
        assert_eq!(diff(&long, "x").len(), 2);
    }
}
