//! Reads of turns, the graph and the roster for people, programs and the watchdog; and the claim.

use super::{ReferenceStore, state::State};
use crate::wanted::{
    edge_is_wanted, head_is_due, identity_edge_is_wanted, item_is_due, item_is_wanted, step_is_wanted,
};
use async_trait::async_trait;
use cardwire_model::{
    Agent, AgentId, Edge, EdgeId, Head, IdentityEdge, InboxId, InboxItem, Profile, ProfileName, ProjectId,
    Resource, ResourceKind, ResourceName, Step, StepId, Timestamp, ToolCall, TurnId,
};
use cardwire_store::{
    ClaimQuery, CommitError, DecideClaim, HeldQuery, HeldRow, Horizon, RosterFilter, Rostered, RowFilter,
    StoreError, Turns, Watched,
};
use std::cmp::Reverse;

type Result<T> = std::result::Result<T, StoreError>;

impl State {
    fn due_heads(
        &self,
        horizon: &Horizon,
        after: Option<&(ProjectId, AgentId)>,
        limit: usize,
    ) -> Vec<Watched> {
        let mut found = vec![];
        for ((realm, agent), head) in self.heads.range(..) {
            let Some(project) = realm.project() else { continue };
            let is_after = after.is_none_or(|(of, name)| (project, agent) > (of, name));
            if is_after && head_is_due(horizon, head) && found.len() < limit {
                let live = head.live.as_ref().and_then(|live| self.inbox_item(realm, live.inbox_id));
                let (head, item) = (Some(head.clone()), live.cloned());
                found.push(Watched { project: project.clone(), head, item });
            }
        }
        found
    }

    fn due_items(
        &self,
        horizon: &Horizon,
        after: Option<&(ProjectId, InboxId)>,
        limit: usize,
    ) -> Vec<Watched> {
        let mut found = vec![];
        for ((realm, id), item) in self.inbox.range(..) {
            let Some(project) = realm.project() else { continue };
            let is_after = after.is_none_or(|(of, last)| (project, id) > (of, last));
            if is_after && item_is_due(horizon, item) && found.len() < limit {
                let head = self.head(realm, &item.agent_id).cloned();
                found.push(Watched { project: project.clone(), head, item: Some(item.clone()) });
            }
        }
        found
    }
}

#[async_trait]
impl Turns for ReferenceStore {
    async fn claim(
        &self,
        query: &ClaimQuery,
        decide: DecideClaim,
    ) -> std::result::Result<Vec<ProjectId>, CommitError> {
        let claimed = self.with(|state| state.claim(query, &decide))?;
        if self.takes_lost_answer() {
            return Err(StoreError::Uncertain("the answer was lost".to_owned()).into());
        }
        Ok(claimed)
    }

    async fn held(&self, query: &HeldQuery, after: u64, limit: usize) -> Result<Vec<HeldRow>> {
        self.with(|state| state.held(query, after, limit))
    }

    async fn due_heads(
        &self,
        horizon: &Horizon,
        after: Option<&(ProjectId, AgentId)>,
        limit: usize,
    ) -> Result<Vec<Watched>> {
        self.with(|state| state.due_heads(horizon, after, limit))
    }

    async fn due_items(
        &self,
        horizon: &Horizon,
        after: Option<&(ProjectId, InboxId)>,
        limit: usize,
    ) -> Result<Vec<Watched>> {
        self.with(|state| state.due_items(horizon, after, limit))
    }

    async fn heads(&self, project: &ProjectId, after: Option<&AgentId>, limit: usize) -> Result<Vec<Head>> {
        let realm = project.clone().into();
        let is_after = |head: &&Head| after.is_none_or(|after| head.agent_id > *after);
        self.with(|state| state.heads(&realm).filter(is_after).take(limit).cloned().collect())
    }

    async fn roster(
        &self,
        project: &ProjectId,
        filter: &RosterFilter,
        before: Option<&(Timestamp, AgentId)>,
        limit: usize,
    ) -> Result<Vec<Rostered>> {
        let realm = project.clone().into();
        let wanted =
            |one: &Rostered| filter.takes(one) && before.is_none_or(|(at, id)| one.place() < (*at, id));
        self.with(|state| {
            let with_head = |agent: &Agent| Rostered {
                agent: agent.clone(),
                head: state.head(&realm, &agent.id).cloned(),
            };
            let mut found: Vec<_> = state.agents(&realm).map(with_head).filter(wanted).collect();
            found.sort_by(|one, other| other.place().cmp(&one.place()));
            found.truncate(limit);
            found
        })
    }

