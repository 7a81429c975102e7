//! Passages: sound writes, and what a reader may search for. Terms are few, so that searches find some.

use super::Generator;
use crate::fixtures::{NAMESPACES, shelf};
use cardwire_model::{Commit, Embedding, Passage, PassageKind, Realm, Shelf, Write};
use cardwire_store::SearchQuery;

/// Each would be lost or bent by some index: bigrams, accents that are no accents, marks that are letters, words of query
/// languages, digits of all kinds, letters that were added to Unicode lately.
const TERMS: &[&str] = &[
    "context",
    "kernel",
    "and",
    "or",
    "not",
    "near",
    "the",
    "a",
    "42",
    "007",
    "１２",
    "上下",
    "下文",
    "文内",
    "内核",
    "e",
    "é",
    "e\u{301}",
    "strasse",
    "straße",
    "हिन्दी",
    "עברית",
    "ⅷ",
    "²",
    "𞤢",
    "ꟁ",
    "x1",
    "1x",
];

impl Generator {
    fn term(&mut self) -> String {
        match self.rng.below(40) {
            // Longer than what some index takes for a word, and different at the end only.
            0 => format!("{}{}", "long".repeat(700), self.rng.below(2)),
            1 => format!("rare{}", self.rng.below(500)),
            _ => (*self.rng.pick(TERMS).expect("some terms")).to_owned(),
        }
    }

    fn terms(&mut self) -> Vec<String> {
        (0..self.rng.below(9)).map(|_| self.term()).collect()
    }

    fn any_shelf(&mut self) -> Shelf {
        let kind = *self.rng.pick(PassageKind::ALL).expect("some kinds");
        shelf(kind, self.any_namespace())
    }

    /// A source that may have passages; its name is used on every shelf.
    fn any_source(&mut self) -> String {
        match self.rng.below(12) {
            0 => String::new(),
            1 => "文档 'quoted' \\ %".to_owned(),
            _ => format!("source-{}", self.rng.below(40)),
        }
    }

    fn passage(&mut self, realm: &Realm, shelf: Shelf, source: String, part: u32) -> Passage {
        let floats: Vec<f32> = (0..self.rng.below(5)).map(|_| self.rng.below(1_000) as f32 / 7.0).collect();
        Passage {
            shelf,
            source,
            part,
            card_id: self.some_card(realm).unwrap_or_else(|| self.ids.card()),
            content_hash: self.ids.hash(),
            terms: self.terms().join(" "),
            embedding: self.rng.chance(50).then(|| Embedding::from_floats(&floats)),
            created_at: self.lately(),
        }
    }

    /// Some parts of a source, in any order and maybe twice, often in place of all that it had.
    pub(super) fn put_passages(&mut self, commit: &mut Commit) -> Option<()> {
        let (shelf, source) = (self.any_shelf(), self.any_source());
        if self.rng.chance(50) {
            commit.writes.push(Write::DropPassages { shelf: shelf.clone(), source: source.clone() });
        }
        for _ in 0..self.rng.between(1, 4) {
            let part = if self.rng.chance(95) { self.rng.below(6) as u32 } else { u32::MAX };
            let passage = self.passage(&commit.realm, shelf.clone(), source.clone(), part);
            commit.writes.push(Write::PutPassage(Box::new(passage)));
        }
        Some(())
    }

    pub(super) fn drop_passages(&mut self, commit: &mut Commit) -> Option<()> {
        let (shelf, source, _) = self.any_passage(&commit.realm);
        commit.writes.push(Write::DropPassages { shelf, source });
        Some(())
    }

    /// The place of a passage that is there, was there, or never was.
    pub fn any_passage(&mut self, realm: &Realm) -> (Shelf, String, u32) {
        let known = if self.rng.chance(80) { self.some(realm, |known| &known.passages) } else { None };
        known.unwrap_or_else(|| (self.any_shelf(), self.any_source(), self.rng.below(6) as u32))
    }

    /// What a reader may search for. The limit is larger than what there is to be found: which of many are the best is
    /// each store's own affair.
    pub fn search(&mut self, realm: &Realm) -> SearchQuery {
        let (shelf, _, _) = self.any_passage(realm);
        let terms = (0..self.rng.below(4)).map(|_| self.term()).collect();
        let query = SearchQuery { shelf, terms, limit: 100_000 };
        let found = !self.model.search(realm, &query).is_empty();
        self.coverage.found += usize::from(found);
        query
    }

    /// Every term that passages have, each as a search of its own, on every shelf.
    pub fn all_searches(&self) -> Vec<SearchQuery> {
        let mut queries = vec![];
        for kind in PassageKind::ALL {
            for namespace in NAMESPACES {
                queries.extend(TERMS.iter().map(|term| SearchQuery {
                    shelf: shelf(*kind, namespace),
                    terms: vec![(*term).to_owned()],
                    limit: 100_000,
                }));
            }
        }
        queries
    }
}
