//! A call that is sent again with its `Idempotency-Key` (API-16).

use super::{FORK, boss, end_two, fork_args};
use crate::support::{Api, on_sqlite};
use serde_json::json;

on_sqlite! {
    api_16_whoever_waits_again_gets_the_join_again;
    api_16_a_refused_call_is_refused_once;
}

async fn api_16_whoever_waits_again_gets_the_join_again(api: Api) {
    boss(&api).await;
    let body = json!({ "caller_agent_id": "boss", "args": fork_args(2, json!({})), "wait_ms": 20_000 });
    let (first, ()) = tokio::join!(api.keyed(FORK, &body), end_two(&api));
    let first = first.expect(200);
    assert_eq!(first["status"], "success");
    assert_eq!(api.keyed(FORK, &body).await.expect(200), first);
    assert_eq!(api.items("batches").await.len(), 1);
}

/// It has left its cards, so that it is not made again.
async fn api_16_a_refused_call_is_refused_once(api: Api) {
    boss(&api).await;
    let args = json!({ "target_strategy": "new", "target_ref": "Nobody", "instruction": "Go." });
    let body = json!({ "caller_agent_id": "boss", "args": args });
    let path = "/projects/p1/pmo/delegate_async:call";
    let first = api.keyed(path, &body).await.expect(404);
    assert!(first["error"]["detail"]["tool_result_card_id"].is_string(), "{first}");
    assert_eq!(api.keyed(path, &body).await.expect(404), first);
    let other = json!({ "caller_agent_id": "boss", "args": { "target_strategy": "new" } });
    api.keyed(path, &other).await.expect_error(409, "conflict");
}
