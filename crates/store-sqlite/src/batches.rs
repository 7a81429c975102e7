//! Reads of batches, sweeps, grants and budgets.

use crate::{
    catalog::NO_ID,
    codec,
    select::{all, one},
    sql,
    store::SqliteStore,
    turns::PAST_IDS,
};
use async_trait::async_trait;
use cardwire_model::{
    AgentId, Batch, BatchId, BatchStatus, BoxId, Branch, BranchKey, InboxItem, ProjectId, Sweep, Timestamp,
    TurnId,
};
use cardwire_store::{BatchFilter, Batches, Standing, StoreError};
use rusqlite::{Connection, params};
use std::collections::HashSet;

type Result<T> = std::result::Result<T, StoreError>;

#[async_trait]
impl Batches for SqliteStore {
    async fn batch(&self, project: &ProjectId, batch: BatchId) -> Result<Option<Batch>> {
        let project = project.clone();
        self.readers.read(move |conn| load_batch(conn, project.as_str(), batch)).await
    }

    async fn batches(
        &self,
        project: &ProjectId,
        filter: &BatchFilter,
        before: Option<BatchId>,
        limit: usize,
    ) -> Result<Vec<Batch>> {
        let (project, filter) = (project.clone(), filter.clone());
        let read = move |conn: &Connection| {
            let before = before.map(BatchId::uuid);
            let wanted = params![
                project.as_str(),
                filter.parent_turn.map(|turn| turn.uuid().into_bytes()),
                before.as_ref().map_or(&PAST_IDS[..], |id| &id.as_bytes()[..]),
                limit as i64,
                filter.parent_agent.as_ref().map(AgentId::as_str),
                filter.trace_id,
                filter.status.map(BatchStatus::as_str),
                filter.from.map(Timestamp::micros),
                filter.until.map(Timestamp::micros),
            ];
            let of_turn = filter.parent_turn.is_some();
            let statement = if of_turn { sql::BATCHES_OF_TURN } else { sql::BATCHES };
            all(conn, statement, wanted, codec::batch)
        };
        self.readers.read(read).await
    }

    async fn branches(
        &self,
        project: &ProjectId,
        batch: BatchId,
        from: u32,
        limit: usize,
    ) -> Result<Vec<Branch>> {
        let project = project.clone();
        let read = move |conn: &Connection| {
            let wanted = params![project.as_str(), batch.uuid().into_bytes(), from, limit as i64];
            all(conn, sql::BRANCHES, wanted, codec::branch)
        };
        self.readers.read(read).await
    }

    async fn standing(
        &self,
        project: &ProjectId,
        batch: BatchId,
        due: Timestamp,
        quiet: Timestamp,
        limit: usize,
    ) -> Result<Option<Standing>> {
        let project = project.clone();
        let read = move |conn: &Connection| {
            let Some(batch) = load_batch(conn, project.as_str(), batch)? else { return Ok(None) };
            let id = batch.id.uuid().into_bytes();
            let branches = |statement, moment: Timestamp| {
                let wanted = params![project.as_str(), id, moment.micros(), limit as i64];
                all(conn, statement, wanted, codec::branch)
            };
            let counted = params![project.as_str(), id, batch.enough, batch.parallel];
            conn.prepare_cached(sql::STANDING)?.query_row(counted, |row| {
                Ok(Some(Standing {
                    open: row.get(0)?,
                    failed: row.get(1)?,
                    succeeded: row.get(2)?,
                    dispatched: row.get(3)?,
                    pending: branches(sql::PENDING_BRANCHES, due)?,
                    unleased: branches(sql::UNLEASED_BRANCHES, quiet)?,
                    batch: batch.clone(),
                }))
            })
        };
        self.readers.read(read).await
    }

    async fn running_batches(
        &self,
        after: Option<&(ProjectId, BatchId)>,
        limit: usize,
    ) -> Result<Vec<(ProjectId, BatchId)>> {
        let after = after.cloned();
        let read = move |conn: &Connection| {
            let id = after.as_ref().map(|(_, batch)| batch.uuid());
            let wanted = params![
                after.as_ref().map_or("", |(project, _)| project.as_str()),
                id.as_ref().map_or(&NO_ID[..], |id| &id.as_bytes()[..]),
                limit as i64,
            ];
            all(conn, sql::RUNNING_BATCHES, wanted, |row| {
                Ok((codec::slug(row, 0)?, BatchId::from_uuid(codec::uuid(row, 1)?)))
            })
        };
        self.readers.read(read).await
    }