    async fn head(&self, project: &ProjectId, agent: &AgentId) -> Result<Option<Head>> {
        self.with(|state| state.head(&project.clone().into(), agent).cloned())
    }

    async fn inbox(
        &self,
        project: &ProjectId,
        filter: &RowFilter,
        before: Option<InboxId>,
        limit: usize,
    ) -> Result<Vec<InboxItem>> {
        let realm = project.clone().into();
        let wanted =
            |item: &&InboxItem| item_is_wanted(filter, item) && before.is_none_or(|before| item.id < before);
        self.with(|state| {
            let mut found: Vec<_> = state.inbox(&realm).filter(wanted).collect();
            found.sort_by_key(|item| Reverse(item.id));
            found.into_iter().take(limit).cloned().collect()
        })
    }

    async fn turn(&self, project: &ProjectId, turn: TurnId) -> Result<Option<InboxItem>> {
        self.with(|state| state.turn(&project.clone().into(), turn).cloned())
    }

    async fn calls(&self, project: &ProjectId, turn: TurnId) -> Result<Vec<ToolCall>> {
        self.with(|state| state.calls(&project.clone().into(), turn).cloned().collect())
    }

    async fn steps(
        &self,
        project: &ProjectId,
        filter: &RowFilter,
        before: Option<&(Timestamp, StepId)>,
        limit: usize,
    ) -> Result<Vec<Step>> {
        let realm = project.clone().into();
        let wanted = |step: &&Step| {
            let place = (&step.created_at, &step.id);
            step_is_wanted(filter, step) && before.is_none_or(|(at, id)| place < (at, id))
        };
        self.with(|state| {
            let mut found: Vec<_> = state.steps(&realm).filter(wanted).collect();
            found.sort_by_key(|step| Reverse((step.created_at, &step.id)));
            found.into_iter().take(limit).cloned().collect()
        })
    }

    async fn step(&self, project: &ProjectId, step: &StepId) -> Result<Option<Step>> {
        self.with(|state| state.step(&project.clone().into(), step).cloned())
    }

    async fn edges(
        &self,
        project: &ProjectId,
        filter: &RowFilter,
        before: Option<EdgeId>,
        limit: usize,
    ) -> Result<Vec<Edge>> {
        let realm = project.clone().into();
        let wanted =
            |edge: &&Edge| edge_is_wanted(filter, edge) && before.is_none_or(|before| edge.id < before);
        self.with(|state| state.edges(&realm).rev().filter(wanted).take(limit).cloned().collect())
    }

    async fn identity_edges(
        &self,
        project: &ProjectId,
        filter: &RowFilter,
        before: Option<EdgeId>,
        limit: usize,
    ) -> Result<Vec<IdentityEdge>> {
        let realm = project.clone().into();
        let wanted = |edge: &&IdentityEdge| {
            identity_edge_is_wanted(filter, edge) && before.is_none_or(|before| edge.id < before)
        };
        self.with(|state| state.identity_edges(&realm).rev().filter(wanted).take(limit).cloned().collect())
    }

    async fn agents(&self, project: &ProjectId, after: Option<&AgentId>, limit: usize) -> Result<Vec<Agent>> {
        let realm = project.clone().into();
        let is_after = |agent: &&Agent| after.is_none_or(|after| agent.id > *after);
        self.with(|state| state.agents(&realm).filter(is_after).take(limit).cloned().collect())
    }

    async fn agent(&self, project: &ProjectId, agent: &AgentId) -> Result<Option<Agent>> {
        self.with(|state| state.agent(&project.clone().into(), agent).cloned())
    }

    async fn profiles(
        &self,
        project: &ProjectId,
        after: Option<&ProfileName>,
        limit: usize,
    ) -> Result<Vec<Profile>> {
        let realm = project.clone().into();
        let is_after = |profile: &&Profile| after.is_none_or(|after| profile.name > *after);
        self.with(|state| state.profiles(&realm).filter(is_after).take(limit).cloned().collect())
    }

    async fn resources(
        &self,
        project: &ProjectId,
        kind: ResourceKind,
        after: Option<&ResourceName>,
        limit: usize,
    ) -> Result<Vec<Resource>> {
        let realm = project.clone().into();
        let wanted = |one: &&Resource| one.kind == kind && after.is_none_or(|after| one.name > *after);
        self.with(|state| state.resources(&realm).filter(wanted).take(limit).cloned().collect())
    }
}
