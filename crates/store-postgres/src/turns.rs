//! Reads of turns and the roster: one statement each, as the tenant they are for. The watchdog reads over all of
//! them, as the system. Lists by agent and by turn have statements of their own, each served by an index.

use crate::{
    PostgresStore, claim,
    load::Key,
    number::{to_bigint, to_limit},
    rows::{self, Read, Record, name, optional_record, record},
    sql::{self, part},
    tenant::{Param, across, read},
};
use async_trait::async_trait;
use cardwire_model::{
    Agent, AgentId, Edge, EdgeId, EdgePhase, Head, IdentityEdge, InboxId, InboxItem, InboxStatus, Primitive,
    Profile, ProfileName, ProjectId, Resource, ResourceKind, ResourceName, Status, Step, StepId, Timestamp,
    ToolCall, TurnId,
};
use cardwire_store::{
    ClaimQuery, CommitError, DecideClaim, HeldQuery, HeldRow, Horizon, RosterFilter, Rostered, RowFilter,
    Turns, Watched,
};
use tokio_postgres::Row;
use uuid::Uuid;

#[async_trait]
impl Turns for PostgresStore {
    async fn claim(&self, query: &ClaimQuery, decide: DecideClaim) -> Result<Vec<ProjectId>, CommitError> {
        claim::claim(&self.app, &self.system, query, &decide).await
    }

