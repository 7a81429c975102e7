//! Words of the index: a term with the shelf it stands on before it.
//!
//! Invariant: words of different shelves never meet. What is found is checked against the shelf's name all the same, so
//! that two shelves with the same mark cost time and nothing else.

use cardwire_model::{Shelf, hash::FieldHasher};
use std::fmt::Write as _;

/// How many hexadecimal digits a shelf is told by.
const MARK: usize = 12;

/// What the words of a shelf begin with.
pub(crate) struct Words(String);

impl Words {
    pub(crate) fn of(project: &str, shelf: &Shelf) -> Self {
        let hasher = [project, shelf.kind.as_str(), shelf.namespace.as_str()]
            .into_iter()
            .fold(FieldHasher::default(), |hasher, part| hasher.field(part.as_bytes()));
        let mut mark = hasher.finish().to_string();
        mark.truncate(MARK);
        Self(mark)
    }

    /// The words that a passage with these terms is found by.
    pub(crate) fn index(&self, terms: &str) -> String {
        let mut words = String::with_capacity(3 * terms.len());
        for term in terms.split(' ').filter(|term| !term.is_empty()) {
            // Writing to a string cannot fail.
            let _ = write!(words, "{}{term} ", self.0);
        }
        words
    }

    /// A query for any of the terms; `None` when there are none.
    pub(crate) fn query(&self, terms: &[String]) -> Option<String> {
        let word = |term: &String| format!("\"{}{}\"", self.0, term.replace('"', "\"\""));
        let words: Vec<_> = terms.iter().filter(|term| !term.is_empty()).map(word).collect();
        Some(words.join(" OR ")).filter(|query| !query.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_model::PassageKind;

    #[test]
    fn every_word_begins_with_its_shelf() {
        let shelf = |kind| Shelf { kind, namespace: "default".parse().unwrap() };
        let [one, other] = [("p", PassageKind::Knowledge), ("p", PassageKind::Experience)]
            .map(|(project, kind)| Words::of(project, &shelf(kind)));
        assert_ne!(one.0, other.0);
        assert_ne!(one.0, Words::of("q", &shelf(PassageKind::Knowledge)).0);
        let mark = &one.0;
        assert_eq!(mark.len(), MARK);
        assert_eq!(one.index("上下 a"), format!("{mark}上下 {mark}a "));
        let query = one.query(&["a".to_owned(), String::new(), "b\"c".to_owned()]);
        assert_eq!(query, Some(format!("\"{mark}a\" OR \"{mark}b\"\"c\"")));
        assert_eq!(one.query(&[]), None);
    }
}
