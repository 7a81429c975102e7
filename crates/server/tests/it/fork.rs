//! Forking and joining over HTTP (SPEC.md, BatchManager).

mod again;
mod cancel;
mod guards;
mod outline;
mod room;
mod time;

use crate::support::{Api, Leased, NOBODY, Reply, on_both, on_sqlite};
use cardwire_testkit::scaled;
use serde_json::{Value, json};
use std::collections::HashSet;

on_both! {
    three_children_are_forked_and_joined;
    only_so_many_at_once;
    a_join_of_many_has_each_in_its_place;
    the_last_two_at_once_make_one_join;
}

on_sqlite! {
    arguments_are_read_strictly;
    nothing_is_made_when_one_task_is_wrong;
    a_parent_that_does_not_wait_is_told_all_the_same;
    a_fork_in_the_name_of_a_turn_that_has_not_begun_is_joined;
    one_failure_is_enough_when_asked_for;
    the_first_end_counts;
    final_states;
    any_and_quorum;
    a_result_opens_the_boxes_it_names;
    a_caller_may_wait_for_the_join;
    batches_nest;
    batches_are_listed;
    a_dry_run_of_a_fork_writes_nothing;
    a_parent_delivers_what_its_child_has_delivered;
    a_clone_and_a_reuse_are_branches_too;
    a_repeated_fork_is_one_fork;
}

const FORK: &str = "/projects/p1/pmo/fork_join:call";

fn new_task(instruction: &str) -> Value {
    json!({ "target_strategy": "new", "target_ref": "Helper", "instruction": instruction })
}

fn fork_args(count: usize, more: Value) -> Value {
    let tasks: Vec<_> = (0..count).map(|index| new_task(&format!("Do part {index}."))).collect();
    let mut args = json!({ "tasks": tasks });
    args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    args
}

async fn call(api: &Api, args: Value) -> Reply {
    api.post(FORK, json!({ "caller_agent_id": "boss", "args": args })).await
}

/// An agent at work.
async fn boss(api: &Api) -> Leased {
    api.profile("p1").await;
    api.agent("boss").await;
    api.running("boss").await
}

async fn fork(api: &Api, count: usize, more: Value) -> Value {
    call(api, fork_args(count, more)).await.expect(200)
}

fn batch_of(answer: &Value) -> String {
    answer["result"]["batch_id"].as_str().unwrap().to_owned()
}

async fn batch(api: &Api, id: &str) -> Value {
    api.get(&format!("/projects/p1/batches/{id}")).await.expect(200)
}

/// What the tasks of a batch are.
fn states(batch: &Value) -> Vec<&str> {
    batch["tasks"].as_array().unwrap().iter().map(|task| task["status"].as_str().unwrap()).collect()
}

/// The children that wait, running, in the order of their tasks.
async fn children(api: &Api, batch: &Value) -> Vec<Leased> {
    let mut leases = api.claim_with(json!({ "start": true })).await;
    let place = |lease: &Leased| {
        let tasks = batch["tasks"].as_array().unwrap();
        tasks.iter().position(|task| task["agent_turn_id"] == json!(lease.turn))
    };
    leases.retain(|lease| place(lease).is_some());
    leases.sort_by_key(|lease| place(lease));
    leases
}

/// Ends two children, whenever they come.
async fn end_two(api: &Api) {
    let mut done = 0;
    while done < 2 {
        for child in api.claim_with(json!({ "start": true, "wait_ms": 5_000 })).await {
            api.finish(&child, "success").await;
            done += 1;
        }
    }
}

async fn suspend(api: &Api, parent: &Leased, call: &Value) {
    let body = json!({ "waiting_tool_call_ids": [call], "resume_deadline_seconds": 600 });
    api.verb(parent, ":suspend", body).await.expect(200);
}

/// The `tool.result` cards that a parent was given.
async fn results(api: &Api, parent: &Leased) -> Vec<Value> {
    let cards = api.get(&format!("/projects/p1/boxes/{}/cards", parent.output)).await.expect(200);
    let cards = cards.as_array().unwrap().iter();
    cards.filter(|card| card["metadata"]["type"] == "tool.result").cloned().collect()
}

