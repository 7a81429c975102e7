//! Applies a commit: every expectation against the rows as they were, then each write in order, each seeing the
//! ones before it; or nothing.
//!
//! Unlike a backend it goes on after a conflict and names them all, so that the differential test knows when two
//! stores may differ in the one they answer with.

mod batches;
mod graph;
mod inbox;
mod roster;
mod sessions;
mod turns;

use super::state::{State, last, sweep_key};
use cardwire_model::{
    AuditRow, BoxId, CardId, ChainHead, Commit, Conflict, Entry, Expect, Generation, Item, NewBox, Project,
    Realm, Timestamp, Token, TokenId, Write,
};

/// Which part of a commit did not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The expectation with this index.
    Expect(usize),
    /// The write with this index.
    Write(usize),
}

/// One reason why a commit was not applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// Where.
    pub cause: Cause,
    /// Why.
    pub conflict: Conflict,
}

type Applied = Result<(), Conflict>;

fn holds(condition: bool, otherwise: Conflict) -> Applied {
    if condition { Ok(()) } else { Err(otherwise) }
}

impl State {
    /// Applies a commit, or changes nothing and names every reason, in the order in which they were found.
    pub fn apply(&mut self, commit: &Commit) -> Result<(), Vec<Refusal>> {
        let refusals = self.attempt(commit);
        self.finish(refusals.is_empty());
        if refusals.is_empty() { Ok(()) } else { Err(refusals) }
    }

    /// What [`Self::apply`] would say. Nothing changes.
    pub fn check(&mut self, commit: &Commit) -> Result<(), Vec<Refusal>> {
        let refusals = self.attempt(commit);
        self.finish(false);
        if refusals.is_empty() { Ok(()) } else { Err(refusals) }
    }

    fn attempt(&mut self, commit: &Commit) -> Vec<Refusal> {
        let mut refusals = vec![];
        let mut note = |cause, applied: Applied| {
            refusals.extend(applied.err().map(|conflict| Refusal { cause, conflict }));
        };
        for (index, expect) in commit.expect.iter().enumerate() {
            note(Cause::Expect(index), self.holds(&commit.realm, expect));
        }
        for (index, write) in commit.writes.iter().enumerate() {
            note(Cause::Write(index), self.write(&commit.realm, write));
        }
        for event in &commit.events {
            let position = self.last_position(&commit.realm) + 1;
            self.events.put((commit.realm.clone(), position), event.clone());
        }
        for audit in &commit.audit {
            let seq = last(&self.audit, &commit.realm) + 1;
            let row = AuditRow { seq, audit: audit.clone(), sealed: None };
            self.audit.put((commit.realm.clone(), seq), row);
        }
        refusals
    }

    fn finish(&mut self, keep: bool) {
        macro_rules! each {
            ($($table:ident),*) => {
                if keep { $(self.$table.keep();)* } else { $(self.$table.undo();)* }
            };
        }
        each!(projects, cards, boxes, entries, members, tokens, answers, events, audit, chain);
        each!(heads, copies, inbox, queue, turns, edges, correlations, steps, calls);
        each!(profiles, resources, agents, identity_edges);
        each!(batches, branches, sweeps, grants, trees);
        each!(sessions, passages);
    }

    fn holds(&self, realm: &Realm, expect: &Expect) -> Applied {
        match expect {
            Expect::OpenBox { box_id, generation, min_len, max_len } => {
                let head = self.card_box(realm, *box_id).ok_or(Conflict::Box)?;
                let long_enough = (*min_len..=*max_len).contains(&head.len);
                holds(head.generation == *generation && !head.sealed && long_enough, Conflict::Box)
            }
            Expect::ProjectAt(revision) => {
                let project = realm.project().and_then(|id| self.project(id)).ok_or(Conflict::Project)?;
                holds(project.revision == *revision, Conflict::Project)
            }
            Expect::ChainAt(head) => holds(self.chain_head(realm) == *head, Conflict::Chain),
            Expect::OutputFree { box_id, agent_id } => {
                let free = self.writers_of(realm, *box_id).all(|writer| Some(writer) == agent_id.as_ref());
                holds(free && self.card_box(realm, *box_id).is_some_and(|head| !head.sealed), Conflict::Box)
            }
            Expect::OpenTurns { at_most } => {
                holds(self.open_turns(realm).count() <= *at_most as usize, Conflict::OpenTurns)
            }
        }
    }

