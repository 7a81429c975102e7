//! Commits that share a transaction, and two machines on one database.

use crate::scratch::{Scratch, create_project};
use cardwire_model::{BoxId, Commit, Conflict, Expect, Generation, ProjectId, Write};
use cardwire_store::{Catalog, CommitError, Store};
use cardwire_store_postgres::PostgresStore;
use cardwire_testkit::{
    BoxBuilder, SeededIds,
    fixtures::{agent_row, audit, event, text_card},
};
use futures_util::future::join_all;
use std::{sync::Arc, time::Duration};
use tokio::task::JoinSet;

fn append(project: &ProjectId, ids: &mut SeededIds, box_id: BoxId) -> Commit {
    let card = text_card(ids.card(), "x");
    let mut commit = Commit::new(project.clone());
    let generation = Generation::FIRST;
    commit.expect.push(Expect::OpenBox { box_id, generation, min_len: 0, max_len: 5_000 });
    commit.writes.push(Write::AppendCards { box_id, generation, cards: vec![card.id] });
    commit.events.push(event(ids.event(), &card.id.to_string(), None));
    commit.writes.insert(0, Write::PutCard(Box::new(card)));
    commit
}

/// The point of sharing: many commits, few transactions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn independent_commits_share_transactions() {
    let scratch = Scratch::new().await;
    let store = scratch.open().await;
    let project = create_project(&store, "p").await;
    let mut ids = SeededIds::new(1);
    let boxes: Vec<_> = (0..200).map(|_| ids.card_box()).collect();
    let mut commit = Commit::new(project.clone());
    commit.writes.extend(boxes.iter().map(|id| Write::CreateBox(BoxBuilder::new(*id).build())));
    store.commit(commit).await.unwrap();

    let commits: Vec<_> = boxes.iter().map(|id| append(&project, &mut ids, *id)).collect();
    for outcome in join_all(commits.into_iter().map(|commit| store.commit(commit))).await {
        outcome.unwrap();
    }
    let transactions = scratch.column("SELECT count(DISTINCT xmin::text)::text FROM events").await;
    let transactions: usize = transactions[0].parse().unwrap();
    assert!(transactions <= 50, "200 commits in {transactions} transactions");
    for id in boxes {
        assert_eq!(store.box_head(&project, id).await.unwrap().unwrap().head.len, 1);
    }
    store.close().await;
}

/// A commit that is refused does not take along those it travelled with, whatever it is refused for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_commit_leaves_its_neighbours_alone() {
    let scratch = Scratch::new().await;
    let store = scratch.open().await;
    let project = create_project(&store, "p").await;
    let mut ids = SeededIds::new(1);
    let boxes: Vec<_> = (0..90).map(|_| ids.card_box()).collect();
    let mut commit = Commit::new(project.clone());
    // Every third box does not exist, every third is sealed.
    for (number, id) in boxes.iter().enumerate().filter(|(number, _)| number % 3 != 0) {
        commit.writes.push(Write::CreateBox(BoxBuilder::new(*id).build()));
        if number % 3 == 1 {
            commit.writes.push(Write::SealBox { box_id: *id });
        }
    }
    store.commit(commit).await.unwrap();
    let commits: Vec<_> = boxes.iter().map(|id| append(&project, &mut ids, *id)).collect();
    let outcomes = join_all(commits.into_iter().map(|commit| store.commit(commit))).await;
    for (number, outcome) in outcomes.into_iter().enumerate() {
        match outcome {
            Ok(()) if number % 3 == 2 => {}
            Err(CommitError::Conflict(Conflict::Box)) if number % 3 != 2 => {}
            outcome => panic!("commit {number} ended with {outcome:?}"),
        }
    }
    assert_eq!(store.number_events().await.unwrap(), 30);
    store.close().await;
}

/// CB-12 across machines: appends to one box from two stores lose nothing; commits that lock several boxes in
/// different orders do not wait for each other for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_machines_append_to_the_same_boxes() {
    let scratch = Scratch::new().await;
    let stores = [scratch.open().await, scratch.open().await];
    let project = create_project(&stores[0], "p").await;
    let mut ids = SeededIds::new(1);
    let boxes = [ids.card_box(), ids.card_box(), ids.card_box()];
    let mut commit = Commit::new(project.clone());
    commit.writes.extend(boxes.iter().map(|id| Write::CreateBox(BoxBuilder::new(*id).build())));
    stores[0].commit(commit).await.unwrap();

    let mut work = vec![];
    for round in 0..60 {
        let mut commit = append(&project, &mut ids, boxes[round % 3]);
        // A second and third box, in another order every time.
        for step in 1..3 {
            let other = append(&project, &mut ids, boxes[(round + step * (1 + round % 2)) % 3]);
            commit.expect.extend(other.expect);
            commit.writes.extend(other.writes);
        }
        work.push(stores[round % 2].commit(commit));
    }
    for outcome in join_all(work).await {
        outcome.unwrap();
    }
    let mut shown = 0;
    for id in boxes {
        let head = stores[0].box_head(&project, id).await.unwrap().unwrap().head;
        let entries = stores[1].box_entries(&project, id, Generation::FIRST, 0).await.unwrap();
        assert_eq!((head.len as usize, head.entries as usize), (entries.len(), entries.len()));
        shown += entries.len();
    }
    assert_eq!(shown, 180);
    let waited = scratch
        .column("SELECT deadlocks::text FROM pg_stat_database WHERE datname = current_database()")
        .await;
    assert_eq!(waited, ["0"], "no deadlock was needed");
    for store in &stores {
        store.close().await;
    }
}