async fn edges(api: &Api, primitive: &str) -> Vec<Value> {
    let mut edges = api.items(&format!("state/execution/edges?primitive={primitive}")).await;
    edges.reverse();
    edges
}

/// BM-16, NF-05: the call stays open when the turn is started.
async fn a_fork_in_the_name_of_a_turn_that_has_not_begun_is_joined(api: Api) {
    api.profile("p1").await;
    api.agent("boss").await;
    let parent = api.leased("boss").await;
    let answer = fork(&api, 2, json!({})).await;
    api.verb(&parent, ":start", json!({})).await.expect(200);
    assert_eq!(results(&api, &parent).await, Vec::<Value>::new());
    suspend(&api, &parent, &answer["tool_call_id"]).await;
    end_two(&api).await;
    let told = results(&api, &parent).await;
    assert_eq!((told.len(), &told[0]["tool_call_id"]), (1, &answer["tool_call_id"]));
    assert_eq!(batch(&api, &batch_of(&answer)).await["tool_result_card_id"], told[0]["card_id"]);
    assert_eq!(api.claim().await[0].turn, parent.turn, "it goes on");
}

/// BM-05..BM-09, BM-16, BM-17: the whole way.
async fn three_children_are_forked_and_joined(api: Api) {
    let parent = boss(&api).await;
    let answer = fork(&api, 3, json!({})).await;
    assert_eq!((&answer["status"], &answer["result"]["status"]), (&json!("accepted"), &json!("accepted")));
    assert_eq!(answer["result"]["task_count"], 3);
    assert!(answer["tool_result_card_id"].is_null());
    let id = batch_of(&answer);
    let running = batch(&api, &id).await;
    assert_eq!((&running["status"], states(&running)), (&json!("running"), vec!["dispatched"; 3]));
    let indexes: Vec<_> =
        running["tasks"].as_array().unwrap().iter().map(|task| task["task_index"].clone()).collect();
    assert_eq!(indexes, [0, 1, 2]);
    assert!(running["deadline_at"].is_string());
    // Each has a context of its own that begins with its own instruction.
    for (index, task) in running["tasks"].as_array().unwrap().iter().enumerate() {
        let context = task["context_box_id"].as_str().unwrap();
        let cards = api.get(&format!("/projects/p1/boxes/{context}/cards")).await.expect(200);
        assert_eq!(cards[0]["content"], format!("Do part {index}."));
        assert_eq!(cards[0]["metadata"]["author_id"], "fork_join");
        assert_eq!(cards[1]["content"], json!({ "parent_agent_id": "boss" }));
    }
    suspend(&api, &parent, &answer["tool_call_id"]).await;
    assert_eq!(api.head("boss").await["status"], "suspended");
    let leased = children(&api, &running).await;
    // The last is first, and the parent is told by index all the same.
    for child in leased.iter().rev() {
        assert!(results(&api, &parent).await.is_empty());
        let fields = json!({ "fields": [{ "name": "answer", "value": child.turn }] });
        api.verb(child, ":finish", json!({ "status": "success", "deliverable": fields })).await.expect(200);
    }
    let closed = batch(&api, &id).await;
    assert_eq!((&closed["status"], states(&closed)), (&json!("success"), vec!["success"; 3]));
    let told = results(&api, &parent).await;
    assert_eq!(told.len(), 1);
    let expected: Vec<_> = (0..3)
        .map(|index| {
            json!({
                "task_index": index, "status": "success",
                "summary": format!("answer: {}", leased[index].turn),
                "output_box_id": leased[index].output,
            })
        })
        .collect();
    assert_eq!(told[0]["content"]["result"], json!({ "status": "success", "results": expected }));
    assert_eq!(
        (&told[0]["content"]["status"], &told[0]["content"]["error"]),
        (&json!("success"), &Value::Null)
    );
    assert_eq!(told[0]["metadata"]["author_id"], "sys.pmo.batch_manager");
    assert_eq!(
        (&told[0]["tool_call_id"], &told[0]["card_id"]),
        (&answer["tool_call_id"], &closed["tool_result_card_id"])
    );

    let joins = edges(&api, "join").await;
    assert_eq!(joins.len(), 2);
    let phase =
        |edge: &Value| (edge["edge_phase"].as_str().unwrap().to_owned(), edge["correlation_id"].clone());
    assert_eq!(phase(&joins[0]), ("request".to_owned(), json!(id)));
    assert_eq!(phase(&joins[1]), ("response".to_owned(), json!(id)));
    let sent = edges(&api, "enqueue").await;
    let of_children: Vec<_> = sent.iter().filter(|edge| edge["source_agent_id"] == "boss").collect();
    assert_eq!(of_children.len(), 3);
    let order = |edge: &Value| edge["edge_id"].as_str().unwrap().to_owned();
    assert!(of_children.iter().all(|edge| order(edge) > order(&joins[0])));

    let resumed = api.claim_with(json!({ "start": true })).await;
    assert_eq!(
        (resumed.len(), &resumed[0].lease["kind"], &resumed[0].turn),
        (1, &json!("resume"), &parent.turn)
    );
    api.finish(&resumed[0], "success").await;
    let states: Vec<_> = api.told("batch.state").await.iter().map(|data| data["status"].clone()).collect();
    assert_eq!(states, ["running", "success"]);
}

