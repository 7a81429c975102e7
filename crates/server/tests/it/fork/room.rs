//! OB-03: what is joined fits into what the parent has left.

use super::{batch, batch_of, children, fork, results, suspend};
use crate::support::{Api, Leased, on_both, on_sqlite};
use serde_json::{Value, json};

on_both! {
    ob_03_two_forks_at_once_fit;
}

on_sqlite! {
    ob_03_one_fork_after_another_fits;
    ob_03_a_parent_with_a_history_has_less_room;
    ob_03_what_was_written_since_the_last_request_takes_room;
    ob_03_what_was_given_takes_room_before_the_first_request;
    ob_03_what_a_model_counts_as_more_than_the_estimate_fits_all_the_same;
    ob_03_a_fork_whose_least_result_does_not_fit_is_refused;
    ob_03_a_history_that_goes_refuses_no_fork;
}

const WINDOW: u64 = 8_000;

/// An agent at work whose model takes no more than [`WINDOW`] tokens.
async fn boss(api: &Api) -> Leased {
    boss_with(api, "Lead.", "Lead.").await
}

/// The same with a system prompt and a context of the caller's choice.
async fn boss_with(api: &Api, prompt: &str, context: &str) -> Leased {
    boss_of(api, "m", prompt, context).await
}

/// The same with a model of the caller's choice.
async fn boss_of(api: &Api, model: &str, prompt: &str, context: &str) -> Leased {
    api.profile("p1").await;
    let config = json!({ "model": model, "context_window": WINDOW });
    let profile = json!({ "system_prompt": prompt, "worker_target": "w1", "llm_config": config });
    api.with(&api.admin, "PUT", "/projects/p1/profiles/Boss", &profile.to_string()).await.expect(201);
    let agent = json!({ "agent_id": "boss", "profile_name": "Boss" });
    let boss = api.post("/projects/p1/agents", agent).await.expect(201);
    let context = api.context(context).await;
    let turn =
        json!({ "agent_id": "boss", "profile_box_id": boss["profile_box_id"], "context_box_id": context });
    api.send_turn(&turn).await.expect(201);
    api.claim_with(json!({ "start": true })).await.remove(0)
}

/// What the next request of the parent has, all of which fits.
async fn asks(api: &Api, parent: &Leased) -> u64 {
    api.verb(parent, "/calls", json!({})).await.expect(201)["total_tokens"].as_u64().unwrap()
}

/// Writes so many times a thousand tokens.
async fn think(api: &Api, parent: &Leased, times: usize) {
    for _ in 0..times {
        let card = json!({ "content": "word ".repeat(800), "metadata": { "type": "agent.thought" } });
        api.verb(parent, "/cards", card).await.expect(200);
    }
}

/// What each of five branches was promised when they were forked.
async fn share(api: &Api, answer: &Value) -> u64 {
    let id = batch_of(answer).parse().unwrap();
    api.store.batch(&"p1".parse().unwrap(), id).await.unwrap().unwrap().result_tokens.into()
}

/// All of them say much more than anybody can read.
async fn end(api: &Api, id: &str) {
    for child in children(api, &batch(api, id).await).await {
        let body = json!({ "status": "success", "deliverable": "word ".repeat(8_000) });
        api.verb(&child, ":finish", body).await.expect(200);
    }
}

async fn resume(api: &Api, parent: &mut Leased) {
    let leases = api.claim_with(json!({ "start": true })).await;
    *parent = leases.into_iter().find(|lease| lease.turn == parent.turn).unwrap();
}

fn told(results: &[Value]) -> Vec<usize> {
    let summaries = |card: &Value| card["content"]["result"]["results"].to_string().len();
    results.iter().map(summaries).collect()
}

async fn ob_03_one_fork_after_another_fits(api: Api) {
    let mut parent = boss(&api).await;
    for _ in 0..4 {
        asks(&api, &parent).await;
        let answer = fork(&api, 5, json!({})).await;
        suspend(&api, &parent, &answer["tool_call_id"]).await;
        end(&api, &batch_of(&answer)).await;
        resume(&api, &mut parent).await;
    }
    assert!(asks(&api, &parent).await < WINDOW);
    let told = told(&results(&api, &parent).await);
    assert!(told.is_sorted_by(|one, next| one > next), "each has half of what is left: {told:?}");
    assert!(told[0] > 8_000, "{told:?}");
}

async fn ob_03_two_forks_at_once_fit(api: Api) {
    let mut parent = boss(&api).await;
    let (one, other) = (fork(&api, 5, json!({})).await, fork(&api, 5, json!({})).await);
    let body = json!({ "waiting_tool_call_ids": [one["tool_call_id"], other["tool_call_id"]] });
    api.verb(&parent, ":suspend", body).await.expect(200);
    let leases = api.claim_with(json!({ "start": true })).await;
    for child in &leases {
        let body = json!({ "status": "success", "deliverable": "word ".repeat(8_000) });
        api.verb(child, ":finish", body).await.expect(200);
    }
    assert_eq!(leases.len(), 10);
    resume(&api, &mut parent).await;
    assert!(asks(&api, &parent).await < WINDOW);
}

