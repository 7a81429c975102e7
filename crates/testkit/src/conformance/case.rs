//! What the cases share: an empty store with one project, and the two ways a commit can end.

use crate::{
    differential::settle,
    dump::{Dump, dump},
    fixtures::{BoxBuilder, ProjectBuilder, SeededIds, project_id, text_card, turn_item},
};
use cardwire_model::{
    AgentId, BoxHead, BoxId, Card, CardId, Commit, Conflict, Entry, Expect, Generation, Head, InboxItem,
    InboxStatus, Item, Keys, ProjectId, Realm, Snapshot, Write,
};
use cardwire_store::{CommitError, RowFilter, Store, StoreError};
use std::{fmt::Debug, sync::Arc};

/// A store under test with the project `p1`.
pub(super) struct Case {
    pub(super) store: Arc<dyn Store>,
    pub(super) ids: SeededIds,
    pub(super) project: ProjectId,
    pub(super) realm: Realm,
}

impl Case {
    pub(super) async fn new(store: Arc<dyn Store>) -> Self {
        let project = project_id("p1");
        let case = Self { store, ids: SeededIds::new(7), realm: project.clone().into(), project };
        case.create_project("p1").await;
        case
    }

    pub(super) async fn create_project(&self, name: &str) -> ProjectId {
        let id = project_id(name);
        let project = ProjectBuilder::new(id.clone()).build();
        self.apply(commit(&id, [Write::CreateProject(project)])).await;
        id
    }

    /// A commit to the case's project.
    pub(super) fn commit(&self, writes: impl IntoIterator<Item = Write>) -> Commit {
        commit(&self.project, writes)
    }

    /// The commit must be applied.
    pub(super) async fn apply(&self, commit: Commit) {
        if let Err(error) = self.store.commit(commit.clone()).await {
            panic!("expected to be applied, got {error:?}: {commit:#?}");
        }
    }

    /// The same for writes alone.
    pub(super) async fn write(&self, writes: impl IntoIterator<Item = Write>) {
        self.apply(self.commit(writes)).await;
    }

    /// The commit must be refused with this conflict, and every row must be as it was.
    pub(super) async fn refuse(&self, commit: Commit, conflict: Conflict) {
        let before = self.dump().await;
        match self.store.commit(commit.clone()).await {
            Err(CommitError::Conflict(found)) if found == conflict => {}
            outcome => panic!("expected a {conflict:?} conflict, got {outcome:?}: {commit:#?}"),
        }
        before.assert_same(&self.dump().await, "a refused commit changed something");
    }

    /// The same for writes alone.
    pub(super) async fn refuse_write(&self, write: Write, conflict: Conflict) {
        self.refuse(self.commit([write]), conflict).await;
    }

    pub(super) async fn dump(&self) -> Dump {
        settle(self.store.as_ref()).await;
        dump(self.store.as_ref()).await
    }

    /// Writes cards with these texts.
    pub(super) async fn put(&mut self, texts: &[&str]) -> Vec<CardId> {
        let cards: Vec<_> = texts.iter().map(|text| text_card(self.ids.card(), text)).collect();
        let ids = cards.iter().map(|card| card.id).collect();
        self.write(cards.into_iter().map(put)).await;
        ids
    }

    /// Makes a box of these cards.
    pub(super) async fn create_box(&mut self, cards: &[CardId]) -> BoxId {
        let box_id = self.ids.card_box();
        self.write([Write::CreateBox(BoxBuilder::new(box_id).cards(cards).build())]).await;
        box_id
    }

    pub(super) async fn head(&self, box_id: BoxId) -> BoxHead {
        self.store.box_head(&self.project, box_id).await.unwrap().expect("the box is there").head
    }

    pub(super) async fn card(&self, id: CardId) -> Card {
        let mut cards = self.store.cards(&self.project, &[id]).await.unwrap();
        assert_eq!(cards.len(), 1, "card {id}");
        cards.remove(0)
    }

    /// The direct cards of a generation, in order.
    pub(super) async fn card_ids(&self, box_id: BoxId, generation: Generation) -> Vec<CardId> {
        let entries = self.store.box_entries(&self.project, box_id, generation, 0).await.unwrap();
        entries.iter().filter_map(card_of).collect()
    }

    pub(super) async fn deletions(&self) -> u64 {
        self.store.project(&self.project).await.unwrap().expect("the project is there").deletions
    }