/// BM-01, BM-02
async fn arguments_are_read_strictly(api: Api) {
    boss(&api).await;
    for (more, path) in [
        (json!({ "tasks": [] }), "args.tasks"),
        (json!({ "retry_batch_id": "x" }), "args.retry_batch_id"),
        (json!({ "fail_fast": "maybe" }), "args.fail_fast"),
        (json!({ "deadline_seconds": true }), "args.deadline_seconds"),
        (json!({ "deadline_seconds": 0 }), "args.deadline_seconds"),
        (
            json!({ "tasks": [{ "target_strategy": "x", "target_ref": "Helper", "instruction": "i" }] }),
            "args.tasks.0.target_strategy",
        ),
        (
            json!({ "tasks": [{ "target_strategy": "new", "target_ref": "Helper", "instruction": "i", "x": 1 }] }),
            "args.tasks.0.x",
        ),
    ] {
        let reply = call(&api, fork_args(1, more)).await;
        reply.expect_error(400, "bad_request");
        let message = reply.json()["error"]["message"].to_string();
        assert!(message.contains(&format!("invalid {path}")), "{message}");
    }
    let settings = json!({ "settings": { "pmo": { "fork_join_max_tasks": 2 } } });
    api.with(&api.admin, "PATCH", "/projects/p1", &settings.to_string()).await.expect(200);
    let reply = call(&api, fork_args(3, json!({}))).await;
    reply.expect_error(400, "bad_request");
    assert!(reply.json()["error"]["message"].to_string().contains("(got=3, max=2)"));
    fork(&api, 2, json!({})).await;
}

