//! Reads of turns, the graph and the roster, what the watchdog looks at, and claims.

use crate::{
    catalog::{NO_ID, clamp},
    claim::Claim,
    codec, load,
    select::{all, full_page, names, one, readable},
    sql,
    store::SqliteStore,
};
use async_trait::async_trait;
use cardwire_model::{
    Agent, AgentId, Edge, EdgeId, Head, IdentityEdge, InboxId, InboxItem, InboxStatus, Profile, ProfileName,
    ProjectId, Resource, ResourceKind, ResourceName, Status, Step, StepId, Timestamp, ToolCall, TurnId,
};
use cardwire_store::{
    ClaimQuery, CommitError, DecideClaim, HeldQuery, HeldRow, Horizon, RosterFilter, Rostered, RowFilter,
    StoreError, Turns, Watched,
};
use rusqlite::{Connection, Row, params};

type Result<T> = std::result::Result<T, StoreError>;

/// Sorts behind every id.
pub(crate) const PAST_IDS: [u8; 17] = [u8::MAX; 17];

fn watched_head(conn: &Connection, project: &ProjectId, row: &Row<'_>) -> rusqlite::Result<Watched> {
    let head = codec::head(row)?;
    let live = head.live.as_ref().map(|live| live.inbox_id);
    let item = live.map(|id| load::inbox_item(conn, project.as_str(), id)).transpose()?.flatten();
    Ok(Watched { project: project.clone(), head: Some(head), item })
}

fn watched_item(conn: &Connection, project: &ProjectId, row: &Row<'_>) -> rusqlite::Result<Watched> {
    let item = codec::inbox_item(row)?;
    let head = load::head(conn, project.as_str(), &item.agent_id)?;
    Ok(Watched { project: project.clone(), head, item: Some(item) })
}

#[async_trait]
impl Turns for SqliteStore {
    async fn claim(
        &self,
        query: &ClaimQuery,
        decide: DecideClaim,
    ) -> std::result::Result<Vec<ProjectId>, CommitError> {
        self.claim_rows(Claim::new(query.clone(), decide)).await
    }

    async fn held(&self, query: &HeldQuery, after: u64, limit: usize) -> Result<Vec<HeldRow>> {
        let (query, projects) = (query.clone(), query.projects.as_deref().map(names));
        let read = move |conn: &Connection| {
            let (target, worker) = (query.worker_target.as_str(), query.worker_id);
            let of_worker = params![target, worker, clamp(after), projects, limit as i64];
            all(conn, sql::HELD, of_worker, codec::held_row)
        };
        self.readers.read(read).await
    }

    async fn due_heads(
        &self,
        horizon: &Horizon,
        after: Option<&(ProjectId, AgentId)>,
        limit: usize,
    ) -> Result<Vec<Watched>> {
        let (horizon, after) = (*horizon, after.cloned());
        let read = move |conn: &Connection| {
            full_page(limit, after, |after, rest| {
                let (project, agent) =
                    after.map_or(("", ""), |(project, agent)| (project.as_str(), agent.as_str()));
                let due = params![
                    project,
                    agent,
                    horizon.dispatched.micros(),
                    horizon.running.micros(),
                    horizon.resume.micros(),
                    rest as i64,
                ];
                all(conn, sql::DUE_HEADS, due, |row| {
                    let project = codec::slug::<ProjectId>(row, codec::HEAD_COLUMNS)?;
                    let agent = codec::slug::<AgentId>(row, 0)?;
                    let watched = readable(watched_head(conn, &project, row), agent.as_str())?;
                    Ok(((project, agent), watched))
                })
            })
        };
        self.readers.read(read).await
    }

    async fn due_items(
        &self,
        horizon: &Horizon,
        after: Option<&(ProjectId, InboxId)>,
        limit: usize,
    ) -> Result<Vec<Watched>> {
        let (horizon, after) = (*horizon, after.cloned());
        let read = move |conn: &Connection| {
            full_page(limit, after, |after, rest| {
                let id = after.map(|(_, id)| id.uuid());
                let due = params![
                    after.map_or("", |(project, _)| project.as_str()),
                    id.as_ref().map_or(&NO_ID[..], |id| &id.as_bytes()[..]),
                    horizon.pending.micros(),
                    horizon.processing.micros(),
                    rest as i64,
                    horizon.resume.micros(),
                    horizon.given.micros(),
                ];
                all(conn, sql::DUE_ITEMS, due, |row| {
                    let project = codec::slug::<ProjectId>(row, codec::INBOX_COLUMNS)?;
                    let id = InboxId::from_uuid(codec::uuid(row, 0)?);
                    let watched = readable(watched_item(conn, &project, row), &id.to_string())?;
                    Ok(((project, id), watched))
                })
            })
        };
        self.readers.read(read).await
    }