    /// Puts rows into an inbox, one commit each, and answers them with their places in the queue.
    pub(super) async fn enqueue<const N: usize>(&self, items: [InboxItem; N]) -> [InboxItem; N] {
        self.enqueue_in(&self.project, items).await
    }

    /// The same in another project.
    pub(super) async fn enqueue_in<const N: usize>(
        &self,
        project: &ProjectId,
        mut items: [InboxItem; N],
    ) -> [InboxItem; N] {
        for item in &mut items {
            self.apply(commit(project, [enqueue(item)])).await;
            let of_turn = RowFilter { turn_id: Some(item.turn_id), ..RowFilter::default() };
            let found = self.store.inbox(project, &of_turn, None, 100).await.unwrap();
            *item = found.into_iter().find(|found| found.id == item.id).expect("the row is there");
        }
        items
    }

    /// An empty box, and a pending turn of an agent that writes it.
    pub(super) async fn turn(&mut self, agent: &str) -> InboxItem {
        let output_box = self.create_box(&[]).await;
        let item = turn_item(&mut self.ids, agent, output_box);
        let [item] = self.enqueue([item]).await;
        item
    }

    /// The head of an agent, which must be there.
    pub(super) async fn agent_head(&self, agent: &AgentId) -> Head {
        self.store.head(&self.project, agent).await.unwrap().expect("the head is there")
    }

    /// What a decision would see of the case's project.
    pub(super) async fn load(&self, keys: Keys) -> Snapshot {
        self.store.load(&self.realm, &keys).await.unwrap()
    }

    /// The remembered answer of the project's realm.
    pub(super) async fn answer(
        &self,
        realm: &Realm,
        key: &cardwire_model::AnswerKey,
    ) -> Option<cardwire_model::Answer> {
        let keys = Keys { answer: Some(key.clone()), ..Keys::default() };
        self.store.load(realm, &keys).await.unwrap().answer
    }
}

/// The row as it is, to be put into an inbox.
pub(super) fn enqueue(item: &InboxItem) -> Write {
    Write::Enqueue(Box::new(item.clone()))
}

pub(super) fn create_head(head: &Head) -> Write {
    Write::CreateHead(Box::new(head.clone()))
}

pub(super) fn update_inbox(from: InboxStatus, item: &InboxItem) -> Write {
    Write::UpdateInbox { from, item: Box::new(item.clone()) }
}

/// What a reader asks for, and which rows that means.
pub(super) type Check<T> = (RowFilter, Box<dyn Fn(&T) -> bool>);

/// Follows a list page by page, for several sizes of pages, and checks that it gives exactly what is expected.
pub(super) async fn assert_pages<T, K>(
    what: &str,
    expected: &[T],
    key: impl Fn(&T) -> K,
    read: impl AsyncFn(Option<K>, usize) -> Result<Vec<T>, StoreError>,
) where
    T: PartialEq + Debug,
{
    for limit in [1, 2, expected.len().max(1), expected.len() + 7] {
        let mut seen = vec![];
        loop {
            let page = read(seen.last().map(&key), limit).await.unwrap();
            assert!(page.len() <= limit, "{what}: a page of {} rows instead of {limit}", page.len());
            if page.is_empty() {
                break;
            }
            seen.extend(page);
            assert!(
                seen.len() <= expected.len(),
                "{what}: more than expected in pages of {limit}: {seen:#?}"
            );
        }
        assert_eq!(seen, expected, "{what} in pages of {limit}");
    }
}

/// A commit to any realm.
pub(super) fn commit(project: &ProjectId, writes: impl IntoIterator<Item = Write>) -> Commit {
    let mut commit = Commit::new(project.clone());
    commit.writes.extend(writes);
    commit
}

pub(super) fn put(card: Card) -> Write {
    Write::PutCard(Box::new(card))
}

pub(super) fn append(box_id: BoxId, generation: Generation, cards: &[CardId]) -> Write {
    Write::AppendCards { box_id, generation, cards: cards.to_vec() }
}

/// The box at its first generation, with a length in between.
pub(super) const fn open(box_id: BoxId, min_len: u32, max_len: u32) -> Expect {
    Expect::OpenBox { box_id, generation: Generation::FIRST, min_len, max_len }
}

pub(super) const fn card_of(entry: &Entry) -> Option<CardId> {
    match entry.item {
        Item::Card(card) => Some(card),
        Item::Segment(_) => None,
    }
}