/// BM-04: all or nothing.
async fn nothing_is_made_when_one_task_is_wrong(api: Api) {
    boss(&api).await;
    let before = (api.items("agents").await.len(), api.items("batches").await.len());
    for (second, status, code) in [
        (json!({ "target_strategy": "new", "target_ref": "Nobody", "instruction": "i" }), 404, "not_found"),
        (json!({ "target_strategy": "reuse", "target_ref": "nobody", "instruction": "i" }), 404, "not_found"),
        (
            json!({ "target_strategy": "new", "target_ref": "Helper", "instruction": "i", "context_box_id": NOBODY }),
            404,
            "not_found",
        ),
    ] {
        let boxes = api.store.scan_boxes(&"p1".parse().unwrap(), None, 1_000).await.unwrap().len();
        let args = json!({ "tasks": [new_task("a"), second, new_task("c")] });
        call(&api, args).await.expect_error(status, code);
        assert_eq!((api.items("agents").await.len(), api.items("batches").await.len()), before);
        assert_eq!(api.store.scan_boxes(&"p1".parse().unwrap(), None, 1_000).await.unwrap().len(), boxes);
    }
    api.agent("silent").await;
    let copy = json!({ "target_strategy": "clone", "target_ref": "silent", "instruction": "i" });
    let body = json!({ "caller_agent_id": "boss", "args": { "tasks": [new_task("a"), copy] } });
    for path in [FORK.to_owned(), format!("{FORK}?dry_run=true")] {
        let reply = api.post(&path, body.clone()).await;
        reply.expect_error(400, "bad_request");
        assert_eq!(reply.json()["error"]["detail"]["field"], "args/tasks/1/target_ref");
    }
    let twice = json!({ "target_strategy": "reuse", "target_ref": "boss", "instruction": "i" });
    let reply = call(&api, json!({ "tasks": [twice.clone(), twice] })).await;
    reply.expect_error(400, "bad_request");
    assert!(reply.json()["error"]["message"].to_string().contains("duplicate reuse target"));
}

/// The children may be done before the parent waits for them.
async fn a_parent_that_does_not_wait_is_told_all_the_same(api: Api) {
    let parent = boss(&api).await;
    let answer = fork(&api, 1, json!({})).await;
    let running = batch(&api, &batch_of(&answer)).await;
    api.finish(&children(&api, &running).await[0], "success").await;
    assert_eq!(results(&api, &parent).await.len(), 1);
    suspend(&api, &parent, &answer["tool_call_id"]).await;
    let resumed = api.claim_with(json!({ "start": true })).await;
    assert_eq!(resumed[0].lease["kind"], "resume");
}

/// BM-13, W-06
async fn one_failure_is_enough_when_asked_for(api: Api) {
    let parent = boss(&api).await;
    let answer = fork(&api, 3, json!({ "fail_fast": true })).await;
    suspend(&api, &parent, &answer["tool_call_id"]).await;
    let id = batch_of(&answer);
    let leased = children(&api, &batch(&api, &id).await).await;
    api.verb(&leased[0], ":finish", json!({ "status": "failed", "error": "it broke" })).await.expect(200);
    let closed = batch(&api, &id).await;
    assert_eq!(
        (&closed["status"], states(&closed)),
        (&json!("failed"), vec!["failed", "canceled", "canceled"])
    );
    assert_eq!(closed["close_reason"], "fail_fast");
    let told = results(&api, &parent).await;
    let result = &told[0]["content"]["result"];
    assert_eq!((&result["status"], result["results"].as_array().unwrap().len()), (&json!("failed"), 3));
    assert_eq!(result["results"][0]["error"], "it broke");
    assert_eq!(told[0]["content"]["error"]["code"], "batch_failed");
    // The others are fenced at once, and what they say late changes nothing.
    for child in &leased[1..] {
        assert_eq!(api.turn(&child.turn).await["status"], "failed");
        api.verb(child, ":finish", json!({ "status": "success", "deliverable": "late" }))
            .await
            .expect_error(409, "stale_turn");
    }
    assert_eq!(states(&batch(&api, &id).await), ["failed", "canceled", "canceled"]);
    assert_eq!(results(&api, &parent).await.len(), 1);
    assert!(api.tick(1).await.is_empty(), "nothing is left to be swept");
}

/// BM-11
async fn the_first_end_counts(api: Api) {
    boss(&api).await;
    let id = batch_of(&fork(&api, 2, json!({})).await);
    let leased = children(&api, &batch(&api, &id).await).await;
    api.finish(&leased[0], "success").await;
    assert!(!api.verb(&leased[0], ":finish", json!({ "status": "failed" })).await.status.is_success());
    api.finish(&leased[1], "partial").await;
    assert_eq!(states(&batch(&api, &id).await), ["success", "partial"]);
}

