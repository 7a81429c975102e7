//! Profiles, agents, and how they came to be.

use super::{Applied, holds};
use crate::reference::state::State;
use cardwire_model::{Agent, Conflict, IdentityEdge, Profile, Realm, Resource, Revision};

impl State {
    pub(super) fn put_profile(&mut self, realm: &Realm, was: Option<Revision>, profile: &Profile) -> Applied {
        let key = (realm.clone(), profile.name.clone());
        holds(self.profiles.get(&key).map(|old| old.revision) == was, Conflict::Roster)?;
        self.profiles.put(key, profile.clone());
        Ok(())
    }

    pub(super) fn put_resource(
        &mut self,
        realm: &Realm,
        was: Option<Revision>,
        resource: &Resource,
    ) -> Applied {
        let key = (realm.clone(), (resource.kind, resource.name.clone()));
        holds(self.resources.get(&key).map(|old| old.revision) == was, Conflict::Roster)?;
        self.resources.put(key, resource.clone());
        Ok(())
    }

    pub(super) fn put_agent(&mut self, realm: &Realm, was: Option<Revision>, agent: &Agent) -> Applied {
        let key = (realm.clone(), agent.id.clone());
        holds(self.agents.get(&key).map(|old| old.revision) == was, Conflict::Roster)?;
        self.agents.put(key, agent.clone());
        Ok(())
    }

    pub(super) fn add_identity_edge(&mut self, realm: &Realm, edge: &IdentityEdge) -> Applied {
        let key = (realm.clone(), edge.id);
        holds(!self.identity_edges.has(&key), Conflict::Roster)?;
        self.identity_edges.put(key, edge.clone());
        Ok(())
    }
}
