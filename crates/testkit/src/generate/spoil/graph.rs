//! Spoilers of the graph and the roster.

use super::Generator;
use crate::fixtures::{agent_id, step_id};
use cardwire_model::{
    Agent, Commit, Edge, IdentityEdge, Primitive, Realm, ResourceKind, Revision, Step, Write,
};

impl Generator {
    fn some_edge(&mut self, realm: &Realm) -> Option<Edge> {
        let id = self.some(realm, |known| &known.edges)?;
        self.model.edge(realm, id).cloned()
    }

    pub(super) fn add_taken_edge(&mut self, commit: &mut Commit) -> Option<()> {
        let taken = self.some_edge(&commit.realm)?;
        let edge = Edge { id: taken.id, ..self.edge(&commit.realm) };
        self.insert(commit, Write::AddEdge(Box::new(edge)))
    }

    /// Of the same turns for tools, of any turns otherwise.
    pub(super) fn add_taken_correlation(&mut self, commit: &mut Commit) -> Option<()> {
        let taken = self.some_edge(&commit.realm)?;
        let mut edge = Edge {
            id: self.ids.edge(),
            primitive: taken.primitive,
            phase: taken.phase,
            correlation_id: taken.correlation_id.clone(),
            ..self.edge(&commit.realm)
        };
        match taken.primitive {
            Primitive::Enqueue | Primitive::Join => {}
            Primitive::ToolCall | Primitive::Report => {
                (edge.source_turn, edge.target_turn) = (taken.source_turn, taken.target_turn);
            }
        }
        self.insert(commit, Write::AddEdge(Box::new(edge)))
    }

    pub(super) fn add_edge_twice(&mut self, commit: &mut Commit) -> Option<()> {
        self.model.project(commit.realm.project()?)?;
        let edge = Edge { id: self.ids.edge(), ..self.edge(&commit.realm) };
        let again = Edge { id: self.ids.edge(), ..edge.clone() };
        self.insert(commit, Write::AddEdge(Box::new(edge)))?;
        self.insert(commit, Write::AddEdge(Box::new(again)))
    }

    pub(super) fn create_taken_step(&mut self, commit: &mut Commit) -> Option<()> {
        let taken = self.some_step(&commit.realm)?;
        let step = Step { id: taken.id, ..self.step_row(&commit.realm, taken.turn_id) };
        self.insert(commit, Write::CreateStep(Box::new(step)))
    }

    pub(super) fn update_absent_step(&mut self, commit: &mut Commit) -> Option<()> {
        let turn = self.any_turn(&commit.realm);
        let id = step_id(&format!("step_absent_{}", self.rng.below(1_000)));
        let step = Step { id, ..self.step_row(&commit.realm, turn) };
        self.insert(commit, Write::UpdateStep(Box::new(step)))
    }

    pub(super) fn update_step_of_other_turn(&mut self, commit: &mut Commit) -> Option<()> {
        let step = self.some_step(&commit.realm)?;
        let turn_id = self.ids.turn();
        self.insert(commit, Write::UpdateStep(Box::new(Step { turn_id, ..step })))
    }

    pub(super) fn open_taken_call(&mut self, commit: &mut Commit) -> Option<()> {
        let taken = self.find_call(&commit.realm, |_| true)?;
        let call = self.call(&commit.realm, taken.turn_id, taken.tool_call_id);
        self.insert(commit, Write::OpenCall(Box::new(call)))
    }

    pub(super) fn update_absent_call(&mut self, commit: &mut Commit) -> Option<()> {
        let (turn, name) = (self.any_turn(&commit.realm), self.call_name());
        let call = self.call(&commit.realm, turn, format!("absent {name}"));
        self.insert(commit, Write::UpdateCall(Box::new(call)))
    }

    pub(super) fn answer_answered_call(&mut self, commit: &mut Commit) -> Option<()> {
        let old = self.find_call(&commit.realm, |call| call.answer.is_some())?;
        let call = self.call(&commit.realm, old.turn_id, old.tool_call_id);
        self.insert(commit, Write::UpdateCall(Box::new(call)))
    }

    fn insert_profile(&mut self, commit: &mut Commit, was: Option<Revision>, name: &str) -> Option<()> {
        let profile = Box::new(self.profile(name));
        self.insert(commit, Write::PutProfile { was, profile })
    }

    pub(super) fn put_taken_profile(&mut self, commit: &mut Commit) -> Option<()> {
        let old = self.some_profile(&commit.realm)?;
        self.insert_profile(commit, None, old.name.as_str())
    }

    /// One that the commit itself cannot reach.
    pub(super) fn put_profile_at_other_revision(&mut self, commit: &mut Commit) -> Option<()> {
        let old = self.some_profile(&commit.realm)?;
        let other = Revision::new(old.revision.get() + 1_000);
        self.insert_profile(commit, Some(other), old.name.as_str())
    }

    pub(super) fn put_absent_profile(&mut self, commit: &mut Commit) -> Option<()> {
        self.insert_profile(commit, Some(Revision::FIRST), "absent")
    }

    pub(super) fn put_taken_resource(&mut self, commit: &mut Commit) -> Option<()> {
        let old = self.some_resource(&commit.realm)?;
        let resource = Box::new(self.resource_row(old.kind, old.name.as_str()));
        self.insert(commit, Write::PutResource { was: None, resource })
    }

    /// One that the commit itself cannot reach.
    pub(super) fn put_resource_at_other_revision(&mut self, commit: &mut Commit) -> Option<()> {
        let old = self.some_resource(&commit.realm)?;
        let was = Some(Revision::new(old.revision.get() + 1_000));
        let resource = Box::new(self.resource_row(old.kind, old.name.as_str()));
        self.insert(commit, Write::PutResource { was, resource })
    }

    pub(super) fn put_absent_resource(&mut self, commit: &mut Commit) -> Option<()> {
        let resource = Box::new(self.resource_row(ResourceKind::Recipe, "absent"));
        self.insert(commit, Write::PutResource { was: Some(Revision::FIRST), resource })
    }

    fn insert_agent(&mut self, commit: &mut Commit, was: Option<Revision>, old: &Agent) -> Option<()> {
        let agent = Box::new(self.agent_row(&commit.realm, old.id.clone()));
        self.insert(commit, Write::PutAgent { was, agent })
    }

    pub(super) fn put_taken_agent(&mut self, commit: &mut Commit) -> Option<()> {
        let old = self.some_agent(&commit.realm)?;
        self.insert_agent(commit, None, &old)
    }

    pub(super) fn put_agent_at_other_revision(&mut self, commit: &mut Commit) -> Option<()> {
        let old = self.some_agent(&commit.realm)?;
        let before = Revision::new(old.revision.get() - 1);
        self.insert_agent(commit, Some(before), &old)
    }

    pub(super) fn put_absent_agent(&mut self, commit: &mut Commit) -> Option<()> {
        let absent = self.agent_row(&commit.realm, agent_id("absent"));
        self.insert_agent(commit, Some(absent.revision), &absent)
    }

    pub(super) fn add_taken_identity_edge(&mut self, commit: &mut Commit) -> Option<()> {
        let id = self.some(&commit.realm, |known| &known.identity_edges)?;
        let edge = IdentityEdge { id, ..self.identity_edge(&commit.realm) };
        self.insert(commit, Write::AddIdentityEdge(Box::new(edge)))
    }
}
