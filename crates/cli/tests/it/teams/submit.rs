//! `submit_result`, in a turn that was dispatched by hand.

use super::{
    crew::calls,
    stage::{Stage, on_a_server, on_both_servers, text},
};
use crate::support::{Server, eventually};
use serde_json::{Value, json};

/// Dispatches a turn whose result must have these fields, to an agent whose model follows these rules, and waits for its
/// end.
fn turn_with(server: &Server, fields: &[&str], rules: &Value) -> Value {
    let field = |name: &&str| json!({ "name": name, "description": "" });
    turn_with_fields(server, &fields.iter().map(field).collect(), rules)
}

fn turn_with_fields(server: &Server, fields: &Value, rules: &Value) -> Value {
    assert_eq!(server.post("/projects", json!({ "project_id": "p1" })).status, 201);
    let profile = json!({
        "worker_target": "cardwire", "system_prompt": "Count.",
        "llm_config": { "provider": "scripted", "script": { "rules": rules } },
    });
    let profile = server.request("PUT", "/projects/p1/profiles/Counter", &profile.to_string());
    assert_eq!(profile.status, 201, "{profile:?}");
    let agent = json!({ "agent_id": "a", "profile_name": "Counter" });
    assert_eq!(server.post("/projects/p1/agents", agent).status, 201);
    let card = |content: Value, kind: &str| {
        let body = json!({ "content": content, "metadata": { "type": kind, "role": "user" } });
        let made = server.post("/projects/p1/l0/cards", body);
        assert_eq!(made.status, 201, "{made:?}");
        made.json()["card_id"].clone()
    };
    let cards = [
        card(json!([{ "name": "forgotten", "description": "" }]), "task.result_fields"),
        card(json!("How many boats?"), "task.instruction"),
        card(fields.clone(), "task.result_fields"),
    ];
    let context = server.post("/projects/p1/l0/boxes", json!({ "card_ids": cards })).json();
    let wanted = json!({
        "agent_id": "a", "profile_box_id": profile.json()["profile_box_id"],
        "context_box_id": context["box_id"],
    });
    let made = server.post("/projects/p1/l0/turns", wanted);
    assert_eq!(made.status, 201, "{made:?}");
    let path = format!("/projects/p1/turns/{}", text(&made.json()["agent_turn_id"]));
    eventually("the turn to end", || {
        let turn = server.get(&path).json();
        (!turn["ended_at"].is_null()).then_some(turn)
    })
}

fn deliverable(stage: &Stage, turn: &Value) -> Value {
    let cards = stage.cards(turn);
    assert_eq!(cards.last().unwrap()["type"], "task.deliverable", "{cards:#?}");
    cards.last().unwrap()["content"].clone()
}

/// WK-07
#[test]
fn a_result_without_a_required_field_is_sent_back_and_a_whole_one_ends_the_turn() {
    let rules = json!([
        calls("a", 1, &[("submit_result", json!({ "where": "pier 4" }))]),
        calls("a", 2, &[("submit_result", json!({ "where": "pier 4", "boats": 7, "sure": true }))]),
    ]);
    on_both_servers(|stage, server| {
        let turn = turn_with(server, &["boats", "sure"], &rules);
        assert_eq!(turn["status"], "success", "{turn:#}");
        let results = stage.tool_results(&turn);
        assert_eq!(results.len(), 2, "{results:#?}");
        assert_eq!(results[0]["status"], "failed");
        let message = text(&results[0]["error"]["message"]);
        assert_eq!(message, "submit_result missing required fields: [boats, sure]");
        assert_eq!(results[1]["status"], "success");
        let fields = json!([
            { "name": "boats", "value": 7 }, { "name": "sure", "value": true }, { "name": "where", "value": "pier 4" },
        ]);
        assert_eq!(deliverable(stage, &turn), json!({ "fields": fields }), "required ones come first");
        let sent = stage.sent("a");
        assert_eq!(sent.len(), 2);
        assert_eq!(sent[1].count("missing required fields"), 1, "the model is told: {sent:#?}");
        assert_eq!(sent[0].count("Required result fields"), 1, "{sent:#?}");
        assert_eq!(sent[0].count("forgotten"), 0, "the last list counts: {sent:#?}");
    });
}

