//! Run a team (API-17): its tools, its profiles, its agents, what is asked and the turn of its controller are one commit, so
//! that a run that is refused leaves nothing (W-13). Each part is decided where it always is; here later parts see the
//! earlier ones.

use super::{
    add_agent::{self, AddAgent},
    put_profile::{self, PutProfile},
};
use crate::{
    Decision, Moment, Rejection,
    facts::plain_box,
    resource::put::{self, PutResource},
    turn::dispatch::{self, Dispatch, Dispatched},
};
use cardwire_model::{
    Agent, AgentId, BoxId, Card, Commit, EventKind, Generation, Profile, ProfileName, ProjectId, Snapshot,
    Write,
};
use serde_json::json;
use std::collections::HashMap;

/// What a run needs, as far as it has been decided.
#[derive(Debug, Clone)]
pub struct Ready {
    project: ProjectId,
    commit: Commit,
    profiles: HashMap<ProfileName, Profile>,
    agents: HashMap<AgentId, Agent>,
}

impl Ready {
    /// Nothing yet.
    pub fn new(project: &ProjectId) -> Self {
        Self {
            project: project.clone(),
            commit: Commit::new(project.clone()),
            profiles: HashMap::new(),
            agents: HashMap::new(),
        }
    }

    /// Writes a tool that the team brings along.
    pub fn tool(
        &mut self,
        snapshot: &Snapshot,
        command: &PutResource,
        moment: &Moment,
    ) -> Result<(), Rejection> {
        let decision = put::decide(snapshot, &self.project, command, moment)?;
        self.commit.append(decision.commit);
        Ok(())
    }

    /// Writes a profile.
    pub fn profile(
        &mut self,
        snapshot: &Snapshot,
        command: &PutProfile,
        moment: &Moment,
    ) -> Result<(), Rejection> {
        let decision = put_profile::decide(snapshot, &self.project, command, moment)?;
        self.commit.append(decision.commit);
        let profile = decision.outcome.profile;
        self.profiles.insert(profile.name.clone(), profile);
        Ok(())
    }

    /// Adds an agent with a profile of the team.
    pub fn agent(
        &mut self,
        mut snapshot: Snapshot,
        command: &AddAgent,
        moment: &Moment,
    ) -> Result<(), Rejection> {
        snapshot.profile = self.profiles.get(&command.profile_name).cloned();
        let decision = add_agent::decide(&snapshot, &self.project, command, moment)?;
        self.commit.append(decision.commit);
        let agent = decision.outcome.agent;
        self.agents.insert(agent.id.clone(), agent);
        Ok(())
    }

    /// Makes the box that the controller is given, with what is asked.
    pub fn query(&mut self, card: Card, moment: &Moment) -> BoxId {
        let mut new =
            plain_box(BoxId::from_uuid(moment.fresh.uuid()), Generation::FIRST, &[card.id], moment.now);
        new.head.sealed = true;
        let (box_id, kind) = (new.head.box_id, json!({ "type": card.kind.as_str() }));
        self.commit.events.push(moment.event(EventKind::CardCreated, card.id, &kind));
        self.commit.events.push(moment.event(EventKind::BoxCreated, box_id, &json!({ "len": 1 })));
        self.commit.writes.push(Write::PutCard(Box::new(card)));
        self.commit.writes.push(Write::CreateBox(new));
        box_id
    }

    /// The box of an agent's profile.
    pub fn profile_box(&self, agent: &AgentId) -> Option<BoxId> {
        self.agents.get(agent).map(|agent| agent.profile_box)
    }

    /// Dispatches the turn, with everything before it.
    pub fn dispatch(
        &self,
        snapshot: &Snapshot,
        command: &Dispatch,
        moment: &Moment,
    ) -> Result<Decision<Dispatched>, Rejection> {
        let mut snapshot = snapshot.clone();
        if let Some(agent) = command.agent_id.as_ref().and_then(|id| self.agents.get(id)) {
            snapshot.agent = Some(agent.clone());
        }
        for write in &self.commit.writes {
            if let Write::CreateBox(new) = write {
                snapshot.boxes.insert(new.head.box_id, new.head.clone());
            }
        }
        let decision = dispatch::decide(&snapshot, &self.project, command, moment)?;
        match decision.outcome {
            Dispatched::Repeated(_) => Ok(decision),
            Dispatched::Accepted(_) => {
                let mut commit = self.commit.clone();
                commit.append(decision.commit);
                Ok(Decision { commit, ..decision })
            }
        }
    }
}

#[cfg(test)]
mod tests;
