//! Spoilers of cards and boxes.

use super::Generator;
use crate::fixtures::BoxBuilder;
use cardwire_model::{BoxHead, CardId, Commit, Expect, Generation, Item, Write};

impl Generator {
    pub(super) fn put_taken_card(&mut self, commit: &mut Commit) -> Option<()> {
        let id = self.some_card(&commit.realm)?;
        let card = self.card(id);
        self.insert(commit, Write::PutCard(Box::new(card)))
    }

    pub(super) fn put_card_twice(&mut self, commit: &mut Commit) -> Option<()> {
        self.model.project(commit.realm.project()?)?;
        let id = self.ids.card();
        for _ in 0..2 {
            let card = self.card(id);
            self.insert(commit, Write::PutCard(Box::new(card)))?;
        }
        Some(())
    }

    pub(super) fn delete(&mut self, commit: &mut Commit, card_id: CardId) -> Option<()> {
        let at = self.moment();
        self.insert(commit, Write::DeleteCard { card_id, at })
    }

    pub(super) fn delete_absent_card(&mut self, commit: &mut Commit) -> Option<()> {
        let id = self.ids.card();
        self.delete(commit, id)
    }

    pub(super) fn delete_deleted_card(&mut self, commit: &mut Commit) -> Option<()> {
        let realm = commit.realm.clone();
        let id = self.find_card(&realm, |model, id| {
            model.card(&realm, id).is_some_and(|card| card.deleted_at.is_some())
        })?;
        self.delete(commit, id)
    }

    pub(super) fn delete_foreign_card(&mut self, commit: &mut Commit) -> Option<()> {
        let realm = commit.realm.clone();
        let elsewhere = self.any_known_realm();
        let id = self.find_card(&elsewhere, |model, id| model.card(&realm, id).is_none())?;
        // The commit itself may bring that id into its project.
        let brings = |write: &Write| matches!(write, Write::PutCard(card) if card.id == id);
        if commit.writes.iter().any(brings) {
            return None;
        }
        self.delete(commit, id)
    }

    pub(super) fn create_taken_box(&mut self, commit: &mut Commit) -> Option<()> {
        let head = self.find_box(&commit.realm, |_| true)?;
        self.insert(commit, Write::CreateBox(BoxBuilder::new(head.box_id).build()))
    }

    pub(super) fn create_box_with_repeat(&mut self, commit: &mut Commit) -> Option<()> {
        let card = self.some_card(&commit.realm)?;
        let new = BoxBuilder::new(self.ids.card_box()).cards(&[card, card]).build();
        self.insert(commit, Write::CreateBox(new))
    }

    pub(super) fn insert_append(
        &mut self,
        commit: &mut Commit,
        head: &BoxHead,
        generation: Generation,
        cards: Vec<CardId>,
    ) -> Option<()> {
        self.insert(commit, Write::AppendCards { box_id: head.box_id, generation, cards })
    }

    pub(super) fn append_to_other_generation(&mut self, commit: &mut Commit) -> Option<()> {
        let head = self.find_box(&commit.realm, |_| true)?;
        let card = self.some_card(&commit.realm)?;
        let other = other_generation(&head);
        self.insert_append(commit, &head, other, vec![card])
    }

    pub(super) fn append_to_sealed_box(&mut self, commit: &mut Commit) -> Option<()> {
        let head = self.find_box(&commit.realm, |head| head.sealed)?;
        let card = self.some_card(&commit.realm)?;
        self.insert_append(commit, &head, head.generation, vec![card])
    }

    pub(super) fn append_to_absent_box(&mut self, commit: &mut Commit) -> Option<()> {
        let card = self.some_card(&commit.realm)?;
        let (box_id, generation) = (self.ids.card_box(), Generation::FIRST);
        self.insert(commit, Write::AppendCards { box_id, generation, cards: vec![card] })
    }

    pub(super) fn append_member(&mut self, commit: &mut Commit) -> Option<()> {
        let realm = commit.realm.clone();
        let head = self.find_box(&realm, |head| !head.sealed && head.entries > 0)?;
        let entries = self.model.box_entries(&realm, head.box_id, head.generation, 0);
        let members: Vec<_> = entries
            .filter_map(|entry| match entry.item {
                Item::Card(card) => Some(card),
                Item::Segment(_) => None,
            })
            .collect();
        let member = *self.rng.pick(&members)?;
        let mut cards = vec![self.some_card(&realm)?];
        cards.retain(|card| !members.contains(card));
        cards.push(member);
        self.insert_append(commit, &head, head.generation, cards)
    }

    pub(super) fn append_card_twice(&mut self, commit: &mut Commit) -> Option<()> {
        let head = self.find_box(&commit.realm, |head| !head.sealed)?;
        let card = self.some_card(&commit.realm)?;
        self.insert_append(commit, &head, head.generation, vec![card, card])
    }

    pub(super) fn rewrite_absent_box(&mut self, commit: &mut Commit) -> Option<()> {
        let new = BoxBuilder::new(self.ids.card_box()).generation(Generation::new(2)).build();
        self.insert(commit, Write::RewriteBox(new))
    }

    pub(super) fn seal_absent_box(&mut self, commit: &mut Commit) -> Option<()> {
        let box_id = self.ids.card_box();
        self.insert(commit, Write::SealBox { box_id })
    }

    pub(super) fn expect_box(&mut self, commit: &mut Commit, head: &BoxHead, lens: (u32, u32)) -> Option<()> {
        let (box_id, generation) = (head.box_id, head.generation);
        self.expect(commit, Expect::OpenBox { box_id, generation, min_len: lens.0, max_len: lens.1 })
    }

    pub(super) fn expect_other_generation(&mut self, commit: &mut Commit) -> Option<()> {
        let mut head = self.find_box(&commit.realm, |head| !head.sealed)?;
        head.generation = other_generation(&head);
        self.expect_box(commit, &head, (0, u32::MAX))
    }

    pub(super) fn expect_open_but_sealed(&mut self, commit: &mut Commit) -> Option<()> {
        let head = self.find_box(&commit.realm, |head| head.sealed)?;
        self.expect_box(commit, &head, (0, u32::MAX))
    }

    pub(super) fn expect_absent_box(&mut self, commit: &mut Commit) -> Option<()> {
        let absent = BoxBuilder::new(self.ids.card_box()).build();
        self.expect_box(commit, &absent.head, (0, u32::MAX))
    }

    pub(super) fn expect_longer_box(&mut self, commit: &mut Commit) -> Option<()> {
        let head = self.find_box(&commit.realm, |head| !head.sealed)?;
        self.expect_box(commit, &head, (head.len + 1, u32::MAX))
    }

    pub(super) fn expect_shorter_box(&mut self, commit: &mut Commit) -> Option<()> {
        let head = self.find_box(&commit.realm, |head| !head.sealed && head.len > 0)?;
        self.expect_box(commit, &head, (0, head.len - 1))
    }
}

/// The one before, if there is one, else one that will not come: a rewrite in the same commit must not reach it.
fn other_generation(head: &BoxHead) -> Generation {
    let current = head.generation.get();
    Generation::new(if current > 1 { current - 1 } else { current + 9 })
}
