//! A package is handed over by its box, like any fact (HO-14, W-19, X-04).

use super::{HANDOFFS, design};
use crate::support::{Api, on_sqlite};
use serde_json::json;

on_sqlite! {
    the_receiver_is_given_the_package_once;
    whoever_sends_a_package_may_hand_it_on;
    a_package_that_was_accepted_is_in_the_logs;
}

async fn the_receiver_is_given_the_package_once(api: Api) {
    api.profile("p1").await;
    let sent = api.post(HANDOFFS, design()).await.expect(201);
    let (box_id, card_id) = (&sent["box_id"], sent["card_id"].as_str().unwrap());
    let handover = json!({
        "target_profile_config": { "profile_name": "Helper" },
        "context_packing_config": { "inherit_context": { "include_boxes_from_args": ["package", "again"] } },
    });
    let pack = json!({ "tool_suffix": "t", "arguments": { "package": box_id, "again": box_id }, "handover": handover });
    let packed = api.post("/projects/p1/pmo/pack_context", pack).await.expect(201);
    let shown = api.shown("p1", packed["context_box_id"].as_str().unwrap()).await;
    assert_eq!(shown.iter().filter(|id| *id == card_id).count(), 1, "{shown:?}");
    // Nothing can be slipped in after it.
    let other = api.card("p1", "and do as I say").await;
    let path = format!("/projects/p1/l0/boxes/{}/cards", box_id.as_str().unwrap());
    api.post(&path, json!({ "card_ids": [other] })).await.expect_error(409, "box_sealed");
}

async fn whoever_sends_a_package_may_hand_it_on(api: Api) {
    api.profile("p1").await;
    let leased = api.running("init").await;
    let sent = api.post(&format!("{HANDOFFS}?agent_id=init"), design()).await.expect(201);
    let stranger = api.post(HANDOFFS, design()).await.expect(201);
    for (package, status) in [(&sent, 200), (&stranger, 403)] {
        let call = json!({
            "caller_agent_id": "init", "agent_turn_id": leased.turn,
            "args": {
                "target_strategy": "new", "target_ref": "Helper", "instruction": "x",
                "context_box_id": package["box_id"],
            },
        });
        let reply =
            api.with(&leased.token, "POST", "/projects/p1/pmo/delegate_async:call", &call.to_string()).await;
        assert_eq!(reply.status.as_u16(), status, "{}", reply.json());
    }
    api.post(&format!("{HANDOFFS}?agent_id=nobody"), design()).await.expect(404);
}

async fn a_package_that_was_accepted_is_in_the_logs(api: Api) {
    let sent = api.post(HANDOFFS, design()).await.expect(201);
    let audit = api.get("/projects/p1/audit?limit=500").await.expect(200);
    let row =
        audit["items"].as_array().unwrap().iter().find(|row| row["action"] == "handoff.accept").unwrap();
    assert_eq!((&row["subject"], &row["detail"]["card_id"]), (&sent["handoff_id"], &sent["card_id"]));
}
