//! Two instances on one Postgres behave as one: what one remembers, the other may have taken back.

use crate::support::{Api, Backend};
use cardwire_kernel::{Kernel, KernelConfig};
use cardwire_store_postgres::{PostgresConfig, PostgresStore};
use serde_json::json;
use std::sync::Arc;

async fn second(first: &Api) -> Arc<Kernel> {
    let config = PostgresConfig::new(first.database_url().to_owned());
    Kernel::start(KernelConfig::new(Arc::new(PostgresStore::open(config).await.unwrap())))
}

/// CB-10: cached cards are good only while the project's count of deletions stands still.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_and_a_rewrite_reach_the_other_instance_at_once() {
    let api = Api::start(Backend::Postgres).await;
    let other = second(&api).await;
    let ids = api.cards("p1", 3).await;
    let box_id = api.make_box("p1", &ids).await;
    let (project, parsed) = ("p1".parse().unwrap(), box_id.parse().unwrap());
    assert_eq!(other.box_cards(&project, parsed).await.unwrap().cards.len(), 3);
    api.delete(&format!("/projects/p1/l0/cards/{}", ids[0])).await.expect(204);
    assert_eq!(other.box_cards(&project, parsed).await.unwrap().cards.len(), 2);
    let path = format!("/projects/p1/l0/boxes/{box_id}:rewrite");
    api.post(&path, json!({ "card_ids": [ids[2]] })).await.expect(200);
    assert_eq!(other.view_box(&project, parsed, None).await.unwrap().card_ids().len(), 1);
    other.shutdown().await;
}

/// SEC-02: within a second; here, by the other instance's clock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revocation_reaches_the_other_instance_within_a_second() {
    let api = Api::start(Backend::Postgres).await;
    let other = second(&api).await;
    let made = api.post("/tokens", json!({ "scopes": ["read"] })).await.expect(201);
    let (token, id) = (made["token"].as_str().unwrap(), made["id"].as_str().unwrap());
    other.authenticate(token).await.unwrap();
    api.delete(&format!("/tokens/{id}")).await.expect(204);
    let revoked = other.now();
    while other.authenticate(token).await.is_ok() {
        assert!(other.now().micros() - revoked.micros() < 1_000_000, "still let in after a second");
        tokio::task::yield_now().await;
    }
    other.shutdown().await;
}

/// API-06: whoever asks for a project is shown what the other instance made of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_title_is_shown_by_the_other_instance_at_once() {
    let api = Api::start(Backend::Postgres).await;
    let other = second(&api).await;
    other.live_project(&"p1".parse().unwrap()).await.unwrap();
    let title = async |kernel: &Kernel| {
        let shown = kernel.stored_project(&"p1".parse().unwrap()).await.unwrap();
        shown.title
    };
    let patch = json!({ "title": "new" }).to_string();
    api.with(&api.admin, "PATCH", "/projects/p1", &patch).await.expect(200);
    assert_eq!(title(&other).await.as_deref(), Some("new"));
    other.shutdown().await;
}

/// NF-08, API-13: events written here are read there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_of_one_instance_are_numbered_and_read_by_the_other() {
    let api = Api::start(Backend::Postgres).await;
    let other = second(&api).await;
    let mut changes = other.log_changes();
    api.cards("p1", 5).await;
    let project = "p1".parse().unwrap();
    while other.last_position(&project).await.unwrap() < 6 {
        // A hint, or the look it takes by itself; the deadline of the test run ends a wait for nothing.
        let _ = tokio::time::timeout(std::time::Duration::from_millis(100), changes.changed()).await;
    }
    let events = other.events(&project, 1, &cardwire_store::EventFilter::default()).await.unwrap();
    assert_eq!(events.iter().map(|event| event.position).collect::<Vec<_>>(), [2, 3, 4, 5, 6]);
    other.shutdown().await;
}

/// PM-17, BM-15: the last two children end at the same moment on two instances, and the batch is joined once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_whose_children_end_on_two_instances_is_joined_once() {
    let api = Api::start(Backend::Postgres).await;
    let other = second(&api).await;
    api.profile("p1").await;
    api.agent("boss").await;
    let parent = api.running("boss").await;
    let task = json!({ "target_strategy": "new", "target_ref": "Helper", "instruction": "Go." });
    let rounds = 50;
    for _ in 0..rounds {
        let body = json!({ "caller_agent_id": "boss", "args": { "tasks": [task, task] } });
        let answer = api.post("/projects/p1/pmo/fork_join:call", body).await.expect(200);
        let children = api.claim_with(json!({ "start": true })).await;
        assert_eq!(children.len(), 2);
        let (here, there) =
            tokio::join!(api.finish(&children[0], "success"), finish_on(&other, &children[1]));
        assert_eq!((&here["status"], there), (&json!("success"), true));
        let batch = answer["result"]["batch_id"].as_str().unwrap();
        let batch = api.get(&format!("/projects/p1/batches/{batch}")).await.expect(200);
        assert_eq!(batch["status"], "success");
    }
    let joins = api.items("state/execution/edges?primitive=join&edge_phase=response").await;
    assert_eq!(joins.len(), rounds);
    let told = api.get(&format!("/projects/p1/boxes/{}/cards?limit=500", parent.output)).await.expect(200);
    let results = told.as_array().unwrap().iter().filter(|card| card["metadata"]["type"] == "tool.result");
    assert_eq!(results.count(), rounds);
    other.shutdown().await;
}

/// Ends a turn as an operator of that instance.
async fn finish_on(kernel: &Kernel, leased: &crate::support::Leased) -> bool {
    use cardwire_kernel::{
        Caller, Done,
        protocol::{
            Actor,
            turn::{
                Command, Fence, Outcome, Proof,
                finish::{Deliverable, Finish},
            },
        },
    };
    let finish = Finish {
        fence: Fence {
            turn_id: leased.turn.parse().unwrap(),
            epoch: cardwire_model::TurnEpoch::new(leased.epoch),
            proof: Proof::Operator,
        },
        status: cardwire_model::TaskStatus::Success,
        deliverable: Deliverable::Content(cardwire_model::CanonicalJson::string("done").unwrap()),
        error: None,
        error_code: None,
        cards: vec![],
        step: None,
        replies: vec![],
        calls: vec![],
        remains: Default::default(),
    };
    let caller = Caller { actor: Actor::system("test") };
    let command = Command::Finish(Box::new(finish));
    let done = kernel.turn_command(&"p1".parse().unwrap(), &caller, command, None).await.unwrap();
    matches!(done, Done::Fresh(Outcome::Ended { .. }))
}