/// BM-14
async fn final_states(api: Api) {
    boss(&api).await;
    for (ends, expected) in [
        (["success", "success"], "success"),
        (["success", "failed"], "partial"),
        (["success", "partial"], "partial"),
        (["failed", "timeout"], "failed"),
        (["timeout", "canceled"], "timeout"),
        (["partial", "partial"], "partial"),
        (["partial", "canceled"], "partial"),
        (["canceled", "canceled"], "failed"),
    ] {
        let id = batch_of(&fork(&api, 2, json!({})).await);
        let leased = children(&api, &batch(&api, &id).await).await;
        for (child, end) in leased.iter().zip(ends) {
            api.finish(child, end).await;
        }
        let closed = batch(&api, &id).await;
        assert_eq!((&closed["status"], states(&closed)), (&json!(expected), ends.to_vec()));
    }
}

async fn any_and_quorum(api: Api) {
    boss(&api).await;
    for (aggregation, needed) in [("any", 1), ("quorum(2)", 2)] {
        let answer = fork(&api, 3, json!({ "aggregation": aggregation })).await;
        let id = batch_of(&answer);
        let leased = children(&api, &batch(&api, &id).await).await;
        assert_eq!(batch(&api, &id).await["aggregation"], aggregation);
        api.finish(&leased[2], "success").await;
        if needed == 2 {
            assert_eq!(batch(&api, &id).await["status"], "running");
            api.finish(&leased[0], "success").await;
        }
        let closed = batch(&api, &id).await;
        assert_eq!((&closed["status"], &closed["close_reason"]), (&json!("success"), &json!("enough")));
        assert_eq!(states(&closed).iter().filter(|state| **state == "canceled").count(), 3 - needed);
        assert!(!api.verb(&leased[1], ":heartbeat", json!({})).await.status.is_success());
    }
}

/// BM-08
async fn only_so_many_at_once(api: Api) {
    boss(&api).await;
    let id = batch_of(&fork(&api, 5, json!({ "max_parallel": 2 })).await);
    let mut done = 0;
    while done < 5 {
        let now = batch(&api, &id).await;
        let live = states(&now).iter().filter(|state| **state == "dispatched").count();
        assert_eq!(live, 2.min(5 - done), "{:?}", states(&now));
        let leased = api.claim_with(json!({ "max_turns": 1, "start": true })).await;
        api.finish(&leased[0], "success").await;
        done += 1;
    }
    assert_eq!(batch(&api, &id).await["status"], "success");
}

///
async fn a_result_opens_the_boxes_it_names(api: Api) {
    let parent = boss(&api).await;
    let answer = fork(&api, 1, json!({})).await;
    let id = batch_of(&answer);
    let leased = children(&api, &batch(&api, &id).await).await;
    let hand_on = async |context: &str| {
        let args = json!({ "target_strategy": "new", "target_ref": "Helper", "instruction": "x", "context_box_id": context });
        let body = json!({ "caller_agent_id": "boss", "agent_turn_id": parent.turn, "args": args });
        api.with(&parent.token, "POST", "/projects/p1/pmo/delegate_async:call", &body.to_string()).await
    };
    hand_on(&leased[0].output).await.expect_error(403, "unauthorized_box");
    api.finish(&leased[0], "success").await;
    let next = hand_on(&leased[0].output).await.expect(200);
    // What a delegate answers names a box, too.
    hand_on(next["result"]["output_box_id"].as_str().unwrap()).await.expect(200);
}

async fn a_caller_may_wait_for_the_join(api: Api) {
    api.profile("p1").await;
    api.agent("boss").await;
    // Longer than one may wait, which is clamped as that of claims is.
    let body = json!({ "caller_agent_id": "boss", "args": fork_args(2, json!({})), "wait_ms": 99_000 });
    let (answer, ()) = tokio::join!(api.post(FORK, body), end_two(&api));
    let answer = answer.expect(200);
    assert_eq!((&answer["status"], &answer["result"]["status"]), (&json!("success"), &json!("success")));
    assert_eq!(answer["result"]["results"].as_array().unwrap().len(), 2);
    // Nobody's turn was waiting, so the answer is a card by itself.
    let card = answer["tool_result_card_id"].as_str().unwrap();
    let card = api.get(&format!("/projects/p1/cards/{card}")).await.expect(200);
    assert_eq!(
        (&card["tool_call_id"], &card["content"]["status"]),
        (&answer["tool_call_id"], &json!("success"))
    );
}

