//! Search: the system finds places in the index, the tenant reads what stands there.
//!
//! No operator of a full-text index is leakproof, so for a role that is held to the rule of its tenant the server reads
//! every row instead. The system is held to no rule on this table, sees only where passages stand and digests that tell
//! no words, and names the tenant itself; the rule of the tenant then decides once more what is shown.

use crate::{
    PostgresStore,
    lexemes::Lexemes,
    number::to_limit,
    rows::{self, Read, get, number},
    sql,
    tenant::{Param, across, read},
};
use async_trait::async_trait;
use cardwire_model::{CardId, Passage, ProjectId, Shelf};
use cardwire_store::{Hit, Search, SearchQuery};
use tokio_postgres::Row;

#[async_trait]
impl Search for PostgresStore {
    async fn search(&self, project: &ProjectId, query: &SearchQuery) -> Read<Vec<Hit>> {
        let project = project.as_str();
        let SearchQuery { shelf, terms, limit } = query;
        let Some(lexemes) = Lexemes::of(project, shelf).query(terms) else { return Ok(vec![]) };
        let (kind, namespace) = (shelf.kind.as_str(), shelf.namespace.as_str());
        let params: [Param<'_>; 5] = [&project, &kind, &namespace, &lexemes, &to_limit(*limit)];
        let places = rows::all(&across(&self.system, sql::SEARCH, &params).await?, Place::read)?;
        if places.is_empty() {
            return Ok(vec![]);
        }
        let sources: Vec<&str> = places.iter().map(|place| place.source.as_str()).collect();
        let parts: Vec<i64> = places.iter().map(|place| i64::from(place.part)).collect();
        let params: [Param<'_>; 5] = [&project, &kind, &namespace, &sources, &parts];
        // A passage that is dropped in between is not shown.
        let found = read(&self.app, project, sql::PASSAGES_AT, &params, |row| {
            let number: usize = number(row, 0, "a place")?;
            let place = number.checked_sub(1).and_then(|number| places.get(number));
            let place = place.ok_or_else(|| rows::damaged("a place"))?;
            Ok(Hit {
                source: place.source.clone(),
                part: place.part,
                card_id: CardId::from_uuid(get(row, 1)?),
                content_hash: rows::hash(row, 2)?,
                score: place.score,
            })
        });
        found.await
    }

    async fn passages(
        &self,
        project: &ProjectId,
        shelf: &Shelf,
        after: Option<&(String, u32)>,
        limit: usize,
    ) -> Read<Vec<Passage>> {
        let project = project.as_str();
        let (kind, namespace) = (shelf.kind.as_str(), shelf.namespace.as_str());
        // Before the first part of the first source, which may have no name.
        let (source, part) = after.map_or(("", -1), |(source, part)| (source.as_str(), i64::from(*part)));
        let params: [Param<'_>; 6] = [&project, &kind, &namespace, &source, &part, &to_limit(limit)];
        read(&self.app, project, sql::PASSAGES, &params, rows::passage).await
    }
}

/// Where a passage stands, and how well it fits.
struct Place {
    source: String,
    part: u32,
    score: f64,
}

impl Place {
    fn read(row: &Row) -> Read<Self> {
        Ok(Self { source: get(row, 0)?, part: number(row, 1, "a part")?, score: get(row, 2)? })
    }
}