async fn ob_03_a_parent_with_a_history_has_less_room(api: Api) {
    let mut parent = boss(&api).await;
    think(&api, &parent, 5).await;
    let before = asks(&api, &parent).await;
    assert!(before > WINDOW / 2, "{before}");
    let answer = fork(&api, 5, json!({})).await;
    assert_eq!(share(&api, &answer).await, (WINDOW - WINDOW / 8 - before) / 2 / 5);
    suspend(&api, &parent, &answer["tool_call_id"]).await;
    end(&api, &batch_of(&answer)).await;
    resume(&api, &mut parent).await;
    assert!(asks(&api, &parent).await > before + 500, "something is told all the same");
}

async fn ob_03_what_was_written_since_the_last_request_takes_room(api: Api) {
    let mut parent = boss(&api).await;
    let before = asks(&api, &parent).await;
    think(&api, &parent, 5).await;
    let answer = fork(&api, 5, json!({})).await;
    assert!(share(&api, &answer).await <= (WINDOW - WINDOW / 8 - before - 5_000) / 2 / 5);
    suspend(&api, &parent, &answer["tool_call_id"]).await;
    end(&api, &batch_of(&answer)).await;
    resume(&api, &mut parent).await;
    assert!(asks(&api, &parent).await < WINDOW);
}

/// Its profile and its context, two thousand tokens each.
async fn ob_03_what_was_given_takes_room_before_the_first_request(api: Api) {
    let long = "word ".repeat(1_600);
    boss_with(&api, &long, &long).await;
    let left = 10 * share(&api, &fork(&api, 5, json!({})).await).await;
    let most = WINDOW - WINDOW / 8 - 4_000;
    assert!((most - 200..=most).contains(&left), "{left}");
}

/// Letters and digits without sense, of which the estimate has four in a token, and models hardly two.
fn noise(seed: u64, length: usize) -> String {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(letters[(state >> 58) as usize])
    };
    (0..length).map(next).collect()
}

async fn ob_03_what_a_model_counts_as_more_than_the_estimate_fits_all_the_same(api: Api) {
    let mut parent = boss_of(&api, "gpt-4o", "Lead.", "Lead.").await;
    for count in [8, 1] {
        asks(&api, &parent).await;
        let answer = fork(&api, count, json!({})).await;
        suspend(&api, &parent, &answer["tool_call_id"]).await;
        for (seed, child) in children(&api, &batch(&api, &batch_of(&answer)).await).await.iter().enumerate() {
            let body = json!({ "status": "success", "deliverable": noise(seed as u64 + 1, 40_000) });
            api.verb(child, ":finish", body).await.expect(200);
        }
        resume(&api, &mut parent).await;
    }
    assert!(asks(&api, &parent).await < WINDOW);
    assert!(told(&results(&api, &parent).await)[0] > 2_000, "what fits is told");
}

async fn ob_03_a_fork_whose_least_result_does_not_fit_is_refused(api: Api) {
    let parent = boss(&api).await;
    think(&api, &parent, 4).await;
    asks(&api, &parent).await;
    let tasks = json!({ "tasks": vec![super::new_task("i"); 200] });
    let before = api.items("batches").await.len();
    let answer = super::call(&api, tasks).await.expect(200);
    let result = &answer["result"];
    assert_eq!(
        (&answer["status"], &result["error_code"]),
        (&json!("failed"), &json!("result_budget_exceeded"))
    );
    assert!(result["error"]["message"].as_str().unwrap().contains("200 tasks"), "{result}");
    assert_eq!(api.items("batches").await.len(), before);
    fork(&api, 5, json!({})).await;
}

/// What the next request may leave out is no reason to refuse.
async fn ob_03_a_history_that_goes_refuses_no_fork(api: Api) {
    let first = boss(&api).await;
    think(&api, &first, 9).await;
    api.finish(&first, "success").await;
    let turn = json!({
        "agent_id": "boss", "profile_box_id": first.lease["profile_box_id"], "output_box_id": first.output,
        "context_box_id": api.context("Go on.").await,
    });
    api.send_turn(&turn).await.expect(201);
    let mut parent = api.claim_with(json!({ "start": true })).await.remove(0);
    let most = WINDOW - WINDOW / 8;
    let before = asks(&api, &parent).await;
    assert!((most - 1_100..=most).contains(&before), "as much of its history as fits: {before}");
    for child in 0..2 {
        let answer = fork(&api, 100, json!({})).await;
        suspend(&api, &parent, &answer["tool_call_id"]).await;
        end(&api, &batch_of(&answer)).await;
        resume(&api, &mut parent).await;
        assert!(asks(&api, &parent).await <= most, "{child}");
    }
}
