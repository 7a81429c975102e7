//! Reads for people and programs: one statement each, as the tenant they are for. What is not of one tenant (the
//! list of projects, looking up a token) is read as the system.

use crate::{
    PostgresStore,
    number::{to_bigint, to_limit},
    rows::{self, CardReader, ENTRY_COLUMNS, Read, get, name, number},
    sql,
    tenant::{Param, across, read},
};
use async_trait::async_trait;
use cardwire_model::{
    AuditAction, AuditRow, AuditVerdict, BoxHead, BoxId, Card, CardId, Entry, Event, Generation, Hash256,
    Item, Keys, Project, ProjectId, Realm, Timestamp, Token, TokenId,
};
use cardwire_store::{BoxAt, CardIds, Catalog, EventFilter, Health, HydratedEntry, RowFilter};
use tokio_postgres::Row;
use uuid::Uuid;

#[async_trait]
impl Catalog for PostgresStore {
    async fn box_head(&self, project: &ProjectId, box_id: BoxId) -> Read<Option<BoxAt>> {
        let project = project.as_str();
        let at = |row: &Row| {
            Ok(BoxAt { head: rows::box_head(row, 0)?, deletions: number(row, 8, "a count of deletions")? })
        };
        let found = read(&self.app, project, sql::BOX_HEAD, &[&project, &box_id.uuid()], at).await?;
        Ok(found.into_iter().next())
    }

    async fn box_entries(
        &self,
        project: &ProjectId,
        box_id: BoxId,
        generation: Generation,
        from: u32,
    ) -> Read<Vec<Entry>> {
        self.entries(sql::BOX_ENTRIES, project, box_id, generation, from, rows::entry).await
    }

    async fn box_cards(
        &self,
        project: &ProjectId,
        box_id: BoxId,
        generation: Generation,
        from: u32,
    ) -> Read<Vec<HydratedEntry>> {
        let mut cards = CardReader::default();
        let read = |row: &Row| hydrated(&mut cards, row);
        self.entries(sql::BOX_CARDS, project, box_id, generation, from, read).await
    }

    async fn cards(&self, project: &ProjectId, ids: &[CardId]) -> Read<Vec<Card>> {
        let project = project.as_str();
        let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
        let mut cards = CardReader::default();
        read(&self.app, project, sql::CARDS, &[&project, &ids], |row| cards.card(row, 0)).await
    }

    async fn card_ids(&self, project: &ProjectId, after: Option<CardId>, limit: usize) -> Read<CardIds> {
        let project = project.as_str();
        let Some(from) = next_id(after.map(CardId::uuid)) else { return Ok(CardIds::default()) };
        let id = |row: &Row| Ok(CardId::from_uuid(get::<Uuid>(row, 0)?));
        let ids = read(&self.app, project, sql::CARD_IDS, &[&project, &from, &to_limit(limit)], id).await?;
        Ok(CardIds { ids, unreadable: 0 })
    }

    async fn scan_cards(&self, project: &ProjectId, after: Option<CardId>, limit: usize) -> Read<Vec<Card>> {
        let project = project.as_str();
        let Some(from) = next_id(after.map(CardId::uuid)) else { return Ok(vec![]) };
        let mut cards = CardReader::default();
        let card = |row: &Row| cards.card(row, 0);
        read(&self.app, project, sql::SCAN_CARDS, &[&project, &from, &to_limit(limit)], card).await
    }

