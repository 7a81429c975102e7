//! What passages are found by on the server: digests of terms, in the text forms of `tsvector` and `tsquery`.
//!
//! The server's own parsers of language are not used: terms are words already, and some are no words of any language it
//! knows. A digest covers the shelf as well, so that lexemes of different shelves never meet, and is short whatever the
//! term. Invariant: equal terms on one shelf have equal lexemes, and a lexeme does not tell its term.

use cardwire_model::{Shelf, hash::FieldHasher};
use std::{collections::BTreeMap, fmt::Write as _};

/// How many hexadecimal digits a lexeme has.
const DIGITS: usize = 16;
/// The highest place in a text that the server tells from others.
const LAST_PLACE: u16 = 16_383;
/// Most places of one lexeme that the server keeps.
const PLACES: usize = 255;
/// Most lexemes of one passage: the server takes a mebibyte of them. What comes after is not found.
const LEXEMES: usize = 40_000;

/// The lexemes of a shelf.
pub(crate) struct Lexemes<'a> {
    project: &'a str,
    shelf: &'a Shelf,
}

impl<'a> Lexemes<'a> {
    pub(crate) fn of(project: &'a str, shelf: &'a Shelf) -> Self {
        Self { project, shelf }
    }

    fn lexeme(&self, term: &str) -> String {
        let parts = [self.project, self.shelf.kind.as_str(), self.shelf.namespace.as_str(), term];
        let hasher =
            parts.into_iter().fold(FieldHasher::default(), |hasher, part| hasher.field(part.as_bytes()));
        let mut digits = hasher.finish().to_string();
        digits.truncate(DIGITS);
        digits
    }

    /// A `tsvector` of these terms, with the places where they stand.
    pub(crate) fn index(&self, terms: &str) -> String {
        let mut places: BTreeMap<&str, Vec<u16>> = BTreeMap::new();
        for (place, term) in terms.split(' ').filter(|term| !term.is_empty()).enumerate() {
            if places.len() == LEXEMES && !places.contains_key(term) {
                continue;
            }
            let of_term = places.entry(term).or_default();
            if of_term.len() < PLACES {
                of_term.push(u16::try_from(place + 1).unwrap_or(LAST_PLACE).min(LAST_PLACE));
            }
        }
        let mut text = String::new();
        for (term, places) in places {
            let places: Vec<_> = places.iter().map(u16::to_string).collect();
            // Writing to a string cannot fail.
            let _ = write!(text, "'{}':{} ", self.lexeme(term), places.join(","));
        }
        text
    }

    /// A `tsquery` for any of the terms; `None` when there are none.
    pub(crate) fn query(&self, terms: &[String]) -> Option<String> {
        let quoted = |term: &String| format!("'{}'", self.lexeme(term));
        let lexemes: Vec<_> = terms.iter().filter(|term| !term.is_empty()).map(quoted).collect();
        Some(lexemes.join(" | ")).filter(|query| !query.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_model::PassageKind;

    fn shelf(kind: PassageKind) -> Shelf {
        Shelf { kind, namespace: "default".parse().unwrap() }
    }

    #[test]
    fn a_lexeme_is_of_its_term_and_its_shelf() {
        let knowledge = shelf(PassageKind::Knowledge);
        let lexemes = Lexemes::of("p", &knowledge);
        assert_eq!(lexemes.lexeme("上下"), lexemes.lexeme("上下"));
        assert_ne!(lexemes.lexeme("上下"), lexemes.lexeme("下上"));
        assert_ne!(lexemes.lexeme("a"), Lexemes::of("q", &knowledge).lexeme("a"));
        assert_ne!(lexemes.lexeme("a"), Lexemes::of("p", &shelf(PassageKind::Experience)).lexeme("a"));
        assert_eq!(lexemes.lexeme(&"长".repeat(9_000)).len(), DIGITS);
    }

    #[test]
    fn places_are_counted_from_one_and_no_further_than_the_server_does() {
        let knowledge = shelf(PassageKind::Knowledge);
        let lexemes = Lexemes::of("p", &knowledge);
        let (a, b) = (lexemes.lexeme("a"), lexemes.lexeme("b"));
        assert_eq!(lexemes.index("a b a"), format!("'{a}':1,3 '{b}':2 "));
        assert_eq!(lexemes.index(""), "");
        let far = format!("{}b", "a ".repeat(20_000));
        let text = lexemes.index(&far);
        assert!(text.ends_with(&format!("'{b}':16383 ")) && text.len() < 3_000, "{text}");
    }

    #[test]
    fn a_query_asks_for_any_term_that_is_one() {
        let knowledge = shelf(PassageKind::Knowledge);
        let lexemes = Lexemes::of("p", &knowledge);
        let (a, b) = (lexemes.lexeme("a"), lexemes.lexeme("b"));
        let query = lexemes.query(&["a".to_owned(), String::new(), "b".to_owned()]);
        assert_eq!(query, Some(format!("'{a}' | '{b}'")));
        assert_eq!(lexemes.query(&[String::new()]), None);
    }
}
