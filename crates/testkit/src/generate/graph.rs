//! Sound writes to the graph and the roster.

use super::Generator;
use crate::fixtures::resource;
use cardwire_model::{
    Agent, Commit, Profile, Realm, Resource, ResourceKind, Revision, Step, ToolCall, Write,
};

impl Generator {
    /// A step of the realm.
    pub(super) fn some_step(&mut self, realm: &Realm) -> Option<Step> {
        let id = self.some(realm, |known| &known.steps)?;
        self.model.step(realm, &id).cloned()
    }

    /// The first of some random tool calls that fits.
    pub(super) fn find_call(&mut self, realm: &Realm, fits: fn(&ToolCall) -> bool) -> Option<ToolCall> {
        for _ in 0..super::TRIES {
            let (turn, name) = self.some(realm, |known| &known.calls)?;
            if let Some(call) = self.model.call(realm, turn, &name).filter(|call| fits(call)) {
                return Some(call.clone());
            }
        }
        None
    }

    /// A profile of the realm.
    pub(super) fn some_profile(&mut self, realm: &Realm) -> Option<Profile> {
        let name = self.some(realm, |known| &known.profiles)?;
        self.model.profile(realm, &name).cloned()
    }

    /// An agent of the realm's roster.
    pub(super) fn some_agent(&mut self, realm: &Realm) -> Option<Agent> {
        let id = self.some(realm, |known| &known.agents)?;
        self.model.agent(realm, &id).cloned()
    }

    pub(super) fn add_edge(&mut self, commit: &mut Commit) -> Option<()> {
        let edge = self.edge(&commit.realm);
        commit.writes.push(Write::AddEdge(Box::new(edge)));
        Some(())
    }

    pub(super) fn create_step(&mut self, commit: &mut Commit) -> Option<()> {
        let turn = self.any_turn(&commit.realm);
        let step = self.step_row(&commit.realm, turn);
        commit.writes.push(Write::CreateStep(Box::new(step)));
        Some(())
    }

    /// What stays of a step does not count, whatever stands here.
    pub(super) fn update_step(&mut self, commit: &mut Commit) -> Option<()> {
        let old = self.some_step(&commit.realm)?;
        let other = self.step_row(&commit.realm, old.turn_id);
        commit.writes.push(Write::UpdateStep(Box::new(Step { id: old.id, ..other })));
        Some(())
    }

    pub(super) fn open_call(&mut self, commit: &mut Commit) -> Option<()> {
        let (turn, name) = (self.any_turn(&commit.realm), self.call_name());
        let call = self.call(&commit.realm, turn, name);
        commit.writes.push(Write::OpenCall(Box::new(call)));
        Some(())
    }

    pub(super) fn update_call(&mut self, commit: &mut Commit) -> Option<()> {
        let old = self.find_call(&commit.realm, |call| call.answer.is_none())?;
        let mut new = self.call(&commit.realm, old.turn_id, old.tool_call_id);
        if self.rng.chance(60) {
            new.answer = Some(self.tool_answer());
        }
        commit.writes.push(Write::UpdateCall(Box::new(new)));
        Some(())
    }

    pub(super) fn put_profile(&mut self, commit: &mut Commit) -> Option<()> {
        let old = if self.rng.chance(60) { self.some_profile(&commit.realm) } else { None };
        let name = old.as_ref().map(|old| old.name.to_string());
        let name = name.unwrap_or_else(|| format!("profile-{}", self.rng.below(300)));
        let mut profile = self.profile(&name);
        if let Some(old) = &old {
            (profile.revision, profile.created_at) = (old.revision.next(), old.created_at);
        }
        let was = old.map(|old| old.revision);
        commit.writes.push(Write::PutProfile { was, profile: Box::new(profile) });
        Some(())
    }

    /// A document of the realm.
    pub(super) fn some_resource(&mut self, realm: &Realm) -> Option<Resource> {
        let (kind, name) = self.some(realm, |known| &known.resources)?;
        self.model.resource(realm, kind, &name).cloned()
    }

    /// A document with these keys and anything else.
    pub(super) fn resource_row(&mut self, kind: ResourceKind, name: &str) -> Resource {
        let created_at = self.lately();
        let revision = Revision::new(1 + self.rng.below(5) as u64);
        let deleted_at = self.maybe_lately();
        let resource = resource(&mut self.ids, kind, name);
        Resource { revision, created_at, updated_at: created_at, deleted_at, ..resource }
    }

    pub(super) fn put_resource(&mut self, commit: &mut Commit) -> Option<()> {
        let old = if self.rng.chance(60) { self.some_resource(&commit.realm) } else { None };
        let kinds = ResourceKind::ALL;
        let (kind, name) = match &old {
            Some(old) => (old.kind, old.name.to_string()),
            None => (kinds[self.rng.below(kinds.len())], format!("document-{}", self.rng.below(300))),
        };
        let mut resource = self.resource_row(kind, &name);
        if let Some(old) = &old {
            (resource.revision, resource.created_at) = (old.revision.next(), old.created_at);
        }
        let was = old.map(|old| old.revision);
        commit.writes.push(Write::PutResource { was, resource: Box::new(resource) });
        Some(())
    }

    pub(super) fn put_agent(&mut self, commit: &mut Commit) -> Option<()> {
        let old = if self.rng.chance(60) { self.some_agent(&commit.realm) } else { None };
        let id = old.as_ref().map(|old| old.id.clone());
        let id = id.unwrap_or_else(|| self.agent_name());
        let relies = |write: &Write| matches!(write, Write::MoveHead { guard, .. } if guard.agent_id == id && guard.roster.is_some());
        if commit.writes.iter().any(relies) {
            return None;
        }
        let mut agent = self.agent_row(&commit.realm, id);
        if let Some(old) = &old {
            (agent.revision, agent.created_at) = (old.revision.next(), old.created_at);
        }
        let was = old.map(|old| old.revision);
        commit.writes.push(Write::PutAgent { was, agent: Box::new(agent) });
        if self.rng.chance(50) { self.add_identity_edge(commit) } else { Some(()) }
    }

    pub(super) fn add_identity_edge(&mut self, commit: &mut Commit) -> Option<()> {
        let edge = self.identity_edge(&commit.realm);
        commit.writes.push(Write::AddIdentityEdge(Box::new(edge)));
        Some(())
    }
}