    async fn scan_boxes(
        &self,
        project: &ProjectId,
        after: Option<BoxId>,
        limit: usize,
    ) -> Read<Vec<BoxHead>> {
        let project = project.as_str();
        let Some(from) = next_id(after.map(BoxId::uuid)) else { return Ok(vec![]) };
        let params: [Param<'_>; 3] = [&project, &from, &to_limit(limit)];
        read(&self.app, project, sql::SCAN_BOXES, &params, |row| rows::box_head(row, 0)).await
    }

    async fn project(&self, project: &ProjectId) -> Read<Option<Project>> {
        let keys = Keys { project: true, ..Keys::default() };
        Ok(self.loads.load(&Realm::from(project.clone()), &keys).await?.project)
    }

    async fn projects(&self, after: Option<&ProjectId>, limit: usize) -> Read<Vec<Project>> {
        // Every name sorts after the empty one.
        let after = after.map_or("", ProjectId::as_str);
        let rows = across(&self.system, sql::PROJECTS, &[&after, &to_limit(limit)]).await?;
        rows::all(&rows, rows::project)
    }

    async fn token_by_hash(&self, hash: Hash256) -> Read<Option<Token>> {
        let rows = across(&self.system, sql::TOKEN_BY_HASH, &[&hash.as_bytes().as_slice()]).await?;
        rows::first(&rows, rows::token)
    }

    async fn tokens_by_hashes(&self, hashes: &[Hash256]) -> Read<Vec<Token>> {
        let hashes: Vec<&[u8]> = hashes.iter().map(|hash| &hash.as_bytes()[..]).collect();
        let rows = across(&self.system, sql::TOKENS_BY_HASHES, &[&hashes]).await?;
        rows::all(&rows, rows::token)
    }

    async fn token_by_id(&self, id: TokenId) -> Read<Option<Token>> {
        let rows = across(&self.system, sql::TOKEN_BY_ID, &[&id.uuid()]).await?;
        rows::first(&rows, rows::token)
    }

    async fn tokens(&self, realm: Option<&Realm>, after: Option<TokenId>, limit: usize) -> Read<Vec<Token>> {
        let Some(from) = next_id(after.map(TokenId::uuid)) else { return Ok(vec![]) };
        let (key, limit) = (realm.map(Realm::key), to_limit(limit));
        match key {
            Some(tenant) => read(&self.app, tenant, sql::TOKENS, &[&key, &from, &limit], rows::token).await,
            None => {
                let rows = across(&self.system, sql::TOKENS, &[&key, &from, &limit]).await?;
                rows::all(&rows, rows::token)
            }
        }
    }

    async fn events(
        &self,
        project: &ProjectId,
        after: u64,
        filter: &EventFilter,
        limit: usize,
    ) -> Read<Vec<Event>> {
        let project = project.as_str();
        let (turn, batch) = (filter.turn_id.map(|id| id.uuid()), filter.batch_id.map(|id| id.uuid()));
        let agent = filter.agent_id.as_ref().map(|agent| agent.as_str());
        let (after, limit) = (to_bigint(after), to_limit(limit));
        let params: [Param<'_>; 7] = [&project, &after, &limit, &turn, &batch, &filter.trace_id, &agent];
        read(&self.log, project, sql::EVENTS, &params, rows::event).await
    }

    async fn last_position(&self, project: &ProjectId) -> Read<u64> {
        let project = project.as_str();
        let position = |row: &Row| number(row, 0, "a position");
        let found = read(&self.log, project, sql::LAST_POSITION, &[&project], position).await?;
        Ok(found.into_iter().next().unwrap_or(0))
    }

    async fn last_positions(&self, projects: &[ProjectId]) -> Read<Vec<(ProjectId, u64)>> {
        let projects: Vec<&str> = projects.iter().map(ProjectId::as_str).collect();
        let rows = across(&self.system, sql::LAST_POSITIONS, &[&projects]).await?;
        let end = |row: &Row| Ok((name(row, 0, "a project's name")?, number(row, 1, "a position")?));
        rows::all(&rows, end)
    }

    async fn audit(
        &self,
        realm: &Realm,
        filter: &RowFilter,
        before: Option<u64>,
        limit: usize,
    ) -> Read<Vec<AuditRow>> {
        let (key, before, limit) = (realm.key(), before.map_or(i64::MAX, to_bigint), to_limit(limit));
        let (from, until) = (filter.from.map(Timestamp::micros), filter.until.map(Timestamp::micros));
        let (action, verdict) =
            (filter.action.map(AuditAction::as_str), filter.verdict.map(AuditVerdict::as_str));
        let params: [Param<'_>; 9] =
            [&key, &before, &limit, &filter.actor, &from, &until, &action, &filter.subject, &verdict];
        read(&self.app, key, sql::AUDIT, &params, rows::audit).await
    }

    async fn audit_chain(&self, realm: &Realm, after: u64, limit: usize) -> Read<Vec<AuditRow>> {
        let (key, after, limit) = (realm.key(), to_bigint(after), to_limit(limit));
        read(&self.app, key, sql::AUDIT_CHAIN, &[&key, &after, &limit], rows::audit).await
    }

    async fn health(&self) -> Read<Health> {
        let rows = across(&self.system, sql::HEALTH, &[]).await?;
        let row = rows.first().ok_or_else(|| rows::damaged("the state of the store"))?;
        Ok(Health {
            backend: "postgres",
            version: get(row, 0)?,
            schema: crate::number::from_stored(get::<i32>(row, 1)?.into(), "the schema's number")?,
            unnumbered_events: number(row, 2, "a count of events")?,
            unsealed_audit: number(row, 3, "a count of audit rows")?,
            // The server keeps its log itself.
            reach: None,
        })
    }
}

impl PostgresStore {
    async fn entries<T>(
        &self,
        statement: &'static str,
        project: &ProjectId,
        box_id: BoxId,
        generation: Generation,
        from: u32,
        decode: impl FnMut(&Row) -> Read<T>,
    ) -> Read<Vec<T>> {
        let project = project.as_str();
        let (generation, from) = (i64::from(generation.get()), i64::from(from));
        read(&self.app, project, statement, &[&project, &box_id.uuid(), &generation, &from], decode).await
    }
}

/// The id from which a page begins. A comparison the server can look up in an index, unlike one that may be absent.
pub(crate) fn next_id(after: Option<Uuid>) -> Option<Uuid> {
    match after {
        None => Some(Uuid::nil()),
        Some(id) => id.as_u128().checked_add(1).map(Uuid::from_u128),
    }
}

/// An entry whose card was never written has none; that is for `verify` to find, not for readers to fail on.
fn hydrated(cards: &mut CardReader, row: &Row) -> Read<HydratedEntry> {
    let entry = rows::entry(row)?;
    let card = match entry.item {
        Item::Card(_) if get::<Option<Uuid>>(row, ENTRY_COLUMNS)?.is_some() => {
            Some(cards.card(row, ENTRY_COLUMNS)?)
        }
        Item::Card(_) | Item::Segment(_) => None,
    };
    Ok(HydratedEntry { entry, card })
}
