//! Claims on several machines, and what they do about rows that somebody else holds (DP-15).

use crate::{
    scratch::{Scratch, create_project},
    worker::{Agent, claim, query},
};
use cardwire_model::{Commit, Conflict, Expect, InboxId, ProjectId, Write};
use cardwire_store::{CommitError, Store};
use cardwire_store_postgres::PostgresStore;
use cardwire_testkit::fixtures::{agent_id, turn_item};
use std::{collections::BTreeSet, sync::Arc, time::Duration};
use tokio::task::JoinSet;

/// One pending turn of each of so many agents, oldest first.
async fn pending(store: &PostgresStore, project: &ProjectId, agents: u64) -> Vec<InboxId> {
    let mut rows = vec![];
    let seed = 1_000 * u64::from(project.as_str().bytes().map(u32::from).sum::<u32>());
    for number in 0..agents {
        let name = agent_id(&format!("agent-{number}"));
        let mut agent = Agent::new(store, project, name, seed + number).await;
        let (commit, item, _) = agent.dispatch();
        store.commit(commit).await.unwrap();
        rows.push(item.id);
    }
    rows
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claims_of_two_machines_are_disjoint_and_together_complete() {
    let scratch = Scratch::new().await;
    let stores = [Arc::new(scratch.open().await), Arc::new(scratch.open().await)];
    let mut rows = BTreeSet::new();
    for name in ["p1", "p2"] {
        let project = create_project(&stores[0], name).await;
        rows.extend(pending(&stores[0], &project, 40).await);
    }
    let mut workers = JoinSet::new();
    for number in 0..6 {
        let store = Arc::clone(&stores[number % 2]);
        workers.spawn(async move {
            let (mut mine, worker) = (vec![], format!("worker-{number}"));
            let mut idle = 0;
            // What another claim holds is passed over, so a claim may find nothing before the end.
            while idle < 20 {
                let claimed = claim(&store, &query(None, 3), &worker).await;
                assert!(claimed.len() <= 3);
                idle = if claimed.is_empty() { idle + 1 } else { 0 };
                mine.extend(claimed.into_iter().map(|row| row.item.id));
            }
            mine
        });
    }
    let claimed: Vec<_> = workers.join_all().await.into_iter().flatten().collect();
    assert_eq!(claimed.len(), rows.len(), "no row was given twice, and none was left");
    assert_eq!(claimed.into_iter().collect::<BTreeSet<_>>(), rows);
    let deadlocks = "SELECT deadlocks::text FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(scratch.column(deadlocks).await, ["0"]);
    for store in &stores {
        store.close().await;
    }
}

/// A held head is not waited for, and does not hide the rows behind it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_passes_over_what_somebody_holds() {
    let scratch = Scratch::new().await;
    let store = scratch.open().await;
    let project = create_project(&store, "p1").await;
    let rows = pending(&store, &project, 3).await;
    let holder = scratch.connect(None).await;
    for hold in [
        "SELECT 1 FROM state_agent_state_head WHERE agent_id = 'agent-0' FOR UPDATE",
        "SELECT 1 FROM state_agent_inbox WHERE agent_id = 'agent-0' FOR UPDATE",
    ] {
        holder.client.batch_execute(&format!("BEGIN; {hold}")).await.unwrap();
        for projects in [None, Some(vec![project.clone()])] {
            let query = query(projects, 1);
            let claiming = claim(&store, &query, "worker");
            let claimed =
                tokio::time::timeout(Duration::from_secs(10), claiming).await.expect("waits for nobody");
            let ids: Vec<_> = claimed.iter().map(|row| row.item.id).collect();
            // With more than one project in question the oldest row decides where to look.
            assert!(ids == [rows[1]] || ids == [rows[2]], "{ids:?}");
            let back = "UPDATE state_agent_inbox SET status = 'pending' WHERE status = 'processing'";
            scratch.execute(back).await;
            let back = "UPDATE state_agent_state_head SET status = 'dispatched' WHERE status = 'running'";
            scratch.execute(back).await;
        }
        holder.client.batch_execute("ROLLBACK").await.unwrap();
    }
    store.close().await;
}

/// WD-08: a row whose head is lost is given without it.
#[tokio::test]
async fn a_row_without_a_head_is_given_without_it() {
    let scratch = Scratch::new().await;
    let store = scratch.open().await;
    let project = create_project(&store, "p1").await;
    let rows = pending(&store, &project, 3).await;
    scratch.execute("DELETE FROM state_agent_state_head WHERE agent_id = 'agent-1'").await;
    let claimed = claim(&store, &query(None, 9), "worker").await;
    let found: Vec<_> = claimed.iter().map(|row| (row.item.id, row.head.is_some())).collect();
    assert_eq!(found, [(rows[0], true), (rows[1], false), (rows[2], true)]);
    store.close().await;
}

/// A claim whose caller goes away leaves nothing locked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_that_is_given_up_lets_its_rows_go() {
    let scratch = Scratch::new().await;
    let mut config = scratch.config();
    config.app_connections = 1;
    let store = Arc::new(PostgresStore::open(config).await.unwrap());
    let project = create_project(&store, "p1").await;
    let rows = pending(&store, &project, 2).await;
    for _ in 0..20 {
        let (store, project) = (Arc::clone(&store), project.clone());
        let abandoned = tokio::spawn(async move {
            let nothing = Arc::new(|project: &ProjectId, _| Commit::new(project.clone()));
            let query = query(Some(vec![project]), 9);
            let _ = cardwire_store::Turns::claim(&*store, &query, nothing).await;
        });
        tokio::task::yield_now().await;
        abandoned.abort();
        let _ = abandoned.await;
    }
    let claimed = claim(&store, &query(Some(vec![project]), 9), "worker").await;
    assert_eq!(claimed.iter().map(|row| row.item.id).collect::<Vec<_>>(), rows);
    store.close().await;
}

/// CB-14: two machines that both find a box free do not both get it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_box_is_written_by_turns_of_one_agent_only() {
    let scratch = Scratch::new().await;
    let stores = [scratch.open().await, scratch.open().await];
    let project = create_project(&stores[0], "p1").await;
    for round in 0..25 {
        let mut owner = Agent::new(&stores[0], &project, agent_id(&format!("owner-{round}")), round).await;
        let box_id = owner.output_box;
        let mut commits = vec![];
        for number in 0..6 {
            let agent = agent_id(&format!("agent-{number}"));
            let mut commit = Commit::new(project.clone());
            commit.expect.push(Expect::OutputFree { box_id, agent_id: Some(agent.clone()) });
            let item = turn_item(&mut owner.ids, agent.as_str(), box_id);
            commit.writes.push(Write::Enqueue(Box::new(item)));
            commits.push(stores[number % 2].commit(commit));
        }
        let outcomes = futures_util::future::join_all(commits).await;
        let free = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        assert_eq!(free, 1, "round {round}");
        let refused =
            |outcome: &&Result<(), CommitError>| matches!(outcome, Err(CommitError::Conflict(Conflict::Box)));
        assert_eq!(outcomes.iter().filter(refused).count(), 5, "round {round}: {outcomes:?}");
    }
    for store in &stores {
        store.close().await;
    }
}
