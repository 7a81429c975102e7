//! Commits that will be applied: one to three recipes on the rows of one realm.
//!
//! Recipes know nothing of each other. Each is tried on the model together with what the commit holds already, and
//! dropped when they do not go together; what stays may well build on an earlier write of the same commit.

use super::{Generator, PROJECTS};
use crate::{
    chain::seal,
    fixtures::{BoxBuilder, ProjectBuilder, project_id},
};
use cardwire_model::{BoxHead, CardId, Commit, EntrySource, Expect, Generation, Realm, Write};

type Recipe = fn(&mut Generator, &mut Commit) -> Option<()>;

/// With their weights. What only projects have comes first.
const OF_PROJECTS: &[(usize, Recipe)] = &[
    (14, Generator::put_cards),
    (12, Generator::put_and_append),
    (12, Generator::append_known),
    (10, Generator::create_box),
    (8, Generator::rewrite_box),
    (3, Generator::seal_box),
    (7, Generator::delete_card),
    (4, Generator::delete_fresh_card),
    (4, Generator::fill_and_seal_box),
    (5, Generator::update_project),
    (7, Generator::create_head),
    (12, Generator::move_head),
    (10, Generator::nudge_head),
    (12, Generator::enqueue_turn),
    (6, Generator::enqueue_report),
    (10, Generator::update_inbox),
    (8, Generator::enqueue_alone),
    (6, Generator::enqueue_counted),
    (5, Generator::run_turn),
    (10, Generator::add_edge),
    (6, Generator::create_step),
    (5, Generator::update_step),
    (8, Generator::open_call),
    (6, Generator::update_call),
    (5, Generator::put_profile),
    (5, Generator::put_resource),
    (5, Generator::put_agent),
    (3, Generator::add_identity_edge),
    (8, Generator::fork),
    (4, Generator::add_branch),
    (6, Generator::enqueue_branch),
    (9, Generator::move_branch),
    (8, Generator::end_branches),
    (4, Generator::begin_close),
    (4, Generator::close_batch),
    (4, Generator::close_amid_ends),
    (4, Generator::add_sweep),
    (4, Generator::end_sweep),
    (4, Generator::add_grant),
    (5, Generator::spend),
    (9, Generator::put_session),
    (9, Generator::put_passages),
    (4, Generator::drop_passages),
];

const OF_ALL: &[(usize, Recipe)] = &[
    (4, Generator::create_token),
    (3, Generator::revoke_token),
    (7, Generator::remember_answer),
    (8, Generator::seal_audit),
    (2, Generator::nothing),
];

impl Generator {
    pub(super) fn sound(&mut self) -> Commit {
        if self.projects.len() < PROJECTS && (self.projects.is_empty() || self.rng.chance(1)) {
            return self.create_project();
        }
        let mut commit = Commit::new(self.any_realm());
        let recipes = if self.rng.chance(50) { 1 } else { self.rng.between(2, 3) };
        for _ in 0..recipes {
            let mut longer = commit.clone();
            let recipe = self.recipe(&commit.realm);
            if recipe(self, &mut longer).is_some() && self.model.check(&longer).is_ok() {
                commit = longer;
            }
        }
        commit
    }

    fn recipe(&mut self, realm: &Realm) -> Recipe {
        let of_projects = if realm.project().is_some() { OF_PROJECTS } else { &[] };
        let all = || of_projects.iter().chain(OF_ALL);
        let mut at = self.rng.below(all().map(|(weight, _)| weight).sum());
        for (weight, recipe) in all() {
            match at.checked_sub(*weight) {
                Some(rest) => at = rest,
                None => return *recipe,
            }
        }
        Self::nothing
    }

    fn create_project(&mut self) -> Commit {
        let id = project_id(&format!("project-{}", self.projects.len()));
        let mut project = ProjectBuilder::new(id.clone()).at(self.moment()).build();
        project.title = self.rng.chance(50).then(|| self.text());
        let mut commit = Commit::new(id);
        commit.writes.push(Write::CreateProject(project));
        commit
    }

    /// A commit of events and audit rows alone, or of nothing at all.
    fn nothing(&mut self, _commit: &mut Commit) -> Option<()> {
        Some(())
    }

    fn put_cards(&mut self, commit: &mut Commit) -> Option<()> {
        for _ in 0..self.rng.between(1, 3) {
            // Now and then an id that another project has: two unrelated cards (CB-08).
            let elsewhere = self.any_known_realm();
            let id = if self.rng.chance(15) { self.some_card(&elsewhere) } else { None };
            let id = id.unwrap_or_else(|| self.ids.card());
            commit.writes.push(Write::PutCard(Box::new(self.card(id))));
        }
        Some(())
    }

    /// What an append relies on: exactly this length, or only room for more.
    fn open(&mut self, head: &BoxHead) -> Expect {
        let (min_len, max_len) = match self.rng.below(3) {
            0 => (head.len, head.len),
            1 => (0, head.len + 10),
            _ => (0, u32::MAX),
        };
        Expect::OpenBox { box_id: head.box_id, generation: head.generation, min_len, max_len }
    }

    fn append(&mut self, commit: &mut Commit, head: &BoxHead, cards: Vec<CardId>) {
        if self.rng.chance(70) {
            let open = self.open(head);
            commit.expect.push(open);
        }
        commit.writes.push(Write::AppendCards { box_id: head.box_id, generation: head.generation, cards });
    }

    fn put_and_append(&mut self, commit: &mut Commit) -> Option<()> {
        let head = self.find_box(&commit.realm, |head| !head.sealed)?;
        let ids = self.ids.cards(self.rng.between(1, 4));
        for id in &ids {
            commit.writes.push(Write::PutCard(Box::new(self.card(*id))));
        }
        self.append(commit, &head, ids);
        Some(())
    }

