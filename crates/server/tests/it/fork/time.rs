//! Deadlines, and branches that wait (BM-03, BM-10, BM-18, BM-19).

use super::{
    Api, FORK, batch, batch_of, boss, call, children, fork, new_task, on_both, on_sqlite, results, states,
    suspend,
};
use serde_json::{Value, json};

on_both! {
    a_batch_whose_time_is_up_is_closed;
    a_branch_that_waits_behind_another_turn_is_noted;
}

on_sqlite! {
    a_batch_without_workers_is_closed_before_anything_else_is_done_about_it;
    a_batch_may_have_no_deadline;
    a_branch_that_waits_too_long_is_given_up_under_pressure;
    a_busy_target_is_asked_again;
    pm_07_in_a_strict_project_a_branch_leaves_a_live_turn_its_box;
}

/// BM-18
async fn a_batch_whose_time_is_up_is_closed(api: Api) {
    let parent = boss(&api).await;
    let answer = fork(&api, 2, json!({ "deadline_seconds": 1 })).await;
    suspend(&api, &parent, &answer["tool_call_id"]).await;
    let id = batch_of(&answer);
    let leased = children(&api, &batch(&api, &id).await).await;
    api.finish(&leased[0], "success").await;
    api.tick(0).await;
    assert_eq!(batch(&api, &id).await["status"], "running", "not before it is over");
    let did: Vec<_> = api.tick(2).await.into_iter().map(|(action, _)| action).collect();
    assert!(did.contains(&"join".to_owned()), "{did:?}");
    let closed = batch(&api, &id).await;
    assert_eq!((&closed["status"], states(&closed)), (&json!("timeout"), vec!["success", "canceled"]));
    assert_eq!(results(&api, &parent).await[0]["content"]["status"], "timeout");
    assert_eq!(api.verb(&leased[1], ":heartbeat", json!({})).await.code(), "stale_turn");
}

/// BM-18: however late somebody looks.
async fn a_batch_without_workers_is_closed_before_anything_else_is_done_about_it(api: Api) {
    api.profile("p1").await;
    api.agent("boss").await;
    let id = batch_of(&fork(&api, 2, json!({ "deadline_seconds": 1 })).await);
    api.tick(100).await;
    let closed = batch(&api, &id).await;
    assert_eq!((&closed["status"], states(&closed)), (&json!("timeout"), vec!["canceled"; 2]));
}

/// BM-03
async fn a_batch_may_have_no_deadline(api: Api) {
    boss(&api).await;
    let with_default = batch(&api, &batch_of(&fork(&api, 1, json!({})).await)).await;
    assert!(with_default["deadline_at"].is_string());
    let settings = json!({ "settings": { "pmo": { "fork_join_deadline_seconds": 0 } } });
    api.with(&api.admin, "PATCH", "/projects/p1", &settings.to_string()).await.expect(200);
    assert_eq!(batch(&api, &batch_of(&fork(&api, 1, json!({})).await)).await["deadline_at"], Value::Null);
}

/// A branch for an agent that is at work on something else.
async fn behind(api: &Api, more: Value) -> (crate::support::Leased, String) {
    boss(api).await;
    api.agent("busy").await;
    let at_work = api.running("busy").await;
    let mut args = json!({ "tasks": [{ "target_strategy": "reuse", "target_ref": "busy", "instruction": "i" }, new_task("x")] });
    args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    (at_work, batch_of(&call(api, args).await.expect(200)))
}

/// BM-19
async fn a_branch_that_waits_behind_another_turn_is_noted(api: Api) {
    let (at_work, id) = behind(&api, json!({})).await;
    assert_eq!(batch(&api, &id).await["tasks"][0]["turn_epoch"], Value::Null);
    api.clock.advance(3);
    api.tick(0).await;
    let noted = batch(&api, &id).await;
    assert_eq!(noted["tasks"][0]["warning"], "ack_pending_window_exceeded");
    assert_eq!(states(&noted), vec!["dispatched"; 2]);
    api.clock.advance(100);
    api.tick(0).await;
    assert_eq!(states(&batch(&api, &id).await)[0], "dispatched", "it is never given up without need");
    api.finish(&at_work, "success").await;
    api.clock.advance(3);
    api.tick(0).await;
    assert!(batch(&api, &id).await["tasks"][0]["turn_epoch"].is_u64());
}