/// BM-21
async fn batches_nest(api: Api) {
    let parent = boss(&api).await;
    let outer = fork(&api, 1, json!({})).await;
    suspend(&api, &parent, &outer["tool_call_id"]).await;
    let middle = children(&api, &batch(&api, &batch_of(&outer)).await).await.remove(0);
    let body = json!({ "caller_agent_id": middle.agent, "agent_turn_id": middle.turn, "args": fork_args(2, json!({})) });
    let inner = api.with(&middle.token, "POST", FORK, &body.to_string()).await.expect(200);
    suspend(&api, &middle, &inner["tool_call_id"]).await;
    let below = batch(&api, &batch_of(&inner)).await;
    assert_eq!(below["depth"], 2);
    for child in children(&api, &below).await {
        assert_eq!(child.lease["depth"], 2);
        api.finish(&child, "success").await;
    }
    assert_eq!(batch(&api, &batch_of(&outer)).await["status"], "running");
    let resumed = api.claim_with(json!({ "start": true })).await.remove(0);
    assert_eq!(resumed.turn, middle.turn);
    api.finish(&resumed, "success").await;
    assert_eq!(batch(&api, &batch_of(&outer)).await["status"], "success");
    assert_eq!(results(&api, &parent).await.len(), 1);
}

/// API-08
async fn batches_are_listed(api: Api) {
    let parent = boss(&api).await;
    let mut ids = vec![];
    for _ in 0..3 {
        ids.push(batch_of(&fork(&api, 1, json!({})).await));
    }
    let leased = children(&api, &batch(&api, &ids[0]).await).await;
    api.finish(&leased[0], "success").await;
    let listed = async |filter: &str| -> Vec<String> {
        let items = api.items(&format!("batches{filter}")).await;
        items.iter().map(|item| item["batch_id"].as_str().unwrap().to_owned()).collect()
    };
    let newest: Vec<_> = ids.iter().rev().cloned().collect();
    assert_eq!(listed("").await, newest);
    assert_eq!(listed("?status=running").await, newest[..2]);
    assert_eq!(listed("?status=success&agent_id=boss").await, ids[..1]);
    assert_eq!(listed(&format!("?agent_turn_id={}", parent.turn)).await, newest);
    assert!(listed("?agent_id=nobody").await.is_empty());
    let page = api.get("/projects/p1/batches?limit=2").await.expect(200);
    let next = page["next_cursor"].as_str().unwrap();
    let rest = api.get(&format!("/projects/p1/batches?limit=2&cursor={next}")).await.expect(200);
    assert_eq!(rest["items"][0]["batch_id"], json!(ids[0]));
    api.get("/projects/p1/batches?status=odd").await.expect_error(400, "bad_request");
    api.get(&format!("/projects/p1/batches/batch_{NOBODY}")).await.expect_error(404, "not_found");
}

/// the join has given it the box.
async fn a_parent_delivers_what_its_child_has_delivered(api: Api) {
    let parent = boss(&api).await;
    let answer = fork(&api, 1, json!({})).await;
    let running = batch(&api, &batch_of(&answer)).await;
    let child = children(&api, &running).await.remove(0);
    let body = json!({ "status": "success", "deliverable": "found" });
    let found = api.verb(&child, ":finish", body).await.expect(200)["deliverable_card_id"].clone();
    let finish = json!({ "status": "success", "deliverable_card_id": found });
    assert_eq!(api.verb(&parent, ":finish", finish).await.expect(200)["deliverable_card_id"], found);
}

