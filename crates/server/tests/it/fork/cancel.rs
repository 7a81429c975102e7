//! Cancel reaches everything.

use super::{
    Api, Leased, batch, batch_of, boss, children, fork, fork_args, on_both, on_sqlite, results, states,
    suspend,
};
use serde_json::{Value, json};

on_both! {
    stopping_a_turn_stops_what_it_started;
    a_stop_that_was_interrupted_is_gone_on_with;
}

on_sqlite! {
    a_batch_is_called_off;
    a_parent_that_was_reaped_is_told_nothing;
}

async fn cancel(api: &Api, id: &str) -> Value {
    api.post(&format!("/projects/p1/batches/{id}:cancel"), json!({})).await.expect(200)
}

async fn stop(api: &Api, turn: &str) {
    api.post(&format!("/projects/p1/turns/{turn}:stop"), json!({})).await.expect(200);
}

async fn is_fenced(api: &Api, leased: &Leased) -> bool {
    let reply = api.verb(leased, ":heartbeat", json!({})).await;
    !reply.status.is_success() && reply.code() == "stale_turn"
}

async fn a_batch_is_called_off(api: Api) {
    let parent = boss(&api).await;
    let answer = fork(&api, 3, json!({ "max_parallel": 2 })).await;
    suspend(&api, &parent, &answer["tool_call_id"]).await;
    let id = batch_of(&answer);
    let leased = children(&api, &batch(&api, &id).await).await;
    // A call that nobody will answer any more is closed.
    let call = json!({ "content": { "tool_name": "look" }, "tool_call_id": "c1", "metadata": { "type": "tool.call" } });
    api.verb(&leased[0], "/cards", call).await.expect(200);
    let closed = cancel(&api, &id).await;
    assert_eq!((&closed["status"], &closed["close_reason"]), (&json!("failed"), &json!("canceled")));
    assert_eq!(states(&closed), vec!["canceled"; 3]);
    for child in &leased {
        assert!(is_fenced(&api, child).await);
    }
    let cards = api.get(&format!("/projects/p1/boxes/{}/cards", leased[0].output)).await.expect(200);
    let answers = cards.as_array().unwrap().iter().filter(|card| card["tool_call_id"] == "c1");
    assert_eq!(answers.filter(|card| card["metadata"]["type"] == "tool.result").count(), 1);
    assert_eq!(results(&api, &parent).await.len(), 1);
    // Again is the same.
    assert_eq!(cancel(&api, &id).await, closed);
    assert_eq!(results(&api, &parent).await.len(), 1);
    let resumed = api.claim_with(json!({ "start": true })).await;
    assert!(resumed.iter().any(|lease| lease.turn == parent.turn && lease.lease["kind"] == "resume"));
    let audit = api.items("audit").await;
    assert_eq!(audit.iter().filter(|row| row["action"] == "batch.cancel").count(), 1);
}

/// The tree: boss forks two, the first of them forks two and delegates one.
async fn tree(api: &Api) -> (Leased, Vec<Leased>, Vec<String>) {
    let parent = boss(api).await;
    let outer = fork(api, 2, json!({})).await;
    let outer_id = batch_of(&outer);
    let mut turns = children(api, &batch(api, &outer_id).await).await;
    let middle = turns[0].clone();
    let by_middle = async |tool: &str, args: Value| {
        let body = json!({ "caller_agent_id": middle.agent, "agent_turn_id": middle.turn, "args": args });
        api.with(&middle.token, "POST", &format!("/projects/p1/pmo/{tool}:call"), &body.to_string())
            .await
            .expect(200)
    };
    let inner = by_middle("fork_join", fork_args(2, json!({}))).await;
    let args = json!({ "target_strategy": "new", "target_ref": "Helper", "instruction": "x" });
    by_middle("delegate_async", args).await;
    turns.extend(api.claim_with(json!({ "start": true })).await);
    assert_eq!(turns.len(), 5);
    (parent, turns, vec![outer_id, batch_of(&inner)])
}

async fn stopping_a_turn_stops_what_it_started(api: Api) {
    let (parent, turns, batches) = tree(&api).await;
    stop(&api, &parent.turn).await;
    for turn in &turns {
        assert!(is_fenced(&api, turn).await, "{}", turn.agent);
    }
    for id in batches {
        let closed = batch(&api, &id).await;
        assert_eq!((&closed["status"], states(&closed)), (&json!("failed"), vec!["canceled"; 2]));
    }
    let ended = api.told("agent.task").await.len();
    assert_eq!(ended, 6, "one task event for each turn");
    assert!(api.tick(1).await.is_empty());
}

/// The stop is a row until all is done: whoever looks next goes on with it.
async fn a_stop_that_was_interrupted_is_gone_on_with(api: Api) {
    use cardwire_model::{Commit, Sweep, Write};
    let (parent, turns, batches) = tree(&api).await;
    let middle = turns[0].turn.parse().unwrap();
    let mut commit = Commit::new("p1".parse::<cardwire_model::ProjectId>().unwrap());
    commit.writes.push(Write::AddSweep(Sweep::Turn(middle)));
    api.store.commit(commit).await.unwrap();
    let did: Vec<_> = api.tick(1).await.into_iter().map(|(action, _)| action).collect();
    assert_eq!(did, ["sweep"]);
    // What the middle one has started is stopped; itself, its sibling and its parent are not.
    assert_eq!(batch(&api, &batches[1]).await["status"], "failed");
    for turn in &turns[2..] {
        assert!(is_fenced(&api, turn).await);
    }
    for turn in [&parent, &turns[0], &turns[1]] {
        assert!(!is_fenced(&api, turn).await);
    }
}

/// BM-20
async fn a_parent_that_was_reaped_is_told_nothing(api: Api) {
    let parent = boss(&api).await;
    let id = batch_of(&fork(&api, 1, json!({})).await);
    let leased = children(&api, &batch(&api, &id).await).await;
    api.clock.advance(301);
    api.verb(&leased[0], ":heartbeat", json!({})).await.expect(200);
    let did = api.tick(0).await;
    assert!(did.contains(&("reap".to_owned(), parent.turn.clone())), "{did:?}");
    assert_eq!(batch(&api, &id).await["status"], "running");
    api.finish(&leased[0], "success").await;
    let closed = batch(&api, &id).await;
    assert_eq!((&closed["status"], &closed["tool_result_card_id"]), (&json!("success"), &Value::Null));
    let head = api.head("boss").await;
    assert_eq!((&head["status"], &head["queued"]), (&json!("idle"), &json!(0)));
    // The call was closed when the turn was taken away, and only then.
    assert_eq!(results(&api, &parent).await.len(), 1);
}