    fn append_known(&mut self, commit: &mut Commit) -> Option<()> {
        let realm = commit.realm.clone();
        let head = self.find_box(&realm, |head| !head.sealed)?;
        let mut cards = vec![];
        for _ in 0..self.rng.between(1, 4) {
            cards.extend(self.find_card(&realm, |model, id| {
                !model.is_member(&realm, head.box_id, head.generation, id) && !cards.contains(&id)
            }));
        }
        self.append(commit, &head, cards);
        Some(())
    }

    /// A box of known cards and segments of other boxes.
    fn filled(&mut self, realm: &Realm, mut new: BoxBuilder) -> BoxBuilder {
        let mut used = vec![];
        for _ in 0..self.rng.below(4) {
            let source = match self.rng.below(5) {
                0 => EntrySource::Argument(self.rng.below(5) as u16),
                1 => EntrySource::Parent,
                2 => EntrySource::Inherited,
                3 => EntrySource::Copied(self.ids.card_box(), Generation::new(1 + self.rng.below(3) as u32)),
                _ => EntrySource::Direct,
            };
            if let Some(card) = self.find_card(realm, |_, id| !used.contains(&id)) {
                used.push(card);
                new = new.card_from(card, source);
            }
        }
        if self.rng.chance(30)
            && let Some(source) = self.find_box(realm, |head| head.len > 0 && head.depth < 8)
        {
            new = new.segment(&source, self.rng.between(1, source.len as usize) as u32);
        }
        new
    }

    fn create_box(&mut self, commit: &mut Commit) -> Option<()> {
        let mut new = BoxBuilder::new(self.ids.card_box()).at(self.moment());
        if let Some(hash) = self.some_hash() {
            new = new.handover(hash);
        }
        let new = self.filled(&commit.realm, new).build();
        commit.writes.push(Write::CreateBox(new));
        Some(())
    }

    /// Mostly with the expectation a decision would state; a store also takes it without, even for a sealed box.
    fn rewrite_box(&mut self, commit: &mut Commit) -> Option<()> {
        let relies = self.rng.chance(80);
        let head = self.find_box(&commit.realm, |head| !relies || !head.sealed)?;
        if relies {
            let open = self.open(&head);
            commit.expect.push(open);
        }
        // The store keeps the old time and hash, whatever stands here.
        let new = BoxBuilder::next_of(&head).at(self.moment()).handover(self.ids.hash());
        let new = self.filled(&commit.realm, new).build();
        commit.writes.push(Write::RewriteBox(new));
        Some(())
    }

    fn seal_box(&mut self, commit: &mut Commit) -> Option<()> {
        let box_id = self.some_box(&commit.realm)?;
        commit.writes.push(Write::SealBox { box_id });
        Some(())
    }

    /// Three writes of which each needs the one before it.
    fn fill_and_seal_box(&mut self, commit: &mut Commit) -> Option<()> {
        let new = BoxBuilder::new(self.ids.card_box()).at(self.moment()).build();
        let (box_id, generation) = (new.head.box_id, new.head.generation);
        let card = self.ids.card();
        commit.writes.push(Write::CreateBox(new));
        commit.writes.push(Write::PutCard(Box::new(self.card(card))));
        commit.writes.push(Write::AppendCards { box_id, generation, cards: vec![card] });
        if self.rng.chance(50) {
            commit.writes.push(Write::SealBox { box_id });
        }
        Some(())
    }

    fn delete_card(&mut self, commit: &mut Commit) -> Option<()> {
        let realm = commit.realm.clone();
        let is_live = |model: &crate::reference::State, id| {
            model.card(&realm, id).is_some_and(|card| card.deleted_at.is_none())
        };
        let card_id = self.find_card(&realm, is_live)?;
        commit.writes.push(Write::DeleteCard { card_id, at: self.moment() });
        Some(())
    }

    fn delete_fresh_card(&mut self, commit: &mut Commit) -> Option<()> {
        let card_id = self.ids.card();
        commit.writes.push(Write::PutCard(Box::new(self.card(card_id))));
        commit.writes.push(Write::DeleteCard { card_id, at: self.moment() });
        Some(())
    }

    fn update_project(&mut self, commit: &mut Commit) -> Option<()> {
        let project = self.model.project(commit.realm.project()?)?.clone();
        commit.expect.push(Expect::ProjectAt(project.revision));
        let changed = self.changed(&project);
        commit.writes.push(Write::UpdateProject(changed));
        Some(())
    }

    fn create_token(&mut self, commit: &mut Commit) -> Option<()> {
        let token = self.token(&commit.realm);
        commit.writes.push(Write::CreateToken(token));
        Some(())
    }

    fn revoke_token(&mut self, commit: &mut Commit) -> Option<()> {
        let realm = commit.realm.clone();
        let token = self.find_token(|token| token.realm == realm && token.revoked_at.is_none())?;
        commit.writes.push(Write::RevokeToken { token_id: token.id, at: self.moment() });
        Some(())
    }

    fn remember_answer(&mut self, commit: &mut Commit) -> Option<()> {
        let answer = self.answer();
        commit.writes.push(Write::RememberAnswer(answer));
        Some(())
    }

    fn seal_audit(&mut self, commit: &mut Commit) -> Option<()> {
        let rows = self.model.unsealed(&commit.realm, self.rng.between(1, 20));
        let sealing = seal(&commit.realm, self.model.chain_head(&commit.realm), &rows);
        commit.expect.extend(sealing.expect);
        commit.writes.extend(sealing.writes);
        Some(())
    }
}