/// PK-21
async fn a_dry_run_of_a_fork_writes_nothing(api: Api) {
    boss(&api).await;
    let before = api.everything().await;
    let body = json!({ "caller_agent_id": "boss", "args": fork_args(2, json!({})) });
    let answer = api.post(&format!("{FORK}?dry_run=true"), body).await.expect(200);
    assert_eq!((&answer["status"], answer["tasks"].as_array().unwrap().len()), (&json!("dry_run"), 2));
    assert_eq!(api.everything().await, before);
}

/// BM-05, PM-07, PM-08
async fn a_clone_and_a_reuse_are_branches_too(api: Api) {
    api.profile("p1").await;
    for agent in ["boss", "old", "source"] {
        api.agent(agent).await;
    }
    let source = api.running("source").await;
    let thought = api.think(&source, "what I know").await;
    api.finish(&source, "success").await;
    let task = |strategy: &str, target: &str| json!({ "target_strategy": strategy, "target_ref": target, "instruction": "i" });
    let answer =
        call(&api, json!({ "tasks": [task("clone", "source"), task("reuse", "old")] })).await.expect(200);
    let running = batch(&api, &batch_of(&answer)).await;
    let context = running["tasks"][0]["context_box_id"].as_str().unwrap();
    assert!(api.shown("p1", context).await.contains(&thought));
    assert_eq!(running["tasks"][1]["agent_id"], "old");
    for child in children(&api, &running).await {
        api.finish(&child, "success").await;
    }
    assert_eq!(batch(&api, &batch_of(&answer)).await["status"], "success");
}

/// API-16
async fn a_repeated_fork_is_one_fork(api: Api) {
    boss(&api).await;
    let bearer = format!("Bearer {}", api.admin);
    let send = async || {
        let body = json!({ "caller_agent_id": "boss", "args": fork_args(2, json!({})) });
        let headers = [("authorization", bearer.as_str()), ("idempotency-key", "k")];
        api.request("POST", FORK, &headers, body.to_string()).await.expect(200)
    };
    let first = send().await;
    assert_eq!(send().await, first);
    assert_eq!(api.items("batches").await.len(), 1);
}

/// BM-17: branches and their cards are read in pages, several at a time; what is told of them is by index all the same.
async fn a_join_of_many_has_each_in_its_place(api: Api) {
    const MANY: usize = 230;
    let parent = boss(&api).await;
    let answer = fork(&api, MANY, json!({})).await;
    let id = batch_of(&answer);
    let tasks = batch(&api, &id).await["tasks"].clone();
    let index_of = |turn: &str| (0..MANY).find(|index| tasks[*index]["agent_turn_id"] == *turn).unwrap();
    let mut left = MANY;
    while left > 0 {
        for child in api.claim_with(json!({ "start": true })).await {
            let body = json!({ "status": "success", "deliverable": format!("#{}", index_of(&child.turn)) });
            api.verb(&child, ":finish", body).await.expect(200);
            left -= 1;
        }
    }
    let told = results(&api, &parent).await;
    let told = told[0]["content"]["result"]["results"].as_array().unwrap();
    assert_eq!(told.len(), MANY);
    for (index, one) in told.iter().enumerate() {
        assert_eq!((&one["task_index"], &one["summary"]), (&json!(index), &json!(format!("#{index}"))));
    }
}

/// BM-15: whoever comes last, it is joined once.
async fn the_last_two_at_once_make_one_join(api: Api) {
    boss(&api).await;
    let rounds = scaled(100) as usize;
    let mut results = HashSet::new();
    for _ in 0..rounds {
        let id = batch_of(&fork(&api, 2, json!({})).await);
        let leased = children(&api, &batch(&api, &id).await).await;
        tokio::join!(api.finish(&leased[0], "success"), api.finish(&leased[1], "success"));
        let closed = batch(&api, &id).await;
        assert_eq!(closed["status"], "success");
        results.insert(closed["tool_result_card_id"].as_str().unwrap().to_owned());
    }
    assert_eq!(results.len(), rounds);
    let joins = edges(&api, "join").await;
    assert_eq!(joins.iter().filter(|edge| edge["edge_phase"] == "response").count(), rounds);
}