/// BM-19
async fn a_branch_that_waits_too_long_is_given_up_under_pressure(api: Api) {
    let (at_work, id) = behind(&api, json!({ "fail_fast": true })).await;
    let child = children(&api, &batch(&api, &id).await).await.remove(0);
    api.clock.advance(61);
    api.verb(&child, ":heartbeat", json!({})).await.expect(200);
    api.verb(&at_work, ":heartbeat", json!({})).await.expect(200);
    api.tick(0).await;
    let closed = batch(&api, &id).await;
    assert_eq!((&closed["status"], states(&closed)), (&json!("failed"), vec!["failed", "canceled"]));
    assert_eq!(closed["tasks"][0]["error_detail"], "downstream_unavailable");
    // Its turn never runs.
    api.finish(&at_work, "success").await;
    assert_eq!(api.head("busy").await["status"], "idle");
}

/// BM-10
async fn a_busy_target_is_asked_again(api: Api) {
    boss(&api).await;
    api.agent("busy").await;
    let at_work = api.running("busy").await;
    // SEC-07: with the live one that is as many as an inbox holds.
    for _ in 1..cardwire_model::limits::INBOX_TURNS {
        api.dispatch("busy").await;
    }
    let one_more = api.order("busy", json!({})).await;
    api.send_turn(&one_more).await.expect_error(429, "inbox_full");
    let args = json!({ "tasks": [{ "target_strategy": "reuse", "target_ref": "busy", "instruction": "i" }] });
    let id = batch_of(&call(&api, args.clone()).await.expect(200));
    let waits = batch(&api, &id).await;
    assert_eq!((states(&waits), &waits["tasks"][0]["attempts"]), (vec!["pending"], &json!(1)));
    api.tick(1).await;
    assert_eq!(batch(&api, &id).await["tasks"][0]["attempts"], 1);
    api.clock.advance(3);
    api.verb(&at_work, ":heartbeat", json!({})).await.expect(200);
    api.tick(0).await;
    assert_eq!(batch(&api, &id).await["tasks"][0]["attempts"], 2);
    // The settings of a run are not in the row from which a branch is started later.
    let of_a_run = json!({ "caller_agent_id": "boss", "args": args, "runtime_config": { "n": 1 } });
    let of_a_run = batch(&api, &batch_of(&api.post(FORK, of_a_run).await.expect(200))).await;
    assert_eq!(states(&of_a_run), ["failed"]);
    assert_eq!(of_a_run["tasks"][0]["error_detail"], "dispatch_busy:inbox_full");
    // Room at last.
    api.finish(&at_work, "success").await;
    api.clock.advance(5);
    api.tick(0).await;
    assert_eq!(states(&batch(&api, &id).await), ["dispatched"]);
}

/// PM-07: also of a branch that had to wait for its place.
async fn pm_07_in_a_strict_project_a_branch_leaves_a_live_turn_its_box(api: Api) {
    boss(&api).await;
    api.agent("busy").await;
    let at_work = api.running("busy").await;
    let strict = json!({ "settings": { "output": { "single_writer": "strict" } } });
    api.with(&api.admin, "PATCH", "/projects/p1", &strict.to_string()).await.expect(200);
    let reuse = json!({ "target_strategy": "reuse", "target_ref": "busy", "instruction": "i" });
    let args = json!({ "tasks": [new_task("x"), reuse], "max_parallel": 1 });
    let id = batch_of(&call(&api, args).await.expect(200));
    let waits = batch(&api, &id).await;
    assert_eq!(states(&waits), ["dispatched", "pending"]);
    api.finish(&children(&api, &waits).await[0], "success").await;
    let task = batch(&api, &id).await["tasks"][1].clone();
    assert_eq!(task["status"], "dispatched");
    let turn = api.turn(task["agent_turn_id"].as_str().unwrap()).await;
    assert_ne!(turn["output_box_id"].as_str().unwrap(), at_work.output);
}