    fn write(&mut self, realm: &Realm, write: &Write) -> Applied {
        match write {
            Write::PutCard(card) => {
                let key = (realm.clone(), card.id);
                holds(!self.cards.has(&key), Conflict::Card)?;
                self.cards.put(key, card.as_ref().clone());
                Ok(())
            }
            Write::DeleteCard { card_id, at } => self.delete_card(realm, *card_id, *at),
            Write::CreateBox(new) => {
                let key = (realm.clone(), new.head.box_id);
                holds(!self.boxes.has(&key), Conflict::Box)?;
                self.boxes.put(key, new.head.clone());
                self.add_entries(realm, new.head.box_id, new.head.generation, 0, &new.entries)
            }
            Write::AppendCards { box_id, generation, cards } => {
                self.append(realm, *box_id, *generation, cards)
            }
            Write::RewriteBox(new) => self.rewrite(realm, new),
            Write::SealBox { box_id } => {
                let key = (realm.clone(), *box_id);
                let mut head = self.boxes.get(&key).ok_or(Conflict::Box)?.clone();
                head.sealed = true;
                self.boxes.put(key, head);
                Ok(())
            }
            Write::CreateProject(project) => {
                holds(!self.projects.has(&project.id), Conflict::Project)?;
                self.projects.put(project.id.clone(), project.clone());
                Ok(())
            }
            Write::UpdateProject(project) => self.update_project(project),
            Write::CreateToken(token) => self.create_token(realm, token),
            Write::RevokeToken { token_id, at } => self.revoke_token(realm, *token_id, *at),
            Write::RememberAnswer(answer) => {
                let key = (realm.clone(), answer.key.caller.clone(), answer.key.key.clone());
                holds(!self.answers.has(&key), Conflict::Answer)?;
                self.answers.put(key, answer.clone());
                Ok(())
            }
            Write::SealAudit { seq, head } => self.seal_audit(realm, *seq, *head),
            Write::CreateHead(head) => self.create_head(realm, head),
            Write::MoveHead { guard, to, queued, is_copied } => {
                self.move_head(realm, guard, to, *queued, *is_copied)
            }
            Write::NudgeHead { guard, nudge } => self.nudge_head(realm, guard, nudge),
            Write::Enqueue(item) => self.enqueue(realm, item),
            Write::UpdateInbox { from, item } => self.update_inbox(realm, *from, item),
            Write::AddEdge(edge) => self.add_edge(realm, edge),
            Write::CreateStep(step) => self.create_step(realm, step),
            Write::UpdateStep(step) => self.update_step(realm, step),
            Write::OpenCall(call) => self.open_call(realm, call),
            Write::UpdateCall(call) => self.update_call(realm, call),
            Write::PutProfile { was, profile } => self.put_profile(realm, *was, profile),
            Write::PutResource { was, resource } => self.put_resource(realm, *was, resource),
            Write::PutAgent { was, agent } => self.put_agent(realm, *was, agent),
            Write::AddIdentityEdge(edge) => self.add_identity_edge(realm, edge),
            Write::CreateBatch(batch) => self.create_batch(realm, batch),
            Write::BeginClose { batch_id, reason } => self.begin_close(realm, *batch_id, *reason),
            Write::CloseBatch(batch) => self.close_batch(realm, batch),
            Write::AddBranch(branch) => self.add_branch(realm, branch),
            Write::MoveBranch { from, branch } => self.move_branch(realm, *from, branch),
            Write::EndBranch(end) => {
                self.end_branch(realm, end);
                Ok(())
            }
            Write::AddSweep(sweep) => {
                self.sweeps.put(sweep_key(realm, *sweep), *sweep);
                Ok(())
            }
            Write::EndSweep(sweep) => {
                self.sweeps.remove(&sweep_key(realm, *sweep));
                Ok(())
            }
            Write::AddGrant(grant) => {
                self.add_grant(realm, grant);
                Ok(())
            }
            Write::Spend { root, turns, limit } => self.spend(realm, *root, *turns, *limit),
            Write::PutSession { was, session } => self.put_session(realm, *was, session),
            Write::PutPassage(passage) => {
                self.put_passage(realm, passage);
                Ok(())
            }
            Write::DropPassages { shelf, source } => {
                self.drop_passages(realm, shelf, source);
                Ok(())
            }
        }
    }