    async fn held(&self, query: &HeldQuery, after: u64, limit: usize) -> Read<Vec<HeldRow>> {
        let (target, after, limit) = (query.worker_target.as_str(), to_bigint(after), to_limit(limit));
        let projects: Option<Vec<&str>> =
            query.projects.as_ref().map(|projects| projects.iter().map(ProjectId::as_str).collect());
        let params: [Param<'_>; 5] = [&target, &query.worker_id, &after, &projects, &limit];
        rows::all(&across(&self.system, sql::HELD, &params).await?, rows::held_row)
    }

    async fn due_heads(
        &self,
        horizon: &Horizon,
        after: Option<&(ProjectId, AgentId)>,
        limit: usize,
    ) -> Read<Vec<Watched>> {
        let (mut found, mut after) = (vec![], after.cloned());
        let times = [horizon.dispatched, horizon.running, horizon.resume].map(Timestamp::micros);
        // Rows that cannot be read are passed over, and a short page would be the last one.
        loop {
            // Every name sorts after the empty one.
            let (project, agent) =
                after.as_ref().map_or(("", ""), |(project, agent)| (project.as_str(), agent.as_str()));
            let rest = limit - found.len();
            let params: [Param<'_>; 6] = [&project, &agent, &times[0], &times[1], &times[2], &to_limit(rest)];
            let rows = across(&self.system, sql::DUE_HEADS, &params).await?;
            for row in &rows {
                let agent: AgentId = name(row, 3, "an agent's name")?;
                found.extend(rows::readable(watched(row), agent.as_str())?);
                after = Some((name(row, 0, "a project's name")?, agent));
            }
            if rows.len() < rest || found.len() == limit {
                return Ok(found);
            }
        }
    }

    async fn due_items(
        &self,
        horizon: &Horizon,
        after: Option<&(ProjectId, InboxId)>,
        limit: usize,
    ) -> Read<Vec<Watched>> {
        let (mut found, mut after) = (vec![], after.cloned());
        let times = [horizon.pending, horizon.processing, horizon.resume, horizon.given];
        let times = times.map(Timestamp::micros);
        loop {
            let (project, inbox) =
                after.as_ref().map_or(("", Uuid::nil()), |(project, inbox)| (project.as_str(), inbox.uuid()));
            let rest = limit - found.len();
            let params: [Param<'_>; 7] =
                [&project, &inbox, &times[0], &times[1], &to_limit(rest), &times[2], &times[3]];
            let rows = across(&self.system, sql::DUE_ITEMS, &params).await?;
            for row in &rows {
                let inbox = InboxId::from_uuid(rows::get(row, 3)?);
                found.extend(rows::readable(watched(row), &inbox.to_string())?);
                after = Some((name(row, 0, "a project's name")?, inbox));
            }
            if rows.len() < rest || found.len() == limit {
                return Ok(found);
            }
        }
    }

    async fn heads(&self, project: &ProjectId, after: Option<&AgentId>, limit: usize) -> Read<Vec<Head>> {
        let (project, after) = (project.as_str(), after.map_or("", AgentId::as_str));
        read(&self.app, project, sql::HEADS, &[&project, &after, &to_limit(limit)], whole(rows::head)).await
    }

    async fn roster(
        &self,
        project: &ProjectId,
        filter: &RosterFilter,
        before: Option<&(Timestamp, AgentId)>,
        limit: usize,
    ) -> Read<Vec<Rostered>> {
        let project = project.as_str();
        let (at, agent) = before.map_or((i64::MAX, ""), |(at, agent)| (at.micros(), agent.as_str()));
        let (status, turn) = (filter.status.map(Status::as_str), filter.turn_id.map(TurnId::uuid));
        let (from, until) = (filter.from.map(Timestamp::micros), filter.until.map(Timestamp::micros));
        let limit = to_limit(limit);
        let params: [Param<'_>; 9] =
            [&project, &at, &agent, &status, &limit, &turn, &filter.trace_id, &from, &until];
        read(&self.app, project, sql::ROSTER, &params, rostered).await
    }

    async fn head(&self, project: &ProjectId, agent: &AgentId) -> Read<Option<Head>> {
        self.loads.one(project, part::HEAD, ("agent", Key::Name(agent.to_string())), rows::head).await
    }

    async fn inbox(
        &self,
        project: &ProjectId,
        filter: &RowFilter,
        before: Option<InboxId>,
        limit: usize,
    ) -> Read<Vec<InboxItem>> {
        let project = project.as_str();
        let Some(last) = last_before(before.map(InboxId::uuid)) else { return Ok(vec![]) };
        let limit = to_limit(limit);
        let parts = Parts::new(filter);
        let mut params: Vec<Param<'_>> = vec![&project, &last, &limit, &parts.trace, &parts.correlation];
        params.extend([&parts.status as Param<'_>, &parts.turns_only, &parts.from, &parts.until]);
        let is_with_workers = filter.inbox_status.is_some_and(InboxStatus::is_with_workers);
        let any = if is_with_workers { sql::INBOX_WITH_WORKERS } else { sql::INBOX };
        let statement = parts.choose(
            [any, sql::INBOX_OF_AGENT, sql::INBOX_OF_TURN],
            [&[], &[&parts.agent], &[&parts.agent, &parts.turn]],
            &mut params,
        );
        read(&self.app, project, statement, &params, whole(rows::inbox_item)).await
    }

    async fn turn(&self, project: &ProjectId, turn: TurnId) -> Read<Option<InboxItem>> {
        self.loads.one(project, part::TURN, ("turn", Key::Id(turn.uuid())), rows::inbox_item).await
    }

    async fn calls(&self, project: &ProjectId, turn: TurnId) -> Read<Vec<ToolCall>> {
        let project = project.as_str();
        read(&self.app, project, sql::CALLS, &[&project, &turn.uuid()], whole(rows::call)).await
    }

    async fn steps(
        &self,
        project: &ProjectId,
        filter: &RowFilter,
        before: Option<&(Timestamp, StepId)>,
        limit: usize,
    ) -> Read<Vec<Step>> {
        let project = project.as_str();
        let (at, id) = before.map_or((i64::MAX, ""), |(at, id)| (at.micros(), id.as_str()));
        let limit = to_limit(limit);
        let parts = Parts::new(filter);
        let mut params: Vec<Param<'_>> = vec![&project, &at, &id, &limit, &parts.trace];
        params.extend([&parts.from as Param<'_>, &parts.until, &parts.step_status, &parts.step_phase]);
        let statement = parts.choose(
            [sql::STEPS, sql::STEPS_OF_AGENT, sql::STEPS_OF_TURN],
            [&[], &[&parts.agent], &[&parts.agent, &parts.turn]],
            &mut params,
        );
        read(&self.app, project, statement, &params, whole(rows::step)).await
    }

    async fn step(&self, project: &ProjectId, step: &StepId) -> Read<Option<Step>> {
        self.loads.one(project, part::STEP, ("step", Key::Name(step.to_string())), rows::step).await
    }

    async fn edges(
        &self,
        project: &ProjectId,
        filter: &RowFilter,
        before: Option<EdgeId>,
        limit: usize,
    ) -> Read<Vec<Edge>> {
        let project = project.as_str();
        let Some(last) = last_before(before.map(EdgeId::uuid)) else { return Ok(vec![]) };
        let limit = to_limit(limit);
        let parts = Parts::new(filter);
        let mut params: Vec<Param<'_>> = vec![&project, &last, &limit, &parts.trace, &parts.correlation];
        params.extend([&parts.primitive as Param<'_>, &parts.phase, &parts.from, &parts.until]);
        let statement = parts.choose(
            [sql::EDGES, sql::EDGES_OF_AGENT, sql::EDGES_OF_TURN],
            [&[], &[&parts.agent], &[&parts.agent, &parts.turn]],
            &mut params,
        );
        read(&self.app, project, statement, &params, whole(rows::edge)).await
    }

    async fn identity_edges(
        &self,
        project: &ProjectId,
        filter: &RowFilter,
        before: Option<EdgeId>,
        limit: usize,
    ) -> Read<Vec<IdentityEdge>> {
        let project = project.as_str();
        let Some(last) = last_before(before.map(EdgeId::uuid)) else { return Ok(vec![]) };
        let limit = to_limit(limit);
        let parts = Parts { turn: None, ..Parts::new(filter) };
        let mut params: Vec<Param<'_>> = vec![&project, &last, &limit, &parts.trace];
        params.extend([&parts.from as Param<'_>, &parts.until]);
        let statement = parts.choose(
            [sql::IDENTITY_EDGES, sql::IDENTITY_EDGES_OF_AGENT, sql::IDENTITY_EDGES],
            [&[], &[&parts.agent], &[]],
            &mut params,
        );
        read(&self.app, project, statement, &params, whole(rows::identity_edge)).await
    }

    async fn agents(&self, project: &ProjectId, after: Option<&AgentId>, limit: usize) -> Read<Vec<Agent>> {
        let project = project.as_str();
        let after = after.map_or("", AgentId::as_str);
        read(&self.app, project, sql::AGENTS, &[&project, &after, &to_limit(limit)], whole(rows::agent)).await
    }

    async fn agent(&self, project: &ProjectId, agent: &AgentId) -> Read<Option<Agent>> {
        self.loads.one(project, part::AGENT, ("agent", Key::Name(agent.to_string())), rows::agent).await
    }

    async fn profiles(
        &self,
        project: &ProjectId,
        after: Option<&ProfileName>,
        limit: usize,
    ) -> Read<Vec<Profile>> {
        let project = project.as_str();
        let after = after.map_or("", ProfileName::as_str);
        read(&self.app, project, sql::PROFILES, &[&project, &after, &to_limit(limit)], whole(rows::profile))
            .await
    }

    async fn resources(
        &self,
        project: &ProjectId,
        kind: ResourceKind,
        after: Option<&ResourceName>,
        limit: usize,
    ) -> Read<Vec<Resource>> {
        let project = project.as_str();
        let after = after.map_or("", ResourceName::as_str);
        let params: [Param<'_>; 4] = [&project, &kind.as_str(), &after, &to_limit(limit)];
        read(&self.app, project, sql::RESOURCES, &params, whole(rows::resource)).await
    }
}

fn rostered(row: &Row) -> Read<Rostered> {
    Ok(Rostered { agent: record(row, 0, rows::agent)?, head: optional_record(row, 1, rows::head)? })
}

/// An answer that is a whole row.
pub(crate) fn whole<T>(decode: impl Fn(&Record<'_>) -> Read<T>) -> impl Fn(&Row) -> Read<T> {
    move |row| record(row, 0, &decode)
}

/// The project, the head and the inbox row stand side by side.
fn watched(row: &Row) -> Read<Watched> {
    Ok(Watched {
        project: name(row, 0, "a project's name")?,
        head: optional_record(row, 1, rows::head)?,
        item: optional_record(row, 2, rows::inbox_item)?,
    })
}

/// The id at which a page that goes backwards begins. See `catalog::next_id` for the other direction.
pub(crate) fn last_before(before: Option<Uuid>) -> Option<Uuid> {
    match before {
        None => Some(Uuid::max()),
        Some(id) => id.as_u128().checked_sub(1).map(Uuid::from_u128),
    }
}

/// A filter as parameters.
struct Parts<'a> {
    agent: Option<&'a str>,
    turn: Option<Uuid>,
    trace: Option<&'a str>,
    correlation: Option<&'a str>,
    primitive: Option<&'static str>,
    phase: Option<&'static str>,
    status: Option<&'static str>,
    step_status: Option<&'a str>,
    step_phase: Option<&'a str>,
    turns_only: bool,
    from: Option<i64>,
    until: Option<i64>,
}

impl<'a> Parts<'a> {
    fn new(filter: &'a RowFilter) -> Self {
        Self {
            agent: filter.agent_id.as_ref().map(AgentId::as_str),
            turn: filter.turn_id.map(TurnId::uuid),
            trace: filter.trace_id.as_deref(),
            correlation: filter.correlation_id.as_deref(),
            primitive: filter.primitive.map(Primitive::as_str),
            phase: filter.phase.map(EdgePhase::as_str),
            status: filter.inbox_status.map(InboxStatus::as_str),
            step_status: filter.step_status.as_deref(),
            step_phase: filter.step_phase.as_deref(),
            turns_only: filter.turns_only,
            from: filter.from.map(Timestamp::micros),
            until: filter.until.map(Timestamp::micros),
        }
    }

    /// The statement for a filter without agent and turn, with an agent, or with a turn; adds what each takes beyond
    /// the others.
    fn choose<'p>(
        &self,
        [any, of_agent, of_turn]: [&'static str; 3],
        [no_more, agent, turn]: [&[Param<'p>]; 3],
        params: &mut Vec<Param<'p>>,
    ) -> &'static str {
        let (statement, more) = match (self.turn, self.agent) {
            (Some(_), _) => (of_turn, turn),
            (None, Some(_)) => (of_agent, agent),
            (None, None) => (any, no_more),
        };
        params.extend_from_slice(more);
        statement
    }
}
