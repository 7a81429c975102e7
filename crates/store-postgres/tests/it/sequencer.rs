//! NF-08 under writers that commit out of order.

use crate::scratch::{Connection, Scratch, create_project};
use cardwire_model::{Commit, Event, ProjectId, Write};
use cardwire_store::{Catalog, EventFilter, Store};
use cardwire_store_postgres::PostgresStore;
use cardwire_testkit::{
    BoxBuilder, SeededIds,
    fixtures::{event, text_card},
};
use std::sync::Arc;
use tokio::task::JoinSet;

async fn read(store: &PostgresStore, project: &ProjectId, after: u64) -> Vec<Event> {
    store.events(project, after, &EventFilter::default(), 10_000).await.unwrap()
}

async fn tell(store: &PostgresStore, project: &ProjectId, ids: &mut SeededIds, target: &str) {
    let mut commit = Commit::new(project.clone());
    commit.events.push(event(ids.event(), target, None));
    store.commit(commit).await.unwrap();
}

fn targets(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| event.event.target.as_str()).collect()
}

/// Begins a transaction that has drawn its `seq` and does not end.
async fn slow_writer(scratch: &Scratch, project: &str, target: &str) -> Connection {
    let slow = scratch.connect(Some("cardwire_app")).await;
    slow.client
        .batch_execute(&format!(
            "BEGIN; SELECT set_config('cardwire.project', '{project}', true);
             INSERT INTO events (project_id, item_count, items)
             VALUES ('{project}', 1, ARRAY[ROW (gen_random_uuid(), 'card.created', '{target}', 'public', NULL, '{{}}', 0,
                 NULL, NULL, NULL)::cw_event_item])"
        ))
        .await
        .unwrap();
    slow
}

#[tokio::test]
async fn an_event_that_commits_late_comes_late_and_is_not_missed() {
    let scratch = Scratch::new().await;
    let store = scratch.open().await;
    let project = create_project(&store, "p").await;
    let mut ids = SeededIds::new(1);

    let slow = slow_writer(&scratch, "p", "slow").await;
    tell(&store, &project, &mut ids, "fast").await;
    assert_eq!(store.number_events().await.unwrap(), 1, "the slow one is not committed");
    let first = read(&store, &project, 0).await;
    assert_eq!(targets(&first), ["fast"]);

    slow.client.batch_execute("COMMIT").await.unwrap();
    assert_eq!(read(&store, &project, 1).await, [], "not shown before it has a place");
    assert_eq!(store.number_events().await.unwrap(), 1);
    let second = read(&store, &project, first[0].position).await;
    assert_eq!(targets(&second), ["slow"]);
    assert_eq!((first[0].position, second[0].position), (1, 2));
    assert_eq!(store.last_position(&project).await.unwrap(), 2);
    store.close().await;
}

#[tokio::test]
async fn an_event_that_is_rolled_back_leaves_no_gap() {
    let scratch = Scratch::new().await;
    let store = scratch.open().await;
    let project = create_project(&store, "p").await;
    let mut ids = SeededIds::new(1);
    let slow = slow_writer(&scratch, "p", "never").await;
    tell(&store, &project, &mut ids, "a").await;
    store.number_events().await.unwrap();
    slow.client.batch_execute("ROLLBACK").await.unwrap();
    tell(&store, &project, &mut ids, "b").await;
    store.number_events().await.unwrap();
    let events = read(&store, &project, 0).await;
    assert_eq!(targets(&events), ["a", "b"]);
    assert_eq!(events[1].position, 2);
    store.close().await;
}

/// Two machines number at once while writers of both write and some commit late. Readers poll from where they are:
/// each sees every event once, in order, without gaps; and the events of one box are in the order of its entries.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_miss_nothing_while_two_machines_write_and_number() {
    const WRITERS: usize = 6;
    const EACH: usize = 40;
    const LATE: usize = 10;
    let scratch = Arc::new(Scratch::new().await);
    let stores = [Arc::new(scratch.open().await), Arc::new(scratch.open().await)];
    let project = create_project(&stores[0], "p").await;
    let card_box = SeededIds::new(99).card_box();
    let mut commit = Commit::new(project.clone());
    commit.writes.push(Write::CreateBox(BoxBuilder::new(card_box).build()));
    stores[0].commit(commit).await.unwrap();

    let mut writers = JoinSet::new();
    for number in 0..WRITERS {
        let (store, project) = (Arc::clone(&stores[number % 2]), project.clone());
        writers.spawn(async move {
            let mut ids = SeededIds::new(100 + number as u64);
            for _ in 0..EACH {
                let card = text_card(ids.card(), "x");
                let mut commit = Commit::new(project.clone());
                commit.events.push(event(ids.event(), &card.id.to_string(), None));
                let generation = cardwire_model::Generation::FIRST;
                let cards = vec![card.id];
                commit.writes.push(Write::PutCard(Box::new(card)));
                commit.writes.push(Write::AppendCards { box_id: card_box, generation, cards });
                store.commit(commit).await.unwrap();
            }
        });
    }
    let (late_scratch, late_store, late_project) =
        (Arc::clone(&scratch), Arc::clone(&stores[0]), project.clone());
    writers.spawn(async move {
        let mut ids = SeededIds::new(7);
        for number in 0..LATE {
            let slow = slow_writer(&late_scratch, "p", &format!("late {number}")).await;
            // It commits only when something that came after it has a place.
            let before = late_store.last_position(&late_project).await.unwrap();
            tell(&late_store, &late_project, &mut ids, "later than late").await;
            while late_store.last_position(&late_project).await.unwrap() == before {
                tokio::task::yield_now().await;
            }
            slow.client.batch_execute("COMMIT").await.unwrap();
        }
    });

    let expected = WRITERS * EACH + 2 * LATE;
    let mut seen: Vec<Event> = vec![];
    while seen.len() < expected {
        let (a, b) = tokio::join!(stores[0].number_events(), stores[1].number_events());
        a.unwrap();
        b.unwrap();
        let after = seen.last().map_or(0, |event| event.position);
        for event in read(&stores[seen.len() % 2], &project, after).await {
            assert_eq!(event.position, seen.len() as u64 + 1, "no gap, no repetition");
            seen.push(event);
        }
        while let Some(ended) = writers.try_join_next() {
            ended.unwrap();
        }
    }
    assert_eq!(stores[0].number_events().await.unwrap(), 0);
    assert_eq!(read(&stores[0], &project, 0).await, seen, "what was seen has not changed");

    let entries =
        stores[0].box_cards(&project, card_box, cardwire_model::Generation::FIRST, 0).await.unwrap();
    let appended: Vec<_> =
        entries.iter().filter_map(|entry| Some(entry.card.as_ref()?.id.to_string())).collect();
    let told: Vec<_> = targets(&seen).into_iter().filter(|target| !target.starts_with("late")).collect();
    assert_eq!(told, appended, "per box, the order of events is the order of commits");
    for store in &stores {
        store.close().await;
    }
}
