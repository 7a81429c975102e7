//! Whatever a turn starts names the step in which it did (PM-02, DP-02, DP-10).

use crate::support::{Api, Leased, on_sqlite};
use serde_json::{Value, json};

on_sqlite! {
    what_is_delegated_and_provisioned_names_the_step;
    branches_name_the_step_however_late_they_are_sent;
}

/// A step of the turn.
async fn step(api: &Api, leased: &Leased) -> Value {
    api.verb(leased, "/steps", json!({ "phase": "think" })).await.expect(201)["step_id"].clone()
}

/// Calls a tool as the turn.
async fn call(api: &Api, leased: &Leased, tool: &str, args: Value) -> Value {
    let body = json!({ "caller_agent_id": leased.agent, "agent_turn_id": leased.turn, "args": args });
    let path = format!("/projects/p1/pmo/{tool}:call");
    api.with(&leased.token, "POST", &path, &body.to_string()).await.expect(200)["result"].clone()
}

fn new_task() -> Value {
    json!({ "target_strategy": "new", "target_ref": "Helper", "instruction": "Look it up." })
}

/// The steps that a turn, the edge that sent it, the head of its agent and the edge that made that agent name.
async fn named(api: &Api, turn: &Value) -> [Value; 4] {
    let turn = api.turn(turn.as_str().unwrap()).await;
    let (id, agent) = (turn["agent_turn_id"].as_str().unwrap(), turn["agent_id"].as_str().unwrap());
    let edges = api.items(&format!("state/execution/edges?correlation_id={id}&primitive=enqueue")).await;
    let identity = api.items(&format!("state/identity/edges?agent_id={agent}")).await;
    assert_eq!((edges.len(), identity.len(), &identity[0]["project_id"]), (1, 1, &json!("p1")));
    let head = api.head(agent).await;
    [turn, edges[0].clone(), head, identity[0].clone()].map(|row| row["parent_step_id"].clone())
}

async fn what_is_delegated_and_provisioned_names_the_step(api: Api) {
    // The step of another turn of the agent is none of this one's.
    let before = api.running("boss").await;
    step(&api, &before).await;
    api.finish(&before, "success").await;
    let boss = api.running("boss").await;
    let early = call(&api, &boss, "delegate_async", new_task()).await;
    assert_eq!(
        named(&api, &early["agent_turn_id"]).await,
        [Value::Null, Value::Null, Value::Null, Value::Null]
    );

    step(&api, &boss).await;
    let newest = step(&api, &boss).await;
    let child = call(&api, &boss, "delegate_async", new_task()).await;
    assert_eq!(
        named(&api, &child["agent_turn_id"]).await,
        [&newest, &newest, &newest, &newest].map(Value::clone)
    );

    call(&api, &boss, "provision_agent", json!({ "agent_id": "made", "profile_name": "Helper" })).await;
    let made = api.items("state/identity/edges?agent_id=made").await;
    assert_eq!(made[0]["parent_step_id"], newest);
    // Nobody's turn made this one.
    let own = api.items("state/identity/edges?agent_id=boss").await;
    assert_eq!(own.last().unwrap().get("parent_step_id"), Some(&Value::Null));
}

async fn branches_name_the_step_however_late_they_are_sent(api: Api) {
    let boss = api.running("boss").await;
    let forked_in = step(&api, &boss).await;
    let tasks = json!({ "tasks": [new_task(), new_task()], "max_parallel": 1 });
    let batch = call(&api, &boss, "fork_join", tasks).await["batch_id"].as_str().unwrap().to_owned();
    // What the turn does afterwards changes nothing.
    step(&api, &boss).await;
    let at_once = api.claim_with(json!({ "start": true })).await.remove(0);
    let all = [&forked_in; 4].map(Value::clone);
    assert_eq!(named(&api, &json!(at_once.turn)).await, all);
    api.finish(&at_once, "success").await;
    let later = api.claim_with(json!({ "start": true })).await.remove(0);
    assert_ne!(later.turn, at_once.turn);
    assert_eq!(named(&api, &json!(later.turn)).await, all);
    assert_eq!(later.lease["parent_step_id"], forked_in);
    let shown = api.get(&format!("/projects/p1/batches/{batch}")).await.expect(200);
    assert_eq!(shown["parent_step_id"], forked_in);
    let join = api.items(&format!("state/execution/edges?correlation_id={batch}")).await;
    assert_eq!((join.len(), &join[0]["parent_step_id"]), (1, &forked_in));
}
