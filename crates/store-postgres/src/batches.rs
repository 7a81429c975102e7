//! Reads of batches and what else orchestration keeps: one statement each, as the tenant they are for. What is to be gone
//! on with is read over all tenants, as the system.

use crate::{
    PostgresStore,
    catalog::next_id,
    load::Key,
    number::to_limit,
    rows::{self, Read, damaged, get, name, number, record, records},
    sql::{self, part},
    tenant::{Param, across, read},
    turns::{last_before, whole},
};
use async_trait::async_trait;
use cardwire_model::{
    AgentId, Batch, BatchId, BatchStatus, BoxId, Branch, BranchKey, InboxItem, ProjectId, Sweep, Timestamp,
    TurnId,
};
use cardwire_store::{BatchFilter, Batches, Standing};
use std::collections::HashSet;
use tokio_postgres::Row;
use uuid::Uuid;

#[async_trait]
impl Batches for PostgresStore {
    async fn batch(&self, project: &ProjectId, batch: BatchId) -> Read<Option<Batch>> {
        self.loads.one(project, part::BATCH, ("batch", Key::Id(batch.uuid())), rows::batch).await
    }

    async fn batches(
        &self,
        project: &ProjectId,
        filter: &BatchFilter,
        before: Option<BatchId>,
        limit: usize,
    ) -> Read<Vec<Batch>> {
        let project = project.as_str();
        let Some(last) = last_before(before.map(BatchId::uuid)) else { return Ok(vec![]) };
        let limit = to_limit(limit);
        let (agent, trace) = (filter.parent_agent.as_ref().map(AgentId::as_str), filter.trace_id.as_deref());
        let status = filter.status.map(BatchStatus::as_str);
        let (from, until) = (filter.from.map(Timestamp::micros), filter.until.map(Timestamp::micros));
        let turn = filter.parent_turn.map(TurnId::uuid);
        let mut params: Vec<Param<'_>> =
            vec![&project, &last, &limit, &agent, &trace, &status, &from, &until];
        let statement = if turn.is_some() {
            params.push(&turn);
            sql::BATCHES_OF_TURN
        } else {
            sql::BATCHES
        };
        read(&self.app, project, statement, &params, whole(rows::batch)).await
    }

