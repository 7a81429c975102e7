//! Turns, the graph and the roster of a dump.

use super::{Dump, PAGE, advance, differ};
use cardwire_model::{
    Agent, AgentId, Edge, EdgeId, Head, IdentityEdge, InboxItem, Profile, ProfileName, ProjectId, Resource,
    ResourceKind, ResourceName, Step, StepId, Timestamp, ToolCall, TurnId,
};
use cardwire_store::{RowFilter, Store, StoreError};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

/// All rows of turns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnDump {
    /// By project and agent.
    pub heads: BTreeMap<(ProjectId, AgentId), Head>,
    /// By place in the queue of all projects, from 1. Their `seq` is left out: a sequence may leave gaps.
    pub inbox: BTreeMap<usize, (ProjectId, InboxItem)>,
    /// By project and id.
    pub edges: BTreeMap<(ProjectId, EdgeId), Edge>,
    /// By project and id.
    pub steps: BTreeMap<(ProjectId, StepId), Step>,
    /// By project, turn and id, of all turns that an inbox row, an edge or a step names.
    pub calls: BTreeMap<(ProjectId, TurnId, String), ToolCall>,
    /// By project and name, deleted ones too.
    pub profiles: BTreeMap<(ProjectId, ProfileName), Profile>,
    /// By project, kind and name, deleted ones too.
    pub resources: BTreeMap<(ProjectId, ResourceKind, ResourceName), Resource>,
    /// By project and name.
    pub agents: BTreeMap<(ProjectId, AgentId), Agent>,
    /// By project and id.
    pub identity_edges: BTreeMap<(ProjectId, EdgeId), IdentityEdge>,
}

impl TurnDump {
    pub(super) fn first_difference(&self, other: &Self) -> Option<String> {
        differ("head", &self.heads, &other.heads)
            .or_else(|| differ("inbox row", &self.inbox, &other.inbox))
            .or_else(|| differ("edge", &self.edges, &other.edges))
            .or_else(|| differ("step", &self.steps, &other.steps))
            .or_else(|| differ("tool call", &self.calls, &other.calls))
            .or_else(|| differ("profile", &self.profiles, &other.profiles))
            .or_else(|| differ("document", &self.resources, &other.resources))
            .or_else(|| differ("agent", &self.agents, &other.agents))
            .or_else(|| differ("identity edge", &self.identity_edges, &other.identity_edges))
    }
}

/// Reads the turns of all projects that the dump names.
pub(super) async fn read_turns(store: &dyn Store, dump: &mut Dump) -> Result<(), StoreError> {
    let mut queue = BTreeMap::new();
    for project in dump.projects.keys().cloned().collect::<Vec<_>>() {
        let found = &mut dump.turns;
        read_heads(store, &project, found).await?;
        read_edges(store, &project, found).await?;
        read_steps(store, &project, found).await?;
        read_roster(store, &project, found).await?;
        let rows = read_inbox(store, &project).await?;
        read_calls(store, &project, &rows, found).await?;
        for row in rows {
            let (seq, row) = (row.seq, InboxItem { seq: 0, ..row });
            let other = queue.insert(seq, (project.clone(), row));
            assert_eq!(other, None, "two inbox rows at place {seq}");
        }
    }
    dump.turns.inbox = (1..).zip(queue.into_values()).collect();
    Ok(())
}

async fn read_heads(store: &dyn Store, project: &ProjectId, found: &mut TurnDump) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let page = store.heads(project, after.as_ref(), PAGE).await?;
        let Some(last) = advance(&after, page.iter().map(|head| &head.agent_id), PAGE) else { return Ok(()) };
        after = Some(last.clone());
        found.heads.extend(page.into_iter().map(|head| ((project.clone(), head.agent_id.clone()), head)));
    }
}

/// By place in the queue, latest first: two stores give other numbers, and the same order.
async fn read_inbox(store: &dyn Store, project: &ProjectId) -> Result<Vec<InboxItem>, StoreError> {
    let (mut rows, mut before) = (vec![], None);
    loop {
        let page = store.inbox(project, &RowFilter::default(), before, PAGE).await?;
        let falling: Vec<_> = page.iter().map(|row| Reverse(row.id)).collect();
        let Some(Reverse(last)) = advance(&before.map(Reverse), falling.iter(), PAGE) else {
            rows.sort_by_key(|row: &InboxItem| Reverse(row.seq));
            return Ok(rows);
        };
        before = Some(*last);
        rows.extend(page);
    }
}