    async fn heads(&self, project: &ProjectId, after: Option<&AgentId>, limit: usize) -> Result<Vec<Head>> {
        let (project, after) = (project.clone(), after.cloned());
        let read = move |conn: &Connection| {
            let after = after.as_ref().map_or("", AgentId::as_str);
            all(conn, sql::HEADS, params![project.as_str(), after, limit as i64], codec::head)
        };
        self.readers.read(read).await
    }

    async fn roster(
        &self,
        project: &ProjectId,
        filter: &RosterFilter,
        before: Option<&(Timestamp, AgentId)>,
        limit: usize,
    ) -> Result<Vec<Rostered>> {
        let (project, filter, before) = (project.clone(), filter.clone(), before.cloned());
        let read = move |conn: &Connection| {
            let wanted = params![
                project.as_str(),
                before.as_ref().map_or(i64::MAX, |(at, _)| at.micros()),
                before.as_ref().map_or("", |(_, agent)| agent.as_str()),
                filter.status.map(Status::as_str),
                limit as i64,
                filter.turn_id.map(|turn| turn.uuid().into_bytes()),
                filter.trace_id,
                filter.from.map(Timestamp::micros),
                filter.until.map(Timestamp::micros),
            ];
            all(conn, sql::ROSTER, wanted, |row| {
                let agent = codec::agent(row)?;
                let head = load::head(conn, project.as_str(), &agent.id)?;
                Ok(Rostered { agent, head })
            })
        };
        self.readers.read(read).await
    }

    async fn head(&self, project: &ProjectId, agent: &AgentId) -> Result<Option<Head>> {
        self.readers.row(|conn| load::head(conn, project.as_str(), agent)).await
    }

    async fn inbox(
        &self,
        project: &ProjectId,
        filter: &RowFilter,
        before: Option<InboxId>,
        limit: usize,
    ) -> Result<Vec<InboxItem>> {
        let (project, filter) = (project.clone(), filter.clone());
        let read = move |conn: &Connection| {
            let before = before.map(InboxId::uuid);
            let wanted = params![
                project.as_str(),
                filter.agent_id.as_ref().map(AgentId::as_str),
                filter.turn_id.map(|turn| turn.uuid().into_bytes()),
                before.as_ref().map_or(&PAST_IDS[..], |id| &id.as_bytes()[..]),
                limit as i64,
                filter.trace_id,
                filter.correlation_id,
                filter.inbox_status.map(|status| status.as_str()),
                filter.turns_only,
                filter.from.map(Timestamp::micros),
                filter.until.map(Timestamp::micros),
            ];
            let is_with_workers = filter.inbox_status.is_some_and(InboxStatus::is_with_workers);
            let any = if is_with_workers { sql::INBOX_WITH_WORKERS } else { sql::INBOX };
            let by = [any, sql::INBOX_OF_AGENT, sql::INBOX_OF_TURN];
            all(conn, narrowest(&filter, by), wanted, codec::inbox_item)
        };
        self.readers.read(read).await
    }

    async fn turn(&self, project: &ProjectId, turn: TurnId) -> Result<Option<InboxItem>> {
        self.readers.row(|conn| load::turn(conn, project.as_str(), turn)).await
    }

    async fn calls(&self, project: &ProjectId, turn: TurnId) -> Result<Vec<ToolCall>> {
        let project = project.clone();
        let read = move |conn: &Connection| {
            let key = params![project.as_str(), turn.uuid().into_bytes()];
            all(conn, sql::CALLS, key, codec::tool_call)
        };
        self.readers.read(read).await
    }

    async fn steps(
        &self,
        project: &ProjectId,
        filter: &RowFilter,
        before: Option<&(Timestamp, StepId)>,
        limit: usize,
    ) -> Result<Vec<Step>> {
        let (project, filter, before) = (project.clone(), filter.clone(), before.cloned());
        // The last step of an agent is the end of its index.
        let is_narrow = filter == (RowFilter { agent_id: filter.agent_id.clone(), ..RowFilter::default() });
        let read = move |conn: &Connection| {
            let wanted = params![
                project.as_str(),
                filter.agent_id.as_ref().map(AgentId::as_str),
                filter.turn_id.map(|turn| turn.uuid().into_bytes()),
                before.as_ref().map_or(i64::MAX, |(at, _)| at.micros()),
                before.as_ref().map_or("", |(_, step)| step.as_str()),
                limit as i64,
                filter.trace_id,
                filter.from.map(Timestamp::micros),
                filter.until.map(Timestamp::micros),
                filter.step_status,
                filter.step_phase,
            ];
            let by = [sql::STEPS, sql::STEPS_OF_AGENT, sql::STEPS_OF_TURN];
            all(conn, narrowest(&filter, by), wanted, codec::step)
        };
        if limit == 1 && is_narrow { self.readers.row(read).await } else { self.readers.read(read).await }
    }

