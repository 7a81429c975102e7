//! A run with all its turns, and the list of runs (IN-13).

use super::{batch, batch_of, boss, children, fork};
use crate::support::{Api, Leased, NOBODY, on_both, on_sqlite};
use serde_json::{Value, json};

on_both! {
    in_13_an_outline_tells_of_every_turn_of_a_run;
    in_13_runs_are_listed_newest_first_with_their_sums;
}

on_sqlite! {
    in_13_the_question_of_a_run_is_cut_and_may_be_missing;
    in_13_an_outline_of_what_is_not_there_is_refused;
}

async fn outline(api: &Api, turn: &str) -> Value {
    api.get(&format!("/projects/p1/turns/{turn}/outline")).await.expect(200)
}

/// A call of a model that a turn made, as its worker tells of it.
async fn answered(api: &Api, leased: &Leased, input: u64, output: u64) {
    let call = api.verb(leased, "/calls", json!({ "model": "m-1" })).await.expect(201);
    let usage = json!({ "input_tokens": input, "cached_tokens": 1, "output_tokens": output });
    let step = json!({
        "step_id": call["step_id"], "phase": "call", "status": "done",
        "metadata": { "model": "m-1", "usage": usage, "cost_micros": 10 },
    });
    api.verb(leased, "/steps", step).await.expect(201);
}

async fn in_13_an_outline_tells_of_every_turn_of_a_run(api: Api) {
    let parent = boss(&api).await;
    answered(&api, &parent, 100, 7).await;
    let forked = batch(&api, &batch_of(&fork(&api, 3, json!({})).await)).await;
    let leases = children(&api, &forked).await;
    answered(&api, &leases[1], 30, 2).await;
    api.finish(&leases[1], "success").await;
    api.finish(&leases[2], "failed").await;

    let shown = outline(&api, &parent.turn).await;
    let tasks = forked["tasks"].as_array().unwrap();
    assert_eq!(shown["agent_turn_id"].as_array().unwrap().len(), 4);
    assert_eq!((&shown["agent_turn_id"][0], &shown["parent"][0]), (&json!(parent.turn), &Value::Null));
    assert_eq!((&shown["agents"][0], &shown["agent"][0]), (&json!("boss"), &json!(0)));
    assert_eq!((&shown["status"][0], &shown["cut"]), (&json!("running"), &json!(false)));
    assert!(shown["leased_us"][0].is_i64() && shown["ended_us"][0].is_null(), "{shown:#}");
    assert_eq!(shown["batches"], json!([forked["batch_id"]]));
    for place in 1..4 {
        let index = shown["task_index"][place].as_u64().unwrap() as usize;
        assert_eq!(shown["agent_turn_id"][place], tasks[index]["agent_turn_id"]);
        assert_eq!((&shown["parent"][place], &shown["batch"][place]), (&json!(0), &json!(0)));
        let agent = shown["agent"][place].as_u64().unwrap() as usize;
        assert_eq!(shown["agents"][agent], tasks[index]["agent_id"]);
        assert_eq!(shown["status"][place], json!(["running", "success", "failed"][index]));
        assert_eq!(shown["calls"][place], json!([0, 1, 0][index]));
        assert_eq!(shown["input_tokens"][place], json!([0, 30, 0][index]));
        assert_eq!(shown["ended_us"][place].is_i64(), index > 0);
        assert!(shown["started_us"][place].as_i64() >= shown["queued_us"][place].as_i64());
    }
    let expected =
        json!({ "calls": 2, "input_tokens": 130, "cached_tokens": 2, "output_tokens": 9, "cost_micros": 20 });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(shown["spent"][name], *value, "{name}");
    }
    let calls = shown["model_calls"].as_array().unwrap();
    let of: Vec<_> = calls.iter().map(|call| call["turn"].as_u64().unwrap()).collect();
    assert_eq!((of.len(), of[0]), (2, 0));
    assert_eq!(calls[1]["spent"]["output_tokens"], 2);
    let shown_call = format!("/projects/p1/calls/{}/context", calls[0]["call_id"].as_str().unwrap());
    assert_eq!(api.get(&shown_call).await.expect(200)["manifest"]["agent_turn_id"], json!(parent.turn));

    // A turn below is the root of its own outline.
    let below = outline(&api, &leases[1].turn).await;
    assert_eq!(below["agent_turn_id"], json!([leases[1].turn]));
    assert_eq!(below["parent"], json!([null]));
}

async fn in_13_runs_are_listed_newest_first_with_their_sums(api: Api) {
    let first = boss(&api).await;
    fork(&api, 2, json!({})).await;
    answered(&api, &first, 5, 1).await;
    let second =
        api.dispatch_with("other", json!({ "context_box_id": api.context("And what now?").await })).await;
    let runs = api.items("outlines").await;
    let ids: Vec<_> = runs.iter().map(|run| run["agent_turn_id"].as_str().unwrap()).collect();
    assert_eq!(ids, [second.id.as_str(), first.turn.as_str()]);
    let of = |run: &Value| (run["turns"].as_u64().unwrap(), run["agents"].as_u64().unwrap());
    assert_eq!((of(&runs[0]), of(&runs[1])), ((1, 1), (3, 3)));
    assert_eq!((&runs[0]["question"], &runs[1]["question"]), (&json!("And what now?"), &json!("do it")));
    assert_eq!((&runs[0]["status"], &runs[1]["status"]), (&json!("dispatched"), &json!("running")));
    assert_eq!((&runs[1]["spent"]["input_tokens"], &runs[1]["spent"]["calls"]), (&json!(5), &json!(1)));
    assert!(runs[1]["seen_at"].as_str() >= runs[1]["created_at"].as_str());
    assert!(runs[1]["ended_at"].is_null() && runs[1].get("cut").is_none());

    let page = api.get("/projects/p1/outlines?limit=1").await.expect(200);
    assert_eq!(page["items"][0]["agent_turn_id"], json!(second.id));
    let cursor = page["next_cursor"].as_str().unwrap();
    let page = api.get(&format!("/projects/p1/outlines?cursor={cursor}&limit=1")).await.expect(200);
    assert_eq!(page["items"][0]["agent_turn_id"], json!(first.turn));
    api.finish(&first, "success").await;
    let runs = api.items("outlines").await;
    assert_eq!(runs[1]["status"], "success");
    assert!(runs[1]["ended_at"].is_string(), "{runs:#?}");
}

async fn in_13_the_question_of_a_run_is_cut_and_may_be_missing(api: Api) {
    let long = "ü".repeat(201);
    api.dispatch_with("a", json!({ "context_box_id": api.context(&long).await })).await;
    let card = api.card("p1", "forget me").await;
    let context = api.make_box("p1", std::slice::from_ref(&card)).await;
    api.dispatch_with("b", json!({ "context_box_id": context })).await;
    api.delete(&format!("/projects/p1/l0/cards/{card}")).await.expect(204);
    let runs = api.items("outlines").await;
    assert_eq!((&runs[0]["question"], &runs[1]["question"]), (&Value::Null, &json!("ü".repeat(200))));
}

async fn in_13_an_outline_of_what_is_not_there_is_refused(api: Api) {
    let turn = api.dispatch("a").await;
    let unknown = format!("/projects/p1/turns/turn_{NOBODY}/outline");
    api.get(&unknown).await.expect_error(404, "not_found");
    let foreign = format!("/projects/p2/turns/{}/outline", turn.id);
    api.get(&foreign).await.expect_error(404, "not_found");
    api.get("/projects/p1/turns/nonsense/outline").await.expect_error(400, "bad_request");
}
