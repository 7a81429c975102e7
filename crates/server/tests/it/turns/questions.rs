//! What people are asked by a turn and everything below it (PR-10).

use crate::support::{Api, Leased, on_sqlite};
use serde_json::{Value, json};

on_sqlite! {
    pr_10_questions_are_those_of_a_turn_and_of_everything_below_it;
    pr_10_a_run_pauses_when_nothing_below_it_goes_on_by_itself;
}

/// A turn that runs, below another if one is given.
async fn started(api: &Api, agent: &str, parent: Option<&Leased>) -> Leased {
    let mut more = json!({ "trace_id": "one" });
    if let Some(parent) = parent {
        more["parent_agent_turn_id"] = parent.turn.as_str().into();
    }
    let turn = api.dispatch_with(agent, more).await;
    let leases = api.claim_with(json!({ "start": true })).await;
    leases.into_iter().find(|lease| lease.turn == turn.id).unwrap()
}

/// The turn waits for a person.
async fn ask(api: &Api, leased: &Leased, question: &str) {
    let content = json!({ "tool_name": "ask_human", "arguments": { "question": question } });
    let call = json!({ "content": content, "tool_call_id": "c1", "metadata": { "type": "tool.call" } });
    api.verb(leased, "/cards", call).await.expect(200);
    api.verb(leased, ":suspend", json!({ "waiting_tool_call_ids": ["c1"] })).await.expect(200);
}

async fn asked(api: &Api, leased: &Leased) -> Vec<String> {
    let list = api.get(&format!("/projects/p1/turns/{}/questions", leased.turn)).await.expect(200);
    let text = |item: &Value| item["question"].as_str().unwrap().to_owned();
    list["items"].as_array().unwrap().iter().map(text).collect()
}

/// One between that has ended does not hide those below it; a turn of the same trace that is not below is left out.
async fn pr_10_questions_are_those_of_a_turn_and_of_everything_below_it(api: Api) {
    let root = started(&api, "root", None).await;
    let between = started(&api, "between", Some(&root)).await;
    let below = started(&api, "below", Some(&between)).await;
    let beside = started(&api, "beside", None).await;
    // One that is queued behind a turn asks nothing yet.
    api.dispatch_with("beside", json!({ "trace_id": "one", "parent_agent_turn_id": root.turn })).await;
    assert_eq!(asked(&api, &root).await, [] as [&str; 0]);
    api.finish(&between, "success").await;
    ask(&api, &below, "left?").await;
    ask(&api, &beside, "right?").await;
    assert_eq!(asked(&api, &root).await, ["left?"]);
    ask(&api, &root, "on?").await;
    assert_eq!(asked(&api, &root).await, ["on?", "left?"]);
    assert_eq!(asked(&api, &between).await, ["left?"]);
    assert_eq!(asked(&api, &beside).await, ["right?"]);
    api.report(&root, "c1", json!({ "status": "success", "result": "yes" })).await.expect(200);
    assert_eq!(asked(&api, &root).await, ["left?"]);
}

/// What a run is told, if it pauses.
async fn paused(api: &Api, leased: &Leased) -> Option<usize> {
    let turn = leased.turn.parse().unwrap();
    api.kernel.pause(&"p1".parse().unwrap(), turn).await.unwrap().map(|questions| questions.len())
}

/// Whoever is at work is found among the few that were sent last, and behind many that wait.
async fn pr_10_a_run_pauses_when_nothing_below_it_goes_on_by_itself(api: Api) {
    let root = started(&api, "root", None).await;
    ask(&api, &root, "on?").await;
    assert_eq!(paused(&api, &root).await, Some(1));
    let first = started(&api, "first", Some(&root)).await;
    assert_eq!(paused(&api, &root).await, None);
    let mut others = vec![];
    for number in 0..12 {
        let other = started(&api, &format!("other-{number}"), Some(&root)).await;
        ask(&api, &other, "which?").await;
        others.push(other);
    }
    assert_eq!(paused(&api, &root).await, None);
    ask(&api, &first, "left?").await;
    assert_eq!(paused(&api, &root).await, Some(14));
    // At work, in the same trace, and not below.
    let beside = started(&api, "beside", None).await;
    assert_eq!(paused(&api, &root).await, Some(14));
    assert_eq!(paused(&api, &beside).await, None);
    // Sent, and not claimed by anybody yet.
    api.dispatch_with("waiting", json!({ "trace_id": "one", "parent_agent_turn_id": root.turn })).await;
    assert_eq!(paused(&api, &root).await, None);
    assert_eq!(paused(&api, &others[0]).await, Some(1));
}