async fn read_edges(store: &dyn Store, project: &ProjectId, found: &mut TurnDump) -> Result<(), StoreError> {
    let mut before = None;
    loop {
        let page = store.edges(project, &RowFilter::default(), before, PAGE).await?;
        let falling: Vec<_> = page.iter().map(|edge| Reverse(edge.id)).collect();
        let Some(Reverse(last)) = advance(&before.map(Reverse), falling.iter(), PAGE) else { break };
        before = Some(*last);
        found.edges.extend(page.into_iter().map(|edge| ((project.clone(), edge.id), edge)));
    }
    let mut before = None;
    loop {
        let page = store.identity_edges(project, &RowFilter::default(), before, PAGE).await?;
        let falling: Vec<_> = page.iter().map(|edge| Reverse(edge.id)).collect();
        let Some(Reverse(last)) = advance(&before.map(Reverse), falling.iter(), PAGE) else { return Ok(()) };
        before = Some(*last);
        found.identity_edges.extend(page.into_iter().map(|edge| ((project.clone(), edge.id), edge)));
    }
}

async fn read_steps(store: &dyn Store, project: &ProjectId, found: &mut TurnDump) -> Result<(), StoreError> {
    let mut before: Option<(Timestamp, StepId)> = None;
    loop {
        let page = store.steps(project, &RowFilter::default(), before.as_ref(), PAGE).await?;
        let falling: Vec<_> = page.iter().map(|step| Reverse((step.created_at, step.id.clone()))).collect();
        let Some(Reverse(last)) = advance(&before.map(Reverse), falling.iter(), PAGE) else { return Ok(()) };
        before = Some(last.clone());
        found.steps.extend(page.into_iter().map(|step| ((project.clone(), step.id.clone()), step)));
    }
}

async fn read_calls(
    store: &dyn Store,
    project: &ProjectId,
    rows: &[InboxItem],
    found: &mut TurnDump,
) -> Result<(), StoreError> {
    let of_project = |of: &ProjectId| of == project;
    let edges = found.edges.iter().filter(|((of, _), _)| of_project(of)).map(|(_, edge)| edge);
    let steps = found.steps.iter().filter(|((of, _), _)| of_project(of)).map(|(_, step)| step);
    let mut turns: BTreeSet<_> = rows.iter().map(|row| row.turn_id).collect();
    turns.extend(edges.flat_map(|edge| [edge.source_turn, edge.target_turn]).flatten());
    turns.extend(steps.map(|step| step.turn_id));
    for turn in turns {
        let calls = store.calls(project, turn).await?;
        advance(&None, calls.iter().map(|call| &call.tool_call_id), usize::MAX);
        let key = |call: &ToolCall| (project.clone(), turn, call.tool_call_id.clone());
        found.calls.extend(calls.into_iter().map(|call| (key(&call), call)));
    }
    Ok(())
}

async fn read_roster(store: &dyn Store, project: &ProjectId, found: &mut TurnDump) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let page = store.agents(project, after.as_ref(), PAGE).await?;
        let Some(last) = advance(&after, page.iter().map(|agent| &agent.id), PAGE) else { break };
        after = Some(last.clone());
        found.agents.extend(page.into_iter().map(|agent| ((project.clone(), agent.id.clone()), agent)));
    }
    let mut after = None;
    loop {
        let page = store.profiles(project, after.as_ref(), PAGE).await?;
        let Some(last) = advance(&after, page.iter().map(|profile| &profile.name), PAGE) else { break };
        after = Some(last.clone());
        found.profiles.extend(page.into_iter().map(|one| ((project.clone(), one.name.clone()), one)));
    }
    for kind in ResourceKind::ALL {
        let mut after = None;
        loop {
            let page = store.resources(project, *kind, after.as_ref(), PAGE).await?;
            let Some(last) = advance(&after, page.iter().map(|one| &one.name), PAGE) else { break };
            after = Some(last.clone());
            let key = |one: &Resource| (project.clone(), *kind, one.name.clone());
            found.resources.extend(page.into_iter().map(|one| (key(&one), one)));
        }
    }
    Ok(())
}