/// So many agents, each with a card in a box; the last one, also in the order of names, has the name given.
fn many(project: &ProjectId, ids: &mut SeededIds, count: usize, last: &str) -> Commit {
    let mut commit = Commit::new(project.clone());
    for number in 1..=count {
        let card = text_card(ids.card(), "x");
        let event_id = ids.event();
        let name = if number == count { last.to_owned() } else { format!("a-{event_id}") };
        commit.writes.push(Write::CreateBox(BoxBuilder::new(ids.card_box()).cards(&[card.id]).build()));
        commit.writes.push(Write::PutCard(Box::new(card)));
        commit.writes.push(Write::PutAgent { was: None, agent: Box::new(agent_row(ids, &name)) });
        commit.events.push(event(event_id, &name, None));
        commit.audit.push(audit(&name));
    }
    commit
}

/// A commit of more rows than one statement takes is one transaction: whole, or refused for its very last row.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_of_many_rows_is_applied_whole_or_not_at_all() {
    let scratch = Scratch::new().await;
    let mut config = scratch.config();
    config.statement_rows = 100;
    let store = PostgresStore::open(config).await.unwrap();
    let project = create_project(&store, "p").await;
    let mut ids = SeededIds::new(1);
    let counts = async || {
        let query = "SELECT concat_ws(' ', (SELECT count(*) FROM cards), (SELECT count(*) FROM card_boxes), \
            (SELECT count(*) FROM box_entries), (SELECT count(*) FROM resource_project_agents), \
            (SELECT count(*) FROM audit WHERE action <> 'project.create'), \
            (SELECT count(DISTINCT xmin::text) FROM cards))";
        scratch.column(query).await[0].clone()
    };
    // Four new rows each: at the limit, and one above it.
    for (count, last) in [(25, "z1"), (26, "z2"), (1_000, "z3")] {
        store.commit(many(&project, &mut ids, count, last)).await.unwrap();
    }
    let all = "1051 1051 1051 1051 1051 3";
    assert_eq!(counts().await, all);
    let again = store.commit(many(&project, &mut ids, 1_000, "z3")).await;
    assert!(matches!(again, Err(CommitError::Conflict(Conflict::Roster))), "{again:?}");
    assert_eq!(counts().await, all);
    store.commit(many(&project, &mut ids, 500, "z4")).await.unwrap();
    assert_eq!(counts().await, "1551 1551 1551 1551 1551 4");
    store.close().await;
}

/// F-22: somebody holds a row of one project, and thousands of its commits wait; another project writes as if it were alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_with_a_locked_row_holds_up_no_other() {
    let scratch = Scratch::new().await;
    let store = Arc::new(scratch.open().await);
    let (held, other) = (create_project(&store, "held").await, create_project(&store, "other").await);
    let mut ids = SeededIds::new(1);
    let boxes = [&held, &other].map(|project| (project.clone(), ids.card_box()));
    for (project, id) in &boxes {
        let mut commit = Commit::new(project.clone());
        commit.writes.push(Write::CreateBox(BoxBuilder::new(*id).build()));
        store.commit(commit).await.unwrap();
    }
    let [(_, held_box), (_, other_box)] = boxes;
    let blocker = scratch.connect(None).await;
    blocker
        .client
        .batch_execute("BEGIN; SELECT FROM card_boxes WHERE project_id = 'held' FOR UPDATE")
        .await
        .unwrap();
    let mut waiting = JoinSet::new();
    for _ in 0..3_000 {
        let (store, commit) = (Arc::clone(&store), append(&held, &mut ids, held_box));
        waiting.spawn(async move { store.commit(commit).await });
    }
    let writing = async {
        for _ in 0..50 {
            store.commit(append(&other, &mut ids, other_box)).await.unwrap();
        }
    };
    // Fifty take a fraction of a second; behind the line of the other they would take as long as the row is held.
    tokio::time::timeout(Duration::from_secs(10), writing).await.expect("nobody is held up");
    assert!(waiting.try_join_next().is_none(), "the row is still held");
    blocker.client.batch_execute("COMMIT").await.unwrap();
    for outcome in waiting.join_all().await {
        outcome.unwrap();
    }
    assert_eq!(store.box_head(&held, held_box).await.unwrap().unwrap().head.len, 3_000);
    store.close().await;
}