    async fn sweeps(
        &self,
        after: Option<&(ProjectId, Sweep)>,
        limit: usize,
    ) -> Result<Vec<(ProjectId, Sweep)>> {
        let after = after.cloned();
        let read = move |conn: &Connection| {
            let id = after.as_ref().map(|(_, sweep)| sweep.uuid());
            let wanted = params![
                after.as_ref().map_or("", |(project, _)| project.as_str()),
                after.as_ref().map_or("", |(_, sweep)| sweep.scope()),
                id.as_ref().map_or(&NO_ID[..], |id| &id.as_bytes()[..]),
                limit as i64,
            ];
            all(conn, sql::SWEEPS, wanted, |row| Ok((codec::slug(row, 0)?, codec::sweep(row, 1)?)))
        };
        self.readers.read(read).await
    }

    async fn open_children(
        &self,
        project: &ProjectId,
        parent: TurnId,
        after: Option<TurnId>,
        limit: usize,
    ) -> Result<Vec<TurnId>> {
        let project = project.clone();
        let read = move |conn: &Connection| {
            let after = after.map(TurnId::uuid);
            let wanted = params![
                project.as_str(),
                parent.uuid().into_bytes(),
                after.as_ref().map_or(&NO_ID[..], |id| &id.as_bytes()[..]),
                limit as i64,
            ];
            all(conn, sql::OPEN_CHILDREN, wanted, |row| codec::uuid(row, 0).map(TurnId::from_uuid))
        };
        self.readers.read(read).await
    }

    async fn open_branches(
        &self,
        project: &ProjectId,
        batch: BatchId,
        from: u32,
        limit: usize,
    ) -> Result<Vec<(BranchKey, TurnId)>> {
        let project = project.clone();
        let read = move |conn: &Connection| {
            let wanted = params![project.as_str(), batch.uuid().into_bytes(), from, limit as i64];
            all(conn, sql::OPEN_BRANCHES, wanted, |row| {
                let key = BranchKey { batch_id: batch, index: row.get(0)? };
                Ok((key, TurnId::from_uuid(codec::uuid(row, 1)?)))
            })
        };
        self.readers.read(read).await
    }

    async fn granted(&self, project: &ProjectId, agent: &AgentId, boxes: &[BoxId]) -> Result<HashSet<BoxId>> {
        let (project, agent, boxes) = (project.clone(), agent.clone(), boxes.to_vec());
        let read = move |conn: &Connection| {
            let mut statement = conn.prepare_cached(sql::GRANTED)?;
            let mut granted = HashSet::new();
            for id in boxes {
                if statement.exists(params![project.as_str(), agent.as_str(), id.uuid().into_bytes()])? {
                    granted.insert(id);
                }
            }
            Ok(granted)
        };
        self.readers.read(read).await
    }

    async fn grants(
        &self,
        project: &ProjectId,
        agent: &AgentId,
        after: Option<BoxId>,
        limit: usize,
    ) -> Result<Vec<BoxId>> {
        let (project, agent) = (project.clone(), agent.clone());
        let read = move |conn: &Connection| {
            let after = after.map(|id| id.uuid());
            let after = after.as_ref().map_or(&NO_ID[..], |id| &id.as_bytes()[..]);
            let key = params![project.as_str(), agent.as_str(), after, limit as i64];
            all(conn, sql::GRANTS, key, |row| codec::uuid(row, 0).map(BoxId::from_uuid))
        };
        self.readers.read(read).await
    }

    async fn spent(&self, project: &ProjectId, root: TurnId) -> Result<u32> {
        let project = project.clone();
        let read = move |conn: &Connection| {
            let key = params![project.as_str(), root.uuid().into_bytes()];
            one(conn, sql::SPENT, key, |row| row.get(0)).map(Option::unwrap_or_default)
        };
        self.readers.read(read).await
    }

    async fn open_turns(&self, project: &ProjectId, limit: u32) -> Result<u32> {
        let project = project.clone();
        let read = move |conn: &Connection| {
            conn.prepare_cached(sql::OPEN_TURNS)?
                .query_row(params![project.as_str(), limit], |row| row.get(0))
        };
        self.readers.read(read).await
    }

    async fn open_turns_in_trace(
        &self,
        project: &ProjectId,
        trace_id: &str,
        limit: usize,
    ) -> Result<Vec<InboxItem>> {
        let (project, trace_id) = (project.clone(), trace_id.to_owned());
        let read = move |conn: &Connection| {
            let wanted = params![project.as_str(), trace_id, limit as i64];
            all(conn, sql::OPEN_TURNS_IN_TRACE, wanted, codec::inbox_item)
        };
        self.readers.read(read).await
    }
}

fn load_batch(conn: &Connection, project: &str, batch: BatchId) -> rusqlite::Result<Option<Batch>> {
    one(conn, sql::BATCH, params![project, batch.uuid().into_bytes()], codec::batch)
}
