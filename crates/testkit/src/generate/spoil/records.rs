//! Spoilers of projects, tokens, answers and the audit chain.

use super::Generator;
use crate::fixtures::ProjectBuilder;
use cardwire_model::{ChainHead, Commit, Expect, Hash256, Realm, Revision, Token, Write};

impl Generator {
    pub(super) fn create_taken_project(&mut self, commit: &mut Commit) -> Option<()> {
        let taken = self.model.project(commit.realm.project()?)?.id.clone();
        let project = ProjectBuilder::new(taken).title("thief").build();
        self.insert(commit, Write::CreateProject(project))
    }

    /// Replaces the commit: its other writes would have no project to go to.
    pub(super) fn update_absent_project(&mut self, commit: &mut Commit) -> Option<()> {
        let ghost = self.ghost();
        *commit = Commit::new(ghost.clone());
        commit.writes.push(Write::RememberAnswer(self.answer()));
        let project = ProjectBuilder::new(ghost).build();
        self.insert(commit, Write::UpdateProject(project))
    }

    pub(super) fn create_taken_token(&mut self, commit: &mut Commit) -> Option<()> {
        let taken = self.find_token(|_| true)?;
        let token = Token { id: taken.id, ..self.token(&commit.realm) };
        self.insert(commit, Write::CreateToken(token))
    }

    pub(super) fn create_token_with_taken_secret(&mut self, commit: &mut Commit) -> Option<()> {
        let taken = self.find_token(|_| true)?;
        let token = Token { secret_hash: taken.secret_hash, ..self.token(&commit.realm) };
        self.insert(commit, Write::CreateToken(token))
    }

    pub(super) fn revoke(&mut self, commit: &mut Commit, token_id: cardwire_model::TokenId) -> Option<()> {
        let at = self.moment();
        self.insert(commit, Write::RevokeToken { token_id, at })
    }

    pub(super) fn revoke_absent_token(&mut self, commit: &mut Commit) -> Option<()> {
        let id = self.ids.token();
        self.revoke(commit, id)
    }

    pub(super) fn revoke_revoked_token(&mut self, commit: &mut Commit) -> Option<()> {
        let realm = commit.realm.clone();
        let token = self.find_token(|token| token.realm == realm && token.revoked_at.is_some())?;
        self.revoke(commit, token.id)
    }

    pub(super) fn revoke_foreign_token(&mut self, commit: &mut Commit) -> Option<()> {
        let realm = commit.realm.clone();
        let token = self.find_token(|token| token.realm != realm && token.revoked_at.is_none())?;
        self.revoke(commit, token.id)
    }

    pub(super) fn remember_taken_answer(&mut self, commit: &mut Commit) -> Option<()> {
        let mut answer = self.answer();
        let taken = self.some_answer(&commit.realm)?;
        // The same caller and key, but another request: still taken.
        answer.key = cardwire_model::AnswerKey { request_hash: answer.key.request_hash, ..taken };
        self.insert(commit, Write::RememberAnswer(answer))
    }

    pub(super) fn seal(&mut self, commit: &mut Commit, seq: u64, position: u64) -> Option<()> {
        let head = ChainHead { position, hash: self.ids.hash() };
        self.insert(commit, Write::SealAudit { seq, head })
    }

    pub(super) fn seal_absent_row(&mut self, commit: &mut Commit) -> Option<()> {
        let position = self.model.chain_head(&commit.realm).position + FAR;
        self.seal(commit, ABSENT_SEQ, position)
    }

    pub(super) fn seal_sealed_row(&mut self, commit: &mut Commit) -> Option<()> {
        let sealed: Vec<u64> = self.model.audit_chain(&commit.realm, 0).map(|row| row.seq).collect();
        let seq = *self.rng.pick(&sealed)?;
        let position = self.model.chain_head(&commit.realm).position + FAR;
        self.seal(commit, seq, position)
    }

    pub(super) fn seal_at_taken_place(&mut self, commit: &mut Commit) -> Option<()> {
        let seq = self.model.unsealed(&commit.realm, 1).first()?.seq;
        let head = self.model.chain_head(&commit.realm);
        let position = 1 + self.rng.below(usize::try_from(head.position).ok().filter(|len| *len > 0)?) as u64;
        self.seal(commit, seq, position)
    }

    pub(super) fn expect_other_revision(&mut self, commit: &mut Commit) -> Option<()> {
        let revision = self.model.project(commit.realm.project()?)?.revision;
        let other = if self.rng.chance(50) { revision.next() } else { Revision::new(revision.get() - 1) };
        self.expect(commit, Expect::ProjectAt(other))
    }

    /// Replaces the commit, as [`Self::update_absent_project`] does.
    pub(super) fn expect_absent_project(&mut self, commit: &mut Commit) -> Option<()> {
        let realm = if self.rng.chance(20) { Realm::System } else { self.ghost().into() };
        *commit = Commit::new(realm);
        commit.writes.push(Write::RememberAnswer(self.answer()));
        self.expect(commit, Expect::ProjectAt(Revision::FIRST))
    }

    pub(super) fn expect_other_chain_length(&mut self, commit: &mut Commit) -> Option<()> {
        let head = self.model.chain_head(&commit.realm);
        self.expect(commit, Expect::ChainAt(ChainHead { position: head.position + 1, ..head }))
    }

    pub(super) fn expect_other_chain_hash(&mut self, commit: &mut Commit) -> Option<()> {
        let head = self.model.chain_head(&commit.realm);
        // An empty chain has one end only; another hash there is a value that nobody can have read.
        if head == ChainHead::START {
            return None;
        }
        let hash = Hash256::of(head.hash.as_bytes());
        self.expect(commit, Expect::ChainAt(ChainHead { hash, ..head }))
    }
}

/// Past every place that the same commit could seal.
const FAR: u64 = 1_000;
/// No row has this number.
const ABSENT_SEQ: u64 = i64::MAX as u64;
