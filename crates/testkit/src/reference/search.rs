//! Search by looking at every passage of a shelf.

use super::{ReferenceStore, state::State};
use async_trait::async_trait;
use cardwire_model::{Passage, ProjectId, Realm, Shelf};
use cardwire_store::{Hit, Search, SearchQuery, StoreError};
use std::collections::BTreeSet;

type Result<T> = std::result::Result<T, StoreError>;

impl State {
    /// The passages of a shelf, by source and part.
    pub fn passages(&self, realm: &Realm, shelf: &Shelf) -> impl Iterator<Item = &Passage> {
        self.passages.of(realm).filter(move |passage| passage.shelf == *shelf)
    }

    /// The passages with any of the terms, best first.
    pub fn search(&self, realm: &Realm, query: &SearchQuery) -> Vec<Hit> {
        let terms: BTreeSet<&str> = query.terms.iter().map(String::as_str).collect();
        let hit = |passage: &Passage| Hit {
            source: passage.source.clone(),
            part: passage.part,
            card_id: passage.card_id,
            content_hash: passage.content_hash,
            score: score(passage, &terms),
        };
        let mut hits: Vec<_> = self.passages(realm, &query.shelf).map(hit).collect();
        hits.retain(|hit| hit.score > 0.0);
        // Stable, so equal ones stay by source and part.
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        hits.truncate(query.limit);
        hits
    }
}

/// Two terms found once each count more than one of them found any number of times.
fn score(passage: &Passage, terms: &BTreeSet<&str>) -> f64 {
    let count = |term: &&str| passage.terms.split(' ').filter(|found| found == term).count() as f64;
    terms.iter().filter(|term| !term.is_empty()).map(|term| count(term) / (count(term) + 1.0)).sum()
}

#[async_trait]
impl Search for ReferenceStore {
    async fn search(&self, project: &ProjectId, query: &SearchQuery) -> Result<Vec<Hit>> {
        self.with(|state| state.search(&project.clone().into(), query))
    }

    async fn passages(
        &self,
        project: &ProjectId,
        shelf: &Shelf,
        after: Option<&(String, u32)>,
        limit: usize,
    ) -> Result<Vec<Passage>> {
        let realm = project.clone().into();
        let is_after =
            |one: &&Passage| after.is_none_or(|(source, part)| (&one.source, one.part) > (source, *part));
        self.with(|state| state.passages(&realm, shelf).filter(is_after).take(limit).cloned().collect())
    }
}
