//! Rows that people lost or damaged with the tools of the database (DP-14, WD-08, WD-10).

use cardwire_model::{Commit, InboxItem, InboxStatus, Keys, PayloadFault, Realm, TurnPayload, Write};
use cardwire_store::{ClaimQuery, DecideClaim, Horizon, RowFilter, Store, Turns};
use cardwire_testkit::{
    ProjectBuilder, SeededIds,
    fixtures::{at, project_id, turn_item, worker_target},
    lost::{
        assert_an_unreadable_head_stops_nobody, assert_an_unreadable_turn_stops_nobody, assert_copies_survive,
    },
};
use rusqlite::params;
use std::sync::{Arc, Mutex};

#[tokio::test]
async fn a_lost_head_leaves_the_copy_of_its_last_move() {
    let (store, directory) = crate::fresh();
    let conn = crate::connect(&directory);
    assert_copies_survive(&store, async |project, agent| {
        let lose = "DELETE FROM state_agent_state_head WHERE project_id = ?1 AND agent_id = ?2";
        assert_eq!(conn.execute(lose, params![project.as_str(), agent.as_str()]).unwrap(), 1);
    })
    .await;
}

/// NF-09, WD-13
#[tokio::test]
async fn an_unreadable_head_stops_nobody() {
    for damage in ["channel_id = NULL", "status = 'x'"] {
        let (store, directory) = crate::fresh();
        let conn = crate::connect(&directory);
        assert_an_unreadable_head_stops_nobody(&store, async |project, agent| {
            let spoil =
                format!("UPDATE state_agent_state_head SET {damage} WHERE project_id = ?1 AND agent_id = ?2");
            assert_eq!(conn.execute(&spoil, params![project.as_str(), agent.as_str()]).unwrap(), 1);
        })
        .await;
    }
}

/// NF-09, WD-13
#[tokio::test]
async fn an_unreadable_turn_stops_nobody() {
    for damage in ["worker_target = ''", "status = 'x'", "agent_turn_id = x'00'"] {
        let (store, directory) = crate::fresh();
        let conn = crate::connect(&directory);
        assert_an_unreadable_turn_stops_nobody(&store, async |project, item| {
            let spoil =
                format!("UPDATE state_agent_inbox SET {damage} WHERE project_id = ?1 AND inbox_id = ?2");
            let row = params![project.as_str(), item.uuid().into_bytes()];
            assert_eq!(conn.execute(&spoil, row).unwrap(), 1);
        })
        .await;
    }
}

#[tokio::test]
async fn a_damaged_inbox_row_is_still_read_claimed_and_put_away() {
    let (store, directory) = crate::fresh();
    let (project, mut ids) = (project_id("p1"), SeededIds::new(3));
    let box_id = ids.card_box();
    let item = turn_item(&mut ids, "a", box_id);
    let mut commit = Commit::new(project.clone());
    commit.writes.push(Write::CreateProject(ProjectBuilder::new(project.clone()).build()));
    commit.writes.push(Write::Enqueue(Box::new(item.clone())));
    store.commit(commit).await.unwrap();

    let conn = crate::connect(&directory);
    for (damage, payload) in [
        ("payload = '{', channel_id = NULL, depth = NULL, trace_id = NULL", "{"),
        ("payload = '', channel_id = 'not a name', depth = -1", ""),
        // Not even text.
        ("payload = CAST(x'ff' AS TEXT), channel_id = CAST(x'ff' AS TEXT)", "\u{fffd}"),
    ] {
        conn.execute(&format!("UPDATE state_agent_inbox SET {damage}"), []).unwrap();
        let damaged = InboxItem {
            seq: 1,
            channel: None,
            depth: None,
            trace_id: None,
            payload: payload.to_owned(),
            ..item.clone()
        };
        assert_eq!(TurnPayload::from_stored(&damaged.payload), Err(PayloadFault::InvalidJson));
        let listed = store.inbox(&project, &RowFilter::default(), None, 9).await.unwrap();
        assert_eq!(listed, std::slice::from_ref(&damaged), "{damage}");
        let keys = Keys { turn: Some(item.turn_id), depth_of: Some(item.turn_id), ..Keys::default() };
        let loaded = store.load(&Realm::from(project.clone()), &keys).await.unwrap();
        assert_eq!(loaded.turn.map(|turn| turn.item), Some(damaged.clone()));
        assert_eq!(loaded.depth, None);
        let now = at(1_000);
        let horizon =
            Horizon { dispatched: now, running: now, resume: now, pending: now, processing: now, given: now };
        let due = store.due_items(&horizon, None, 9).await.unwrap();
        assert_eq!(due.len(), 1);
        assert_eq!(due[0].item, Some(damaged));
    }

    let given = Arc::new(Mutex::new(vec![]));
    let seen = Arc::clone(&given);
    let put_away: DecideClaim = Arc::new(move |project, rows| {
        let mut commit = Commit::new(project.clone());
        for row in rows {
            let (from, item) = (row.item.status, InboxItem { status: InboxStatus::Error, ..row.item });
            seen.lock().unwrap().push(item.id);
            commit.writes.push(Write::UpdateInbox { from, item: Box::new(item) });
        }
        commit
    });
    let query = ClaimQuery { worker_target: worker_target("generic"), projects: None, now: at(1), limit: 9 };
    assert_eq!(store.claim(&query, put_away).await.unwrap(), [project]);
    assert_eq!(*given.lock().unwrap(), [item.id]);
}