    async fn branches(
        &self,
        project: &ProjectId,
        batch: BatchId,
        from: u32,
        limit: usize,
    ) -> Read<Vec<Branch>> {
        let project = project.as_str();
        let params: [Param<'_>; 4] = [&project, &batch.uuid(), &i64::from(from), &to_limit(limit)];
        read(&self.app, project, sql::BRANCHES, &params, whole(rows::branch)).await
    }

    async fn standing(
        &self,
        project: &ProjectId,
        batch: BatchId,
        due: Timestamp,
        quiet: Timestamp,
        limit: usize,
    ) -> Read<Option<Standing>> {
        let project = project.as_str();
        let (due, quiet, limit) = (due.micros(), quiet.micros(), to_limit(limit));
        let params: [Param<'_>; 5] = [&project, &batch.uuid(), &due, &quiet, &limit];
        let found = read(&self.app, project, sql::STANDING, &params, standing).await?;
        Ok(found.into_iter().next())
    }

    async fn running_batches(
        &self,
        after: Option<&(ProjectId, BatchId)>,
        limit: usize,
    ) -> Read<Vec<(ProjectId, BatchId)>> {
        // Every name sorts after the empty one.
        let (project, batch) =
            after.map_or(("", Uuid::nil()), |(project, batch)| (project.as_str(), batch.uuid()));
        let params: [Param<'_>; 3] = [&project, &batch, &to_limit(limit)];
        let rows = across(&self.system, sql::RUNNING_BATCHES, &params).await?;
        rows::all(&rows, |row| Ok((name(row, 0, "a project's name")?, BatchId::from_uuid(get(row, 1)?))))
    }

    async fn sweeps(
        &self,
        after: Option<&(ProjectId, Sweep)>,
        limit: usize,
    ) -> Read<Vec<(ProjectId, Sweep)>> {
        let (project, scope, id) = after.map_or(("", "", Uuid::nil()), |(project, sweep)| {
            (project.as_str(), sweep.scope(), sweep.uuid())
        });
        let params: [Param<'_>; 4] = [&project, &scope, &id, &to_limit(limit)];
        let rows = across(&self.system, sql::SWEEPS, &params).await?;
        rows::all(&rows, sweep)
    }

    async fn open_children(
        &self,
        project: &ProjectId,
        parent: TurnId,
        after: Option<TurnId>,
        limit: usize,
    ) -> Read<Vec<TurnId>> {
        let project = project.as_str();
        let Some(from) = next_id(after.map(TurnId::uuid)) else { return Ok(vec![]) };
        let params: [Param<'_>; 4] = [&project, &parent.uuid(), &from, &to_limit(limit)];
        let turn = |row: &Row| get(row, 0).map(TurnId::from_uuid);
        read(&self.app, project, sql::OPEN_CHILDREN, &params, turn).await
    }

    async fn open_branches(
        &self,
        project: &ProjectId,
        batch: BatchId,
        from: u32,
        limit: usize,
    ) -> Read<Vec<(BranchKey, TurnId)>> {
        let project = project.as_str();
        let params: [Param<'_>; 4] = [&project, &batch.uuid(), &i64::from(from), &to_limit(limit)];
        let branch = |row: &Row| {
            let key = BranchKey { batch_id: batch, index: number(row, 0, "a branch's index")? };
            Ok((key, TurnId::from_uuid(get(row, 1)?)))
        };
        read(&self.app, project, sql::OPEN_BRANCHES, &params, branch).await
    }

    async fn granted(&self, project: &ProjectId, agent: &AgentId, boxes: &[BoxId]) -> Read<HashSet<BoxId>> {
        let project = project.as_str();
        let boxes: Vec<Uuid> = boxes.iter().map(|id| id.uuid()).collect();
        let params: [Param<'_>; 3] = [&project, &agent.as_str(), &boxes];
        let found = |row: &Row| get(row, 0).map(BoxId::from_uuid);
        Ok(read(&self.app, project, sql::GRANTED, &params, found).await?.into_iter().collect())
    }

    async fn grants(
        &self,
        project: &ProjectId,
        agent: &AgentId,
        after: Option<BoxId>,
        limit: usize,
    ) -> Read<Vec<BoxId>> {
        let (project, limit) = (project.as_str(), limit as i64);
        let Some(from) = next_id(after.map(BoxId::uuid)) else { return Ok(vec![]) };
        let params: [Param<'_>; 4] = [&project, &agent.as_str(), &from, &limit];
        let found = |row: &Row| get(row, 0).map(BoxId::from_uuid);
        read(&self.app, project, sql::GRANTS, &params, found).await
    }

    async fn spent(&self, project: &ProjectId, root: TurnId) -> Read<u32> {
        let project = project.as_str();
        let turns = |row: &Row| number(row, 0, "a count of turns");
        let found = read(&self.app, project, sql::SPENT, &[&project, &root.uuid()], turns).await?;
        Ok(found.into_iter().next().unwrap_or(0))
    }

    async fn open_turns(&self, project: &ProjectId, limit: u32) -> Read<u32> {
        let project = project.as_str();
        let turns = |row: &Row| number(row, 0, "a count of turns");
        let found = read(&self.app, project, sql::OPEN_TURNS, &[&project, &i64::from(limit)], turns).await?;
        Ok(found.into_iter().next().unwrap_or(0))
    }

    async fn open_turns_in_trace(
        &self,
        project: &ProjectId,
        trace_id: &str,
        limit: usize,
    ) -> Read<Vec<InboxItem>> {
        let (project, limit) = (project.as_str(), to_limit(limit));
        let params: [Param<'_>; 3] = [&project, &trace_id, &limit];
        read(&self.app, project, sql::OPEN_TURNS_IN_TRACE, &params, whole(rows::inbox_item)).await
    }
}

fn standing(row: &Row) -> Read<Standing> {
    Ok(Standing {
        batch: record(row, 0, rows::batch)?,
        open: get(row, 1)?,
        failed: get(row, 2)?,
        succeeded: number(row, 3, "a count of branches")?,
        dispatched: number(row, 4, "a count of branches")?,
        pending: records(row, 5, rows::branch)?,
        unleased: records(row, 6, rows::branch)?,
    })
}

fn sweep(row: &Row) -> Read<(ProjectId, Sweep)> {
    let sweep = Sweep::from_parts(get(row, 1)?, get(row, 2)?).ok_or_else(|| damaged("a sweep"))?;
    Ok((name(row, 0, "a project's name")?, sweep))
}