    fn delete_card(&mut self, realm: &Realm, card_id: CardId, at: Timestamp) -> Applied {
        let key = (realm.clone(), card_id);
        let mut card = self.cards.get(&key).ok_or(Conflict::Card)?.clone();
        holds(card.deleted_at.is_none(), Conflict::Card)?;
        card.deleted_at = Some(at);
        self.cards.put(key, card);
        if let Some(mut project) = realm.project().and_then(|id| self.projects.get(id)).cloned() {
            project.deletions += 1;
            self.projects.put(project.id.clone(), project);
        }
        Ok(())
    }

    fn append(&mut self, realm: &Realm, box_id: BoxId, generation: Generation, cards: &[CardId]) -> Applied {
        let key = (realm.clone(), box_id);
        let mut head = self.boxes.get(&key).ok_or(Conflict::Box)?.clone();
        holds(head.generation == generation && !head.sealed, Conflict::Box)?;
        let (first, count) = (head.entries, cards.len() as u32);
        head.len += count;
        head.entries += count;
        self.boxes.put(key, head);
        let entries: Vec<_> = cards.iter().copied().map(Entry::direct).collect();
        self.add_entries(realm, box_id, generation, first, &entries)
    }

    /// The stored head keeps its seal, its handover hash and its birth.
    fn rewrite(&mut self, realm: &Realm, new: &NewBox) -> Applied {
        let key = (realm.clone(), new.head.box_id);
        let mut head = self.boxes.get(&key).ok_or(Conflict::Box)?.clone();
        head.generation = new.head.generation;
        head.len = new.head.len;
        head.entries = new.head.entries;
        head.depth = new.head.depth;
        self.boxes.put(key, head);
        self.add_entries(realm, new.head.box_id, new.head.generation, 0, &new.entries)
    }

    fn add_entries(
        &mut self,
        realm: &Realm,
        box_id: BoxId,
        generation: Generation,
        first: u32,
        entries: &[Entry],
    ) -> Applied {
        for (seq, entry) in (first..).zip(entries) {
            let key = (realm.clone(), box_id, generation, seq);
            holds(!self.entries.has(&key), Conflict::Entry)?;
            if let Item::Card(card) = entry.item {
                let member = (realm.clone(), box_id, generation, card);
                holds(!self.members.has(&member), Conflict::Entry)?;
                self.members.put(member, ());
            }
            self.entries.put(key, *entry);
        }
        Ok(())
    }

    fn update_project(&mut self, new: &Project) -> Applied {
        let old = self.projects.get(&new.id).ok_or(Conflict::Project)?;
        let project = Project { deletions: old.deletions, created_at: old.created_at, ..new.clone() };
        self.projects.put(project.id.clone(), project);
        Ok(())
    }

    /// Ids and secrets are unique over all realms: a token is looked up before its realm is known.
    fn create_token(&mut self, realm: &Realm, token: &Token) -> Applied {
        let secret_is_free = self.tokens.values().all(|other| other.secret_hash != token.secret_hash);
        holds(secret_is_free && !self.tokens.has(&token.id), Conflict::Token)?;
        self.tokens.put(token.id, Token { realm: realm.clone(), ..token.clone() });
        Ok(())
    }

    fn revoke_token(&mut self, realm: &Realm, token_id: TokenId, at: Timestamp) -> Applied {
        let mut token = self.tokens.get(&token_id).ok_or(Conflict::Token)?.clone();
        holds(token.realm == *realm && token.revoked_at.is_none(), Conflict::Token)?;
        token.revoked_at = Some(at);
        self.tokens.put(token_id, token);
        Ok(())
    }

    fn seal_audit(&mut self, realm: &Realm, seq: u64, head: ChainHead) -> Applied {
        let place = (realm.clone(), head.position);
        let mut row = self.audit.get(&(realm.clone(), seq)).ok_or(Conflict::Chain)?.clone();
        holds(row.sealed.is_none() && !self.chain.has(&place), Conflict::Chain)?;
        row.sealed = Some(head);
        self.audit.put((realm.clone(), seq), row);
        self.chain.put(place, seq);
        Ok(())
    }
}
