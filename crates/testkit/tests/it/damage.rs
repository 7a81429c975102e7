//! The ways to lose and damage rows of the reference store, for tests of how the system gets over it.

use cardwire_model::{Commit, InboxKind, Keys, Realm, Write};
use cardwire_store::{Store, Turns};
use cardwire_testkit::{
    ProjectBuilder, ReferenceStore, SeededIds,
    fixtures::{project_id, turn_item},
    lost::assert_copies_survive,
};

#[tokio::test]
async fn a_lost_head_leaves_the_copy_of_its_last_move() {
    let store = ReferenceStore::new();
    assert_copies_survive(&store, async |project, agent| store.lose_head(project, agent)).await;
}

#[tokio::test]
async fn a_damaged_row_is_read_as_damaged() {
    let (store, project) = (ReferenceStore::new(), project_id("p1"));
    let mut ids = SeededIds::new(1);
    let box_id = ids.card_box();
    let [item, other] = [turn_item(&mut ids, "a", box_id), turn_item(&mut ids, "b", box_id)];
    let mut commit = Commit::new(project.clone());
    commit.writes = vec![
        Write::CreateProject(ProjectBuilder::new(project.clone()).build()),
        Write::Enqueue(Box::new(item.clone())),
        Write::Enqueue(Box::new(other.clone())),
    ];
    store.commit(commit).await.unwrap();
    store.damage_inbox(&project, item.id, |row| {
        (row.payload, row.channel, row.trace_id) = ("{".to_owned(), None, None);
    });
    let found = store.turn(&project, item.turn_id).await.unwrap().unwrap();
    assert_eq!((found.payload.as_str(), found.channel, found.trace_id), ("{", None, None));
    // A row that is no longer a turn is not found as one; others are as they were.
    store.damage_inbox(&project, item.id, |row| row.kind = InboxKind::Stop);
    assert_eq!(store.turn(&project, item.turn_id).await.unwrap(), None);
    let keys = Keys { inbox: Some(item.id), ..Keys::default() };
    let found = store.load(&Realm::from(project.clone()), &keys).await.unwrap().inbox.unwrap();
    assert_eq!(found.kind, InboxKind::Stop);
    assert!(store.turn(&project, other.turn_id).await.unwrap().is_some());
}
