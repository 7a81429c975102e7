//! Reads of sessions and passages, and search.

use crate::{
    codec, load,
    select::{all, one},
    shelf::Words,
    sql,
    store::SqliteStore,
};
use async_trait::async_trait;
use cardwire_model::{Namespace, Passage, ProjectId, Session, SessionId, SessionKey, Shelf};
use cardwire_store::{Hit, Search, SearchQuery, Sessions, StoreError};
use rusqlite::{Connection, params};

type Result<T> = std::result::Result<T, StoreError>;

#[async_trait]
impl Sessions for SqliteStore {
    async fn session(&self, project: &ProjectId, key: &SessionKey) -> Result<Option<Session>> {
        self.readers.row(|conn| load::session(conn, project.as_str(), key)).await
    }

    async fn sessions(
        &self,
        project: &ProjectId,
        namespace: &Namespace,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<Session>> {
        let (project, namespace, after) = (project.clone(), namespace.clone(), after.cloned());
        let read = move |conn: &Connection| {
            let after = after.as_ref().map_or("", SessionId::as_str);
            let wanted = params![project.as_str(), namespace.as_str(), after, limit as i64];
            all(conn, sql::SESSIONS, wanted, codec::session)
        };
        self.readers.read(read).await
    }
}

#[async_trait]
impl Search for SqliteStore {
    async fn search(&self, project: &ProjectId, query: &SearchQuery) -> Result<Vec<Hit>> {
        let shelf = (project.as_str(), query.shelf.kind.as_str(), query.shelf.namespace.as_str());
        // Many shelves are empty, which is seen sooner than nothing is found.
        if self.readers.row(|conn| one(conn, sql::SHELF, shelf, |_| Ok(()))).await?.is_none() {
            return Ok(vec![]);
        }
        let (project, query) = (project.clone(), query.clone());
        let read = move |conn: &Connection| {
            let SearchQuery { shelf, terms, limit } = &query;
            let Some(words) = Words::of(project.as_str(), shelf).query(terms) else { return Ok(vec![]) };
            let (kind, namespace) = (shelf.kind.as_str(), shelf.namespace.as_str());
            let wanted = params![words, project.as_str(), kind, namespace, *limit as i64];
            all(conn, sql::SEARCH, wanted, codec::hit)
        };
        self.readers.read(read).await
    }

    async fn passages(
        &self,
        project: &ProjectId,
        shelf: &Shelf,
        after: Option<&(String, u32)>,
        limit: usize,
    ) -> Result<Vec<Passage>> {
        let (project, shelf, after) = (project.clone(), shelf.clone(), after.cloned());
        let read = move |conn: &Connection| {
            let (kind, namespace) = (shelf.kind.as_str(), shelf.namespace.as_str());
            // Before the first part of the first source, which may have no name.
            let (source, part) =
                after.as_ref().map_or(("", -1), |(source, part)| (source.as_str(), i64::from(*part)));
            let wanted = params![project.as_str(), kind, namespace, source, part, limit as i64];
            all(conn, sql::PASSAGES, wanted, codec::passage)
        };
        self.readers.read(read).await
    }
}
