//! What was ever written, so that later commits can build on it or run into it.

use super::Generator;
use cardwire_model::{
    AgentId, AnswerKey, BatchId, BoxId, BranchKey, CardId, Commit, EdgeId, InboxId, ProfileName, Realm,
    ResourceKind, ResourceName, SessionKey, Shelf, StepId, Sweep, TokenId, TurnId, Write,
};

/// What was ever written in a realm, oldest first.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) cards: Vec<CardId>,
    pub(super) boxes: Vec<BoxId>,
    pub(super) tokens: Vec<TokenId>,
    pub(super) answers: Vec<AnswerKey>,
    pub(super) heads: Vec<AgentId>,
    pub(super) inbox: Vec<InboxId>,
    pub(super) turns: Vec<TurnId>,
    pub(super) edges: Vec<EdgeId>,
    pub(super) steps: Vec<StepId>,
    pub(super) calls: Vec<(TurnId, String)>,
    pub(super) profiles: Vec<ProfileName>,
    pub(super) resources: Vec<(ResourceKind, ResourceName)>,
    pub(super) agents: Vec<AgentId>,
    pub(super) identity_edges: Vec<EdgeId>,
    pub(super) batches: Vec<BatchId>,
    pub(super) branches: Vec<BranchKey>,
    pub(super) sweeps: Vec<Sweep>,
    pub(super) grants: Vec<(AgentId, BoxId)>,
    pub(super) roots: Vec<TurnId>,
    pub(super) sessions: Vec<SessionKey>,
    pub(super) passages: Vec<(Shelf, String, u32)>,
}

impl Generator {
    pub(super) fn learn(&mut self, commit: &Commit) {
        let known = self.known.entry(commit.realm.clone()).or_default();
        for write in &commit.writes {
            match write {
                Write::PutCard(card) => known.cards.push(card.id),
                Write::CreateBox(new) => known.boxes.push(new.head.box_id),
                Write::CreateToken(token) => known.tokens.push(token.id),
                Write::RememberAnswer(answer) => known.answers.push(answer.key.clone()),
                Write::CreateProject(project) => self.projects.push(project.id.clone()),
                Write::CreateHead(head) => known.heads.push(head.agent_id.clone()),
                Write::Enqueue(item) => {
                    known.inbox.push(item.id);
                    // Of reports too: a turn id that has no row of its own is worth asking for.
                    known.turns.push(item.turn_id);
                }
                Write::AddEdge(edge) => known.edges.push(edge.id),
                Write::CreateStep(step) => known.steps.push(step.id.clone()),
                Write::OpenCall(call) => known.calls.push((call.turn_id, call.tool_call_id.clone())),
                Write::PutProfile { was: None, profile } => known.profiles.push(profile.name.clone()),
                Write::PutResource { was: None, resource } => {
                    known.resources.push((resource.kind, resource.name.clone()));
                }
                Write::PutAgent { was: None, agent } => known.agents.push(agent.id.clone()),
                Write::AddIdentityEdge(edge) => known.identity_edges.push(edge.id),
                Write::CreateBatch(batch) => known.batches.push(batch.id),
                Write::AddBranch(branch) => known.branches.push(branch.key),
                Write::AddSweep(sweep) => known.sweeps.push(*sweep),
                Write::AddGrant(grant) => known.grants.push((grant.agent_id.clone(), grant.box_id)),
                Write::Spend { root, .. } => known.roots.push(*root),
                Write::PutSession { was: None, session } => known.sessions.push(session.key.clone()),
                Write::PutPassage(passage) => {
                    known.passages.push((passage.shelf.clone(), passage.source.clone(), passage.part));
                }
                Write::DeleteCard { .. }
                | Write::AppendCards { .. }
                | Write::RewriteBox(_)
                | Write::SealBox { .. }
                | Write::UpdateProject(_)
                | Write::RevokeToken { .. }
                | Write::SealAudit { .. }
                | Write::MoveHead { .. }
                | Write::NudgeHead { .. }
                | Write::UpdateInbox { .. }
                | Write::UpdateStep(_)
                | Write::UpdateCall(_)
                | Write::PutProfile { was: Some(_), .. }
                | Write::PutResource { was: Some(_), .. }
                | Write::PutAgent { was: Some(_), .. }
                | Write::BeginClose { .. }
                | Write::CloseBatch(_)
                | Write::MoveBranch { .. }
                | Write::EndBranch(_)
                | Write::EndSweep(_)
                | Write::PutSession { was: Some(_), .. }
                | Write::DropPassages { .. } => {}
            }
        }
    }

    /// One of the things a realm has, the newest ones more often.
    pub(super) fn some<T: Clone>(&mut self, realm: &Realm, list: fn(&Known) -> &Vec<T>) -> Option<T> {
        let known = self.known.get(realm)?;
        self.rng.pick_recent(list(known)).cloned()
    }

    /// Now and then the id of something in another realm, to which a row here is unrelated (CB-08).
    pub(super) fn elsewhere<T: Clone>(&mut self, list: fn(&Known) -> &Vec<T>) -> Option<T> {
        let realm = self.any_known_realm();
        if self.rng.chance(10) { self.some(&realm, list) } else { None }
    }

    pub(super) fn some_card(&mut self, realm: &Realm) -> Option<CardId> {
        self.some(realm, |known| &known.cards)
    }

    pub(super) fn some_box(&mut self, realm: &Realm) -> Option<BoxId> {
        self.some(realm, |known| &known.boxes)
    }

    pub(super) fn some_answer(&mut self, realm: &Realm) -> Option<AnswerKey> {
        self.some(realm, |known| &known.answers)
    }

    /// A token of any realm, and whose it is.
    pub(super) fn any_token(&mut self) -> Option<(Realm, TokenId)> {
        let realm = self.any_known_realm();
        let id = self.some(&realm, |known| &known.tokens)?;
        Some((realm, id))
    }
}
