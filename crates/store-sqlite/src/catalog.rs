//! Reads for people and programs.

use crate::{
    codec,
    mark::kept,
    select::{all, names, one},
    sql,
    store::SqliteStore,
};
use async_trait::async_trait;
use cardwire_model::{
    AuditAction, AuditRow, AuditVerdict, BoxHead, BoxId, Card, CardId, Entry, Event, Generation, Hash256,
    Project, ProjectId, Realm, Timestamp, Token, TokenId,
};
use cardwire_store::{BoxAt, CardIds, Catalog, EventFilter, Health, HydratedEntry, RowFilter, StoreError};
use rusqlite::{Connection, OptionalExtension, Row, params};
use uuid::Uuid;

type Result<T> = std::result::Result<T, StoreError>;

/// Sorts before every id.
pub(crate) const NO_ID: [u8; 0] = [];

#[async_trait]
impl Catalog for SqliteStore {
    async fn box_head(&self, project: &ProjectId, box_id: BoxId) -> Result<Option<BoxAt>> {
        let key = (project.as_str(), box_id.uuid().into_bytes());
        let at = |row: &Row<'_>| {
            Ok(BoxAt { head: codec::box_head(row)?, deletions: row.get::<_, i64>(8)? as u64 })
        };
        self.readers.row(|conn| one(conn, sql::BOX_HEAD, key, at)).await
    }

    async fn box_entries(
        &self,
        project: &ProjectId,
        box_id: BoxId,
        generation: Generation,
        from: u32,
    ) -> Result<Vec<Entry>> {
        let project = project.clone();
        let read = move |conn: &Connection| {
            let key = params![project.as_str(), box_id.uuid().into_bytes(), generation.get(), from];
            all(conn, sql::BOX_ENTRIES, key, codec::entry)
        };
        self.readers.read(read).await
    }

    async fn box_cards(
        &self,
        project: &ProjectId,
        box_id: BoxId,
        generation: Generation,
        from: u32,
    ) -> Result<Vec<HydratedEntry>> {
        let project = project.clone();
        let read = move |conn: &Connection| {
            let key = params![project.as_str(), box_id.uuid().into_bytes(), generation.get(), from];
            all(conn, sql::BOX_CARDS, key, |row| {
                let entry = codec::entry(row)?;
                let is_card = row.get_ref(codec::ENTRY_COLUMNS)?.as_blob_or_null()?.is_some();
                let card = is_card.then(|| codec::card(row, codec::ENTRY_COLUMNS)).transpose()?;
                Ok(HydratedEntry { entry, card })
            })
        };
        self.readers.read(read).await
    }

    async fn cards(&self, project: &ProjectId, ids: &[CardId]) -> Result<Vec<Card>> {
        let (project, mut ids) = (project.clone(), ids.to_vec());
        ids.sort_unstable();
        ids.dedup();
        let read = move |conn: &Connection| {
            let mut statement = conn.prepare_cached(sql::CARDS)?;
            let mut cards = Vec::with_capacity(ids.len());
            for id in ids {
                let key = params![project.as_str(), id.uuid().into_bytes()];
                cards.extend(statement.query_row(key, |row| codec::card(row, 0)).optional()?);
            }
            Ok(cards)
        };
        self.readers.read(read).await
    }

    async fn card_ids(&self, project: &ProjectId, after: Option<CardId>, limit: usize) -> Result<CardIds> {
        let project = project.clone();
        let read = move |conn: &Connection| {
            let mut after = after.map_or_else(|| NO_ID.to_vec(), |id| id.uuid().as_bytes().to_vec());
            let mut found = CardIds::default();
            loop {
                let key = params![project.as_str(), after, limit as i64];
                let keys: Vec<Vec<u8>> = all(conn, sql::CARD_IDS, key, |row| row.get(0))?;
                let is_last = keys.len() < limit;
                for key in keys {
                    match Uuid::from_slice(&key) {
                        Ok(id) => found.ids.push(CardId::from_uuid(id)),
                        Err(_) => found.unreadable += 1,
                    }
                    after = key;
                }
                // A page without an id would be the last one.
                if is_last || !found.ids.is_empty() {
                    return Ok(found);
                }
            }
        };
        self.readers.read(read).await
    }

    async fn scan_cards(
        &self,
        project: &ProjectId,
        after: Option<CardId>,
        limit: usize,
    ) -> Result<Vec<Card>> {
        let project = project.clone();
        let read = move |conn: &Connection| {
            let after = after.map(|id| id.uuid());
            let after = after.as_ref().map_or(&NO_ID[..], |id| &id.as_bytes()[..]);
            all(conn, sql::SCAN_CARDS, params![project.as_str(), after, limit as i64], |row| {
                codec::card(row, 0)
            })
        };
        self.readers.read(read).await
    }

    async fn scan_boxes(
        &self,
        project: &ProjectId,
        after: Option<BoxId>,
        limit: usize,
    ) -> Result<Vec<BoxHead>> {
        let project = project.clone();
        let read = move |conn: &Connection| {
            let after = after.map(|id| id.uuid());
            let after = after.as_ref().map_or(&NO_ID[..], |id| &id.as_bytes()[..]);
            all(conn, sql::SCAN_BOXES, params![project.as_str(), after, limit as i64], codec::box_head)
        };
        self.readers.read(read).await
    }

    async fn project(&self, project: &ProjectId) -> Result<Option<Project>> {
        self.readers.row(|conn| one(conn, sql::PROJECT, params![project.as_str()], codec::project)).await
    }

    async fn projects(&self, after: Option<&ProjectId>, limit: usize) -> Result<Vec<Project>> {
        let after = after.map_or(String::new(), ToString::to_string);
        let read =
            move |conn: &Connection| all(conn, sql::PROJECTS, params![after, limit as i64], codec::project);
        self.readers.read(read).await
    }

    async fn token_by_hash(&self, hash: Hash256) -> Result<Option<Token>> {
        self.readers.row(|conn| one(conn, sql::TOKEN_BY_HASH, params![hash.as_bytes()], codec::token)).await
    }

    async fn tokens_by_hashes(&self, hashes: &[Hash256]) -> Result<Vec<Token>> {
        let hashes = hashes.iter().map(ToString::to_string).collect::<Vec<_>>();
        let hashes = serde_json::Value::from(hashes).to_string();
        let read = move |conn: &Connection| all(conn, sql::TOKENS_BY_HASHES, params![hashes], codec::token);
        self.log_readers.read(read).await
    }

    async fn token_by_id(&self, id: TokenId) -> Result<Option<Token>> {
        let key = (id.uuid().into_bytes(),);
        self.readers.row(|conn| one(conn, sql::TOKEN_BY_ID, key, codec::token)).await
    }

    async fn tokens(
        &self,
        realm: Option<&Realm>,
        after: Option<TokenId>,
        limit: usize,
    ) -> Result<Vec<Token>> {
        let realm = realm.map(|realm| realm.key().to_owned());
        let read = move |conn: &Connection| {
            let after = after.map(|id| id.uuid());
            let after = after.as_ref().map_or(&NO_ID[..], |id| &id.as_bytes()[..]);
            all(conn, sql::TOKENS, params![realm, after, limit as i64], codec::token)
        };
        self.readers.read(read).await
    }

    async fn events(
        &self,
        project: &ProjectId,
        after: u64,
        filter: &EventFilter,
        limit: usize,
    ) -> Result<Vec<Event>> {
        let (project, filter) = (project.clone(), filter.clone());
        let read = move |conn: &Connection| {
            let wanted = params![
                project.as_str(),
                clamp(after),
                filter.agent_id.as_ref().map(|agent| agent.as_str()),
                filter.turn_id.map(|turn| turn.uuid().into_bytes()),
                filter.batch_id.map(|batch| batch.uuid().into_bytes()),
                filter.trace_id,
                limit as i64,
            ];
            all(conn, sql::EVENTS, wanted, codec::event)
        };
        self.log_readers.read(read).await
    }

    async fn last_position(&self, project: &ProjectId) -> Result<u64> {
        let last = |conn: &Connection| {
            let mut statement = conn.prepare_cached(sql::LAST_POSITION)?;
            statement.query_row(params![project.as_str()], |row| row.get::<_, i64>(0)).map(|last| last as u64)
        };
        self.log_readers.row(last).await
    }

    async fn last_positions(&self, projects: &[ProjectId]) -> Result<Vec<(ProjectId, u64)>> {
        let projects = names(projects);
        let read = move |conn: &Connection| {
            all(conn, sql::LAST_POSITIONS, params![projects], |row| {
                Ok((codec::slug(row, 0)?, row.get::<_, i64>(1)? as u64))
            })
        };
        self.log_readers.read(read).await
    }

    async fn audit(
        &self,
        realm: &Realm,
        filter: &RowFilter,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<AuditRow>> {
        let (realm, filter) = (realm.key().to_owned(), filter.clone());
        let before = before.map_or(i64::MAX, clamp);
        let read = move |conn: &Connection| {
            let (from, until) = (filter.from.map(Timestamp::micros), filter.until.map(Timestamp::micros));
            let wanted = params![
                realm,
                before,
                limit as i64,
                filter.actor,
                from,
                until,
                filter.action.map(AuditAction::as_str),
                filter.subject,
                filter.verdict.map(AuditVerdict::as_str),
            ];
            all(conn, sql::AUDIT, wanted, codec::audit)
        };
        self.readers.read(read).await
    }

    async fn audit_chain(&self, realm: &Realm, after: u64, limit: usize) -> Result<Vec<AuditRow>> {
        let realm = realm.key().to_owned();
        let read = move |conn: &Connection| {
            all(conn, sql::AUDIT_CHAIN, params![realm, clamp(after), limit as i64], codec::audit)
        };
        self.readers.read(read).await
    }

    async fn health(&self) -> Result<Health> {
        let mark = kept(&self.mark);
        let read = move |conn: &Connection| {
            let reach = mark.map(|mark| mark.reach(conn)).transpose()?;
            conn.prepare_cached(sql::HEALTH)?.query_row([], |row| {
                Ok(Health {
                    backend: "sqlite",
                    version: row.get(0)?,
                    schema: row.get(1)?,
                    unnumbered_events: 0,
                    unsealed_audit: row.get::<_, i64>(2)? as u64,
                    reach,
                })
            })
        };
        self.readers.read(read).await
    }
}

/// Positions past what SQLite can hold are past the end of any log.
pub(crate) fn clamp(position: u64) -> i64 {
    i64::try_from(position).unwrap_or(i64::MAX)
}