    async fn step(&self, project: &ProjectId, step: &StepId) -> Result<Option<Step>> {
        let key = (project.as_str(), step.as_str());
        self.readers.row(|conn| one(conn, sql::STEP, key, codec::step)).await
    }

    async fn edges(
        &self,
        project: &ProjectId,
        filter: &RowFilter,
        before: Option<EdgeId>,
        limit: usize,
    ) -> Result<Vec<Edge>> {
        let (project, filter) = (project.clone(), filter.clone());
        let read = move |conn: &Connection| {
            let before = before.map(EdgeId::uuid);
            let wanted = params![
                project.as_str(),
                filter.agent_id.as_ref().map(AgentId::as_str),
                filter.turn_id.map(|turn| turn.uuid().into_bytes()),
                before.as_ref().map_or(&PAST_IDS[..], |id| &id.as_bytes()[..]),
                limit as i64,
                filter.trace_id,
                filter.correlation_id,
                filter.primitive.map(|primitive| primitive.as_str()),
                filter.phase.map(|phase| phase.as_str()),
                filter.from.map(Timestamp::micros),
                filter.until.map(Timestamp::micros),
            ];
            let by = [sql::EDGES, sql::EDGES_OF_AGENT, sql::EDGES_OF_TURN];
            all(conn, narrowest(&filter, by), wanted, codec::edge)
        };
        self.readers.read(read).await
    }

    async fn identity_edges(
        &self,
        project: &ProjectId,
        filter: &RowFilter,
        before: Option<EdgeId>,
        limit: usize,
    ) -> Result<Vec<IdentityEdge>> {
        let (project, filter) = (project.clone(), filter.clone());
        let read = move |conn: &Connection| {
            let before = before.map(EdgeId::uuid);
            let wanted = params![
                project.as_str(),
                filter.agent_id.as_ref().map(AgentId::as_str),
                before.as_ref().map_or(&PAST_IDS[..], |id| &id.as_bytes()[..]),
                limit as i64,
                filter.trace_id,
                filter.from.map(Timestamp::micros),
                filter.until.map(Timestamp::micros),
            ];
            let of_agent = filter.agent_id.is_some();
            let statement = if of_agent { sql::IDENTITY_EDGES_OF_AGENT } else { sql::IDENTITY_EDGES };
            all(conn, statement, wanted, codec::identity_edge)
        };
        self.readers.read(read).await
    }

    async fn agents(&self, project: &ProjectId, after: Option<&AgentId>, limit: usize) -> Result<Vec<Agent>> {
        let (project, after) = (project.clone(), after.cloned());
        let read = move |conn: &Connection| {
            let after = after.as_ref().map_or("", AgentId::as_str);
            all(conn, sql::AGENTS, params![project.as_str(), after, limit as i64], codec::agent)
        };
        self.readers.read(read).await
    }

    async fn agent(&self, project: &ProjectId, agent: &AgentId) -> Result<Option<Agent>> {
        let key = (project.as_str(), agent.as_str());
        self.readers.row(|conn| one(conn, sql::AGENT, key, codec::agent)).await
    }

    async fn profiles(
        &self,
        project: &ProjectId,
        after: Option<&ProfileName>,
        limit: usize,
    ) -> Result<Vec<Profile>> {
        let (project, after) = (project.clone(), after.cloned());
        let read = move |conn: &Connection| {
            let after = after.as_ref().map_or("", ProfileName::as_str);
            all(conn, sql::PROFILES, params![project.as_str(), after, limit as i64], codec::profile)
        };
        self.readers.read(read).await
    }

    async fn resources(
        &self,
        project: &ProjectId,
        kind: ResourceKind,
        after: Option<&ResourceName>,
        limit: usize,
    ) -> Result<Vec<Resource>> {
        let (project, after) = (project.clone(), after.cloned());
        let read = move |conn: &Connection| {
            let after = after.as_ref().map_or("", ResourceName::as_str);
            let params = params![project.as_str(), kind.as_str(), after, limit as i64];
            all(conn, sql::RESOURCES, params, codec::resource)
        };
        self.readers.read(read).await
    }
}

/// Of the statements for all rows, for those of an agent and for those of a turn, the one whose index leaves least
/// to be looked through. All three take the same parameters.
fn narrowest(filter: &RowFilter, [all, of_agent, of_turn]: [&'static str; 3]) -> &'static str {
    match (&filter.turn_id, &filter.agent_id) {
        (Some(_), _) => of_turn,
        (None, Some(_)) => of_agent,
        (None, None) => all,
    }
}
