//! Rows that people lost or damaged with the tools of the database (DP-14, WD-08, WD-10).

use crate::{
    scratch::{Scratch, create_project},
    worker::{claim, query},
};
use cardwire_model::{Commit, InboxItem, Keys, Realm, Write};
use cardwire_store::{Horizon, RowFilter, Store, Turns};
use cardwire_testkit::{
    SeededIds,
    fixtures::{at, turn_item},
    lost::{
        assert_an_unreadable_head_stops_nobody, assert_an_unreadable_turn_stops_nobody, assert_copies_survive,
    },
};

#[tokio::test]
async fn a_lost_head_leaves_the_copy_of_its_last_move() {
    let scratch = Scratch::new().await;
    let store = scratch.open().await;
    assert_copies_survive(&store, async |project, agent| {
        let lose = format!(
            "DELETE FROM state_agent_state_head WHERE project_id = '{project}' AND agent_id = '{agent}' RETURNING agent_id"
        );
        assert_eq!(scratch.column(&lose).await.len(), 1);
    })
    .await;
    store.close().await;
}

/// NF-09, WD-13
#[tokio::test]
async fn an_unreadable_head_stops_nobody() {
    for damage in ["channel_id = NULL", "turn_epoch = -1"] {
        let scratch = Scratch::new().await;
        let store = scratch.open().await;
        assert_an_unreadable_head_stops_nobody(&store, async |project, agent| {
            let spoil = format!(
                "UPDATE state_agent_state_head SET {damage} WHERE project_id = '{project}' AND agent_id = '{agent}'"
            );
            scratch.execute(&spoil).await;
        })
        .await;
        store.close().await;
    }
}

/// NF-09, WD-13
#[tokio::test]
async fn an_unreadable_turn_stops_nobody() {
    for damage in ["worker_target = ''", "status = 'x'", "turn_epoch = -1"] {
        let scratch = Scratch::new().await;
        let store = scratch.open().await;
        assert_an_unreadable_turn_stops_nobody(&store, async |project, item| {
            let spoil = format!(
                "UPDATE state_agent_inbox SET {damage} WHERE project_id = '{project}' AND inbox_id = '{}'",
                item.uuid()
            );
            scratch.execute(&spoil).await;
        })
        .await;
        store.close().await;
    }
}

#[tokio::test]
async fn a_damaged_inbox_row_is_still_read_and_claimed() {
    let scratch = Scratch::new().await;
    let store = scratch.open().await;
    let project = create_project(&store, "p1").await;
    let mut ids = SeededIds::new(3);
    let box_id = ids.card_box();
    let item = turn_item(&mut ids, "a", box_id);
    let mut commit = Commit::new(project.clone());
    commit.writes.push(Write::Enqueue(Box::new(item.clone())));
    store.commit(commit).await.unwrap();
    for (damage, payload) in [
        ("payload = '{', channel_id = NULL, depth = NULL, trace_id = NULL", "{"),
        ("payload = '', channel_id = 'not a name', depth = -1", ""),
    ] {
        scratch.execute(&format!("UPDATE state_agent_inbox SET {damage}")).await;
        let payload = payload.to_owned();
        let listed = store.inbox(&project, &RowFilter::default(), None, 9).await.unwrap();
        let seq = listed[0].seq;
        let damaged = InboxItem { seq, channel: None, depth: None, trace_id: None, payload, ..item.clone() };
        assert_eq!(listed, std::slice::from_ref(&damaged), "{damage}");
        let keys = Keys { turn: Some(item.turn_id), depth_of: Some(item.turn_id), ..Keys::default() };
        let loaded = store.load(&Realm::from(project.clone()), &keys).await.unwrap();
        assert_eq!((loaded.turn.map(|turn| turn.item), loaded.depth), (Some(damaged.clone()), None));
        let now = at(1_000);
        let horizon =
            Horizon { dispatched: now, running: now, resume: now, pending: now, processing: now, given: now };
        let due = store.due_items(&horizon, None, 9).await.unwrap();
        assert_eq!(due[0].item, Some(damaged));
    }
    let claimed = claim(&store, &query(None, 9), "worker").await;
    assert_eq!(claimed[0].item.id, item.id);
    store.close().await;
}