/// WK-07
#[test]
fn a_plain_answer_is_no_result_where_fields_are_asked_for() {
    let rules = json!([
        { "match": { "step": 1 }, "reply": "Seven boats." },
        calls("a", 2, &[("submit_result", json!({ "fields": [{ "name": "boats", "value": 7 }] }))]),
    ]);
    on_a_server(|stage, server| {
        let turn = turn_with(server, &["boats"], &rules);
        assert_eq!(turn["status"], "success", "{turn:#}");
        assert_eq!(deliverable(stage, &turn), json!({ "fields": [{ "name": "boats", "value": 7 }] }));
        let sent = stage.sent("a");
        assert!(sent[1].query().contains("submit_result"), "{sent:#?}");
    });
}

/// WK-07: who never learns fails.
#[test]
fn a_model_that_never_submits_fails_its_turn() {
    on_a_server(|stage, server| {
        let turn = turn_with(server, &["boats"], &json!([{ "reply": "Seven boats." }]));
        assert_eq!((&turn["status"], &turn["error_code"]), (&json!("failed"), &json!("must_end_with")));
        assert_eq!(stage.sent("a").len(), 4);
    });
}

/// A number of boats, and at which piers.
fn boats() -> Value {
    json!([
        { "name": "boats", "description": "How many.", "schema": { "type": "integer", "minimum": 0 } },
        { "name": "piers", "description": "", "schema": { "type": "array", "items": { "$ref": "#/$defs/pier" }, "$defs": { "pier": { "type": "string" } } } },
    ])
}

/// WK-07
#[test]
fn a_value_that_does_not_fit_its_schema_is_sent_back_with_the_reason() {
    let rules = json!([
        calls("a", 1, &[("submit_result", json!({ "boats": "seven", "piers": [4] }))]),
        calls("a", 2, &[("submit_result", json!({ "boats": 7, "piers": ["4"] }))]),
    ]);
    on_a_server(|stage, server| {
        let turn = turn_with_fields(server, &boats(), &rules);
        assert_eq!(turn["status"], "success", "{turn:#}");
        let results = stage.tool_results(&turn);
        assert_eq!(results[0]["error"]["code"], "invalid_value");
        let message = text(&results[0]["error"]["message"]);
        assert!(message.contains("boats: ") && message.contains("piers at /0: "), "{message}");
        assert_eq!(stage.sent("a")[1].count("do not fit"), 1, "the model is told");
        let expected = json!([{ "name": "boats", "value": 7 }, { "name": "piers", "value": ["4"] }]);
        assert_eq!(deliverable(stage, &turn), json!({ "fields": expected }));
        let offered = stage.offered("a");
        let submit = offered.iter().find(|tool| tool["function"]["name"] == "submit_result").unwrap();
        let properties = &submit["function"]["parameters"]["properties"];
        assert_eq!(properties["boats"], json!({ "type": "integer", "minimum": 0 }));
        assert_eq!(properties["piers"]["items"]["$ref"], "#/properties/piers/$defs/pier");
        let replayed = stage.json(&["turn", "replay", text(&turn["agent_turn_id"])]);
        assert_eq!(replayed["same"], true, "{replayed:#}");
    });
}

/// WK-07: who never learns fails.
#[test]
fn values_that_never_fit_fail_the_turn() {
    let call = json!({ "name": "submit_result", "arguments": { "boats": -1, "piers": [] } });
    on_a_server(|stage, server| {
        let turn = turn_with_fields(server, &boats(), &json!([{ "tool_calls": [call] }]));
        assert_eq!((&turn["status"], &turn["error_code"]), (&json!("failed"), &json!("invalid_value")));
        assert!(text(&turn["error"]).contains("boats: value is less than the minimum of 0"), "{turn:#}");
        assert_eq!(stage.sent("a").len(), 4);
        let replayed = stage.json(&["turn", "replay", text(&turn["agent_turn_id"])]);
        assert_eq!(replayed["same"], true, "{replayed:#}");
    });
}

/// WK-07, F-41: nobody is asked for what cannot be checked.
#[test]
fn fields_with_a_schema_that_cannot_be_run_are_refused_when_they_are_written() {
    on_a_server(|_, server| {
        assert_eq!(server.post("/projects", json!({ "project_id": "p1" })).status, 201);
        for schema in
            [json!({ "$ref": "http://127.0.0.1:1/x" }), json!({ "type": "boat" }), json!({ "$ref": "#" })]
        {
            let fields = json!([{ "name": "boats", "description": "", "schema": schema }]);
            let body =
                json!({ "content": fields, "metadata": { "type": "task.result_fields", "role": "user" } });
            let refused = server.post("/projects/p1/l0/cards", body);
            assert_eq!(refused.status, 400, "{refused:?}");
            let field = text(&refused.json()["error"]["detail"]["field"]).to_owned();
            assert!(field.starts_with("content/fields/0/schema"), "{field}");
        }
    });
}
