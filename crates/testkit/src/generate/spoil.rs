//! The ways in which a commit can come too late or be wrong: one per reason a store can find.
//!
//! A spoiler is put at a random place among the writes or expectations, so that conflicts come early and late.

use super::{Generator, SPOILED, SPOILED_TWICE};
use crate::fixtures::{BoxBuilder, ProjectBuilder};
use cardwire_model::{
    BoxHead, CardId, ChainHead, Commit, Expect, Generation, Hash256, Item, Realm, Revision, Token, Write,
};

macro_rules! spoilers {
    ($($(#[$doc:meta])* $name:ident = $make:ident,)*) => {
        /// Why a commit must be refused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Spoiler {
            $($(#[$doc])* $name,)*
        }

        impl Spoiler {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            fn apply(self, generator: &mut Generator, commit: &mut Commit) -> Option<()> {
                match self {
                    $(Self::$name => generator.$make(commit),)*
                }
            }
        }
    };
}

spoilers! {
    /// The id has a card.
    PutTakenCard = put_taken_card,
    /// One commit writes an id twice.
    PutCardTwice = put_card_twice,
    /// There is no such card.
    DeleteAbsentCard = delete_absent_card,
    /// Somebody deleted it before.
    DeleteDeletedCard = delete_deleted_card,
    /// Another project has the card.
    DeleteForeignCard = delete_foreign_card,
    /// The id has a box.
    CreateTakenBox = create_taken_box,
    /// A new box lists a card twice.
    CreateBoxWithRepeat = create_box_with_repeat,
    /// The box is at another generation.
    AppendToOtherGeneration = append_to_other_generation,
    /// The box is sealed.
    AppendToSealedBox = append_to_sealed_box,
    /// There is no such box.
    AppendToAbsentBox = append_to_absent_box,
    /// The card is an entry already.
    AppendMember = append_member,
    /// One append lists a card twice.
    AppendCardTwice = append_card_twice,
    /// There is no such box.
    RewriteAbsentBox = rewrite_absent_box,
    /// There is no such box.
    SealAbsentBox = seal_absent_box,
    /// The name is taken.
    CreateTakenProject = create_taken_project,
    /// There is no such project.
    UpdateAbsentProject = update_absent_project,
    /// The id has a token, maybe in another realm.
    CreateTakenToken = create_taken_token,
    /// The secret belongs to a token, maybe in another realm.
    CreateTokenWithTakenSecret = create_token_with_taken_secret,
    /// There is no such token.
    RevokeAbsentToken = revoke_absent_token,
    /// Somebody revoked it before.
    RevokeRevokedToken = revoke_revoked_token,
    /// Another realm has the token.
    RevokeForeignToken = revoke_foreign_token,
    /// The key has an answer.
    RememberTakenAnswer = remember_taken_answer,
    /// There is no such audit row.
    SealAbsentRow = seal_absent_row,
    /// The row is sealed already.
    SealSealedRow = seal_sealed_row,
    /// The place in the chain is taken.
    SealAtTakenPlace = seal_at_taken_place,
    /// The box is at another generation.
    ExpectOtherGeneration = expect_other_generation,
    /// The box is sealed.
    ExpectOpenButSealed = expect_open_but_sealed,
    /// There is no such box.
    ExpectAbsentBox = expect_absent_box,
    /// The box shows fewer cards.
    ExpectLongerBox = expect_longer_box,
    /// The box shows more cards.
    ExpectShorterBox = expect_shorter_box,
    /// The project was changed.
    ExpectOtherRevision = expect_other_revision,
    /// There is no such project.
    ExpectAbsentProject = expect_absent_project,
    /// The chain is longer or shorter.
    ExpectOtherChainLength = expect_other_chain_length,
    /// The chain ends in another hash.
    ExpectOtherChainHash = expect_other_chain_hash,
}

impl Generator {
    /// Spoils some of the commits, and says how.
    pub(super) fn spoil(&mut self, commit: &mut Commit) -> Vec<Spoiler> {
        let mut done = vec![];
        if self.projects.is_empty() || !self.rng.chance(SPOILED) {
            return done;
        }
        let wanted = if self.rng.chance(SPOILED_TWICE) { 2 } else { 1 };
        // Some spoilers need rows that are not there yet: then another one is tried.
        for _ in 0..40 {
            let Some(spoiler) = self.rng.pick(Spoiler::ALL).copied() else { break };
            if done.len() < wanted && spoiler.apply(self, commit).is_some() {
                done.push(spoiler);
            }
        }
        done
    }

    fn insert(&mut self, commit: &mut Commit, write: Write) -> Option<()> {
        let place = self.rng.below(commit.writes.len() + 1);
        commit.writes.insert(place, write);
        Some(())
    }

    fn expect(&mut self, commit: &mut Commit, expect: Expect) -> Option<()> {
        let place = self.rng.below(commit.expect.len() + 1);
        commit.expect.insert(place, expect);
        Some(())
    }

    fn put_taken_card(&mut self, commit: &mut Commit) -> Option<()> {
        let id = self.some_card(&commit.realm)?;
        let card = self.card(id);
        self.insert(commit, Write::PutCard(Box::new(card)))
    }

    fn put_card_twice(&mut self, commit: &mut Commit) -> Option<()> {
        self.model.project(commit.realm.project()?)?;
        let id = self.ids.card();
        for _ in 0..2 {
            let card = self.card(id);
            self.insert(commit, Write::PutCard(Box::new(card)))?;
        }
        Some(())
    }

    fn delete(&mut self, commit: &mut Commit, card_id: CardId) -> Option<()> {
        let at = self.moment();
        self.insert(commit, Write::DeleteCard { card_id, at })
    }

    fn delete_absent_card(&mut self, commit: &mut Commit) -> Option<()> {
        let id = self.ids.card();
        self.delete(commit, id)
    }

    fn delete_deleted_card(&mut self, commit: &mut Commit) -> Option<()> {
        let realm = commit.realm.clone();
        let id = self.find_card(&realm, |model, id| {
            model.card(&realm, id).is_some_and(|card| card.deleted_at.is_some())
        })?;
        self.delete(commit, id)
    }

    fn delete_foreign_card(&mut self, commit: &mut Commit) -> Option<()> {
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

    fn create_taken_box(&mut self, commit: &mut Commit) -> Option<()> {
        let head = self.find_box(&commit.realm, |_| true)?;
        self.insert(commit, Write::CreateBox(BoxBuilder::new(head.box_id).build()))
    }

    fn create_box_with_repeat(&mut self, commit: &mut Commit) -> Option<()> {
        let card = self.some_card(&commit.realm)?;
        let new = BoxBuilder::new(self.ids.card_box()).cards(&[card, card]).build();
        self.insert(commit, Write::CreateBox(new))
    }

    fn insert_append(
        &mut self,
        commit: &mut Commit,
        head: &BoxHead,
        generation: Generation,
        cards: Vec<CardId>,
    ) -> Option<()> {
        self.insert(commit, Write::AppendCards { box_id: head.box_id, generation, cards })
    }

    fn append_to_other_generation(&mut self, commit: &mut Commit) -> Option<()> {
        let head = self.find_box(&commit.realm, |_| true)?;
        let card = self.some_card(&commit.realm)?;
        let other = other_generation(&head);
        self.insert_append(commit, &head, other, vec![card])
    }

    fn append_to_sealed_box(&mut self, commit: &mut Commit) -> Option<()> {
        let head = self.find_box(&commit.realm, |head| head.sealed)?;
        let card = self.some_card(&commit.realm)?;
        self.insert_append(commit, &head, head.generation, vec![card])
    }

    fn append_to_absent_box(&mut self, commit: &mut Commit) -> Option<()> {
        let card = self.some_card(&commit.realm)?;
        let (box_id, generation) = (self.ids.card_box(), Generation::FIRST);
        self.insert(commit, Write::AppendCards { box_id, generation, cards: vec![card] })
    }

    fn append_member(&mut self, commit: &mut Commit) -> Option<()> {
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

    fn append_card_twice(&mut self, commit: &mut Commit) -> Option<()> {
        let head = self.find_box(&commit.realm, |head| !head.sealed)?;
        let card = self.some_card(&commit.realm)?;
        self.insert_append(commit, &head, head.generation, vec![card, card])
    }

    fn rewrite_absent_box(&mut self, commit: &mut Commit) -> Option<()> {
        let new = BoxBuilder::new(self.ids.card_box()).generation(Generation::new(2)).build();
        self.insert(commit, Write::RewriteBox(new))
    }

    fn seal_absent_box(&mut self, commit: &mut Commit) -> Option<()> {
        let box_id = self.ids.card_box();
        self.insert(commit, Write::SealBox { box_id })
    }

    fn create_taken_project(&mut self, commit: &mut Commit) -> Option<()> {
        let taken = self.model.project(commit.realm.project()?)?.id.clone();
        let project = ProjectBuilder::new(taken).title("thief").build();
        self.insert(commit, Write::CreateProject(project))
    }

    /// Replaces the commit: its other writes would have no project to go to.
    fn update_absent_project(&mut self, commit: &mut Commit) -> Option<()> {
        let ghost = self.ghost();
        *commit = Commit::new(ghost.clone());
        commit.writes.push(Write::RememberAnswer(self.answer()));
        let project = ProjectBuilder::new(ghost).build();
        self.insert(commit, Write::UpdateProject(project))
    }

    fn create_taken_token(&mut self, commit: &mut Commit) -> Option<()> {
        let taken = self.find_token(|_| true)?;
        let token = Token { id: taken.id, ..self.token(&commit.realm) };
        self.insert(commit, Write::CreateToken(token))
    }

    fn create_token_with_taken_secret(&mut self, commit: &mut Commit) -> Option<()> {
        let taken = self.find_token(|_| true)?;
        let token = Token { secret_hash: taken.secret_hash, ..self.token(&commit.realm) };
        self.insert(commit, Write::CreateToken(token))
    }

    fn revoke(&mut self, commit: &mut Commit, token_id: cardwire_model::TokenId) -> Option<()> {
        let at = self.moment();
        self.insert(commit, Write::RevokeToken { token_id, at })
    }

    fn revoke_absent_token(&mut self, commit: &mut Commit) -> Option<()> {
        let id = self.ids.token();
        self.revoke(commit, id)
    }

    fn revoke_revoked_token(&mut self, commit: &mut Commit) -> Option<()> {
        let realm = commit.realm.clone();
        let token = self.find_token(|token| token.realm == realm && token.revoked_at.is_some())?;
        self.revoke(commit, token.id)
    }

    fn revoke_foreign_token(&mut self, commit: &mut Commit) -> Option<()> {
        let realm = commit.realm.clone();
        let token = self.find_token(|token| token.realm != realm && token.revoked_at.is_none())?;
        self.revoke(commit, token.id)
    }

    fn remember_taken_answer(&mut self, commit: &mut Commit) -> Option<()> {
        let mut answer = self.answer();
        let taken = self.some_answer(&commit.realm)?;
        // The same caller and key, but another request: still taken.
        answer.key = cardwire_model::AnswerKey { request_hash: answer.key.request_hash, ..taken };
        self.insert(commit, Write::RememberAnswer(answer))
    }

    fn seal(&mut self, commit: &mut Commit, seq: u64, position: u64) -> Option<()> {
        let head = ChainHead { position, hash: self.ids.hash() };
        self.insert(commit, Write::SealAudit { seq, head })
    }

    fn seal_absent_row(&mut self, commit: &mut Commit) -> Option<()> {
        let position = self.model.chain_head(&commit.realm).position + FAR;
        self.seal(commit, ABSENT_SEQ, position)
    }

    fn seal_sealed_row(&mut self, commit: &mut Commit) -> Option<()> {
        let sealed: Vec<u64> = self.model.audit_chain(&commit.realm, 0).map(|row| row.seq).collect();
        let seq = *self.rng.pick(&sealed)?;
        let position = self.model.chain_head(&commit.realm).position + FAR;
        self.seal(commit, seq, position)
    }

    fn seal_at_taken_place(&mut self, commit: &mut Commit) -> Option<()> {
        let seq = self.model.unsealed(&commit.realm, 1).first()?.seq;
        let head = self.model.chain_head(&commit.realm);
        let position = 1 + self.rng.below(usize::try_from(head.position).ok().filter(|len| *len > 0)?) as u64;
        self.seal(commit, seq, position)
    }

    fn expect_box(&mut self, commit: &mut Commit, head: &BoxHead, lens: (u32, u32)) -> Option<()> {
        let (box_id, generation) = (head.box_id, head.generation);
        self.expect(commit, Expect::OpenBox { box_id, generation, min_len: lens.0, max_len: lens.1 })
    }

    fn expect_other_generation(&mut self, commit: &mut Commit) -> Option<()> {
        let mut head = self.find_box(&commit.realm, |head| !head.sealed)?;
        head.generation = other_generation(&head);
        self.expect_box(commit, &head, (0, u32::MAX))
    }

    fn expect_open_but_sealed(&mut self, commit: &mut Commit) -> Option<()> {
        let head = self.find_box(&commit.realm, |head| head.sealed)?;
        self.expect_box(commit, &head, (0, u32::MAX))
    }

    fn expect_absent_box(&mut self, commit: &mut Commit) -> Option<()> {
        let absent = BoxBuilder::new(self.ids.card_box()).build();
        self.expect_box(commit, &absent.head, (0, u32::MAX))
    }

    fn expect_longer_box(&mut self, commit: &mut Commit) -> Option<()> {
        let head = self.find_box(&commit.realm, |head| !head.sealed)?;
        self.expect_box(commit, &head, (head.len + 1, u32::MAX))
    }

    fn expect_shorter_box(&mut self, commit: &mut Commit) -> Option<()> {
        let head = self.find_box(&commit.realm, |head| !head.sealed && head.len > 0)?;
        self.expect_box(commit, &head, (0, head.len - 1))
    }

    fn expect_other_revision(&mut self, commit: &mut Commit) -> Option<()> {
        let revision = self.model.project(commit.realm.project()?)?.revision;
        let other = if self.rng.chance(50) { revision.next() } else { Revision::new(revision.get() - 1) };
        self.expect(commit, Expect::ProjectAt(other))
    }

    /// Replaces the commit, as [`Self::update_absent_project`] does.
    fn expect_absent_project(&mut self, commit: &mut Commit) -> Option<()> {
        let realm = if self.rng.chance(20) { Realm::System } else { self.ghost().into() };
        *commit = Commit::new(realm);
        commit.writes.push(Write::RememberAnswer(self.answer()));
        self.expect(commit, Expect::ProjectAt(Revision::FIRST))
    }

    fn expect_other_chain_length(&mut self, commit: &mut Commit) -> Option<()> {
        let head = self.model.chain_head(&commit.realm);
        self.expect(commit, Expect::ChainAt(ChainHead { position: head.position + 1, ..head }))
    }

    fn expect_other_chain_hash(&mut self, commit: &mut Commit) -> Option<()> {
        let head = self.model.chain_head(&commit.realm);
        // An empty chain has one end only; another hash there is a value that nobody can have read.
        if head == ChainHead::START {
            return None;
        }
        let hash = Hash256::of(head.hash.as_bytes());
        self.expect(commit, Expect::ChainAt(ChainHead { hash, ..head }))
    }
}

/// The one before, if there is one, else one that will not come: a rewrite in the same commit must not reach it.
fn other_generation(head: &BoxHead) -> Generation {
    let current = head.generation.get();
    Generation::new(if current > 1 { current - 1 } else { current + 9 })
}

/// Past every place that the same commit could seal.
const FAR: u64 = 1_000;
/// No row has this number.
pub(crate) const ABSENT_SEQ: u64 = i64::MAX as u64;
