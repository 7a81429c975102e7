//! Reads of turns, the graph and the roster, each a walk over an ordered map.

use super::state::State;
use cardwire_model::{
    Agent, AgentId, BoxId, Edge, EdgeId, Head, IdentityEdge, InboxId, InboxItem, InboxKind, Profile,
    ProfileName, Realm, Resource, ResourceKind, ResourceName, Step, StepId, ToolCall, TurnId,
};

impl State {
    /// The head of an agent.
    pub fn head(&self, realm: &Realm, agent: &AgentId) -> Option<&Head> {
        self.heads.get(&(realm.clone(), agent.clone()))
    }

    /// The heads of a realm, by agent.
    pub fn heads(&self, realm: &Realm) -> impl Iterator<Item = &Head> {
        self.heads.of(realm)
    }

    /// An inbox row.
    pub fn inbox_item(&self, realm: &Realm, id: InboxId) -> Option<&InboxItem> {
        self.inbox.get(&(realm.clone(), id))
    }

    /// The inbox rows of a realm, by id.
    pub fn inbox(&self, realm: &Realm) -> impl Iterator<Item = &InboxItem> {
        self.inbox.of(realm)
    }

    /// The row of a turn.
    pub fn turn(&self, realm: &Realm, id: TurnId) -> Option<&InboxItem> {
        self.turns.get(&(realm.clone(), id)).and_then(|id| self.inbox_item(realm, *id))
    }

    /// Agents with open turns that write a box, each as often as it has such turns.
    pub fn writers_of(&self, realm: &Realm, box_id: BoxId) -> impl Iterator<Item = &AgentId> {
        let writes = move |item: &&InboxItem| {
            item.kind == InboxKind::Turn && item.status.is_open() && item.output_box == Some(box_id)
        };
        self.inbox(realm).filter(writes).map(|item| &item.agent_id)
    }

    /// An edge.
    pub fn edge(&self, realm: &Realm, id: EdgeId) -> Option<&Edge> {
        self.edges.get(&(realm.clone(), id))
    }

    /// The edges of a realm, by id.
    pub fn edges(&self, realm: &Realm) -> impl DoubleEndedIterator<Item = &Edge> {
        self.edges.of(realm)
    }

    /// A step.
    pub fn step(&self, realm: &Realm, id: &StepId) -> Option<&Step> {
        self.steps.get(&(realm.clone(), id.clone()))
    }

    /// The steps of a realm, by id.
    pub fn steps(&self, realm: &Realm) -> impl Iterator<Item = &Step> {
        self.steps.of(realm)
    }

    /// A tool call of a turn.
    pub fn call(&self, realm: &Realm, turn: TurnId, id: &str) -> Option<&ToolCall> {
        self.calls.get(&(realm.clone(), turn, id.to_owned()))
    }

    /// The tool calls of a turn, by id.
    pub fn calls(&self, realm: &Realm, turn: TurnId) -> impl Iterator<Item = &ToolCall> {
        let key = (realm.clone(), turn, String::new());
        let (realm, from) = (realm.clone(), self.calls.range(key..));
        from.take_while(move |(key, _)| key.0 == realm && key.1 == turn).map(|(_, call)| call)
    }

    /// An agent of the roster.
    pub fn agent(&self, realm: &Realm, id: &AgentId) -> Option<&Agent> {
        self.agents.get(&(realm.clone(), id.clone()))
    }

    /// The agents of a realm, by name.
    pub fn agents(&self, realm: &Realm) -> impl Iterator<Item = &Agent> {
        self.agents.of(realm)
    }

    /// A profile, deleted or not.
    pub fn profile(&self, realm: &Realm, name: &ProfileName) -> Option<&Profile> {
        self.profiles.get(&(realm.clone(), name.clone()))
    }

    /// The profiles of a realm, by name.
    pub fn profiles(&self, realm: &Realm) -> impl Iterator<Item = &Profile> {
        self.profiles.of(realm)
    }

    /// A document, deleted or not.
    pub fn resource(&self, realm: &Realm, kind: ResourceKind, name: &ResourceName) -> Option<&Resource> {
        self.resources.get(&(realm.clone(), (kind, name.clone())))
    }

    /// The documents of a realm, by kind and name.
    pub fn resources(&self, realm: &Realm) -> impl Iterator<Item = &Resource> {
        self.resources.of(realm)
    }

    /// The identity edges of a realm, by id.
    pub fn identity_edges(&self, realm: &Realm) -> impl DoubleEndedIterator<Item = &IdentityEdge> {
        self.identity_edges.of(realm)
    }
}
