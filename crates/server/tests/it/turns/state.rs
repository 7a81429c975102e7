//! Lists of what turns leave behind, their filters and pages (API-08, API-17), and rebuilding (WD-08).

use crate::support::{Api, on_both, on_sqlite};
use serde_json::{Value, json};

on_both! {
    heads_are_filtered_and_paged;
    turns_are_filtered_and_paged;
    steps_and_edges_are_filtered_and_paged;
    identity_edges_and_audit_rows_are_filtered_and_paged;
}

on_sqlite! {
    heads_show_pointers_and_nothing_else;
    inbox_rows_are_filtered_and_paged;
    what_is_there_is_not_rebuilt;
    events_of_one_turn_can_be_read_alone;
}

/// The values of a field of a list's items.
fn field(items: &[Value], name: &str) -> Vec<String> {
    items.iter().map(|item| item[name].as_str().unwrap().to_owned()).collect()
}

/// Reads a list page by page and checks that it is what one page shows.
async fn pages(api: &Api, list: &str, id: &str) -> Vec<String> {
    let whole = field(&api.items(list).await, id);
    let glue = if list.contains('?') { '&' } else { '?' };
    let (mut found, mut cursor) = (vec![], String::new());
    loop {
        let page = api.get(&format!("/projects/p1/{list}{glue}limit=2{cursor}")).await.expect(200);
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 2);
        found.extend(field(items, id));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(found, whole, "{list}");
    whole
}

/// CB-16, API-17
async fn heads_show_pointers_and_nothing_else(api: Api) {
    api.agent("new").await;
    let idle = api.head("new").await;
    assert_eq!(
        (&idle["status"], &idle["turn_epoch"], &idle["queued"]),
        (&json!("idle"), &json!(0), &json!(0))
    );
    api.get("/projects/p1/state/agents/stranger").await.expect_error(404, "not_found");
    let turn = api.dispatch("a1").await;
    let head = api.head("a1").await;
    let mut names: Vec<_> = head.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    let expected = [
        "active_agent_turn_id",
        "agent_id",
        "context_box_id",
        "depth",
        "dispatched_at",
        "last_doorbell_at",
        "last_output_box_id",
        "output_box_id",
        "parent_step_id",
        "queued",
        "resume_deadline",
        "status",
        "trace_id",
        "turn_epoch",
        "updated_at",
        "waiting_tool_count",
    ];
    assert_eq!(names, expected);
    assert_eq!(
        (&head["context_box_id"], &head["output_box_id"]),
        (&json!(turn.context), &json!(turn.output))
    );
    assert!(!head.to_string().contains("do it"));
}

async fn heads_are_filtered_and_paged(api: Api) {
    for name in ["a1", "a2", "a3", "a4", "a5"] {
        api.agent(name).await;
    }
    let turn = api.dispatch_with("a2", json!({ "trace_id": "t2" })).await;
    let leased = api.running("a4").await;
    // That claim took the turn of a2 as well, without starting it.
    assert_eq!(pages(&api, "state/agents", "agent_id").await, ["a5", "a4", "a3", "a2", "a1"]);
    assert_eq!(pages(&api, "state/agents?status=idle", "agent_id").await, ["a5", "a3", "a1"]);
    assert_eq!(pages(&api, "state/agents?status=dispatched", "agent_id").await, ["a2"]);
    assert_eq!(pages(&api, "state/agents?status=running", "agent_id").await, ["a4"]);
    assert!(pages(&api, "state/agents?status=suspended", "agent_id").await.is_empty());
    api.get("/projects/p1/state/agents?status=busy").await.expect_error(400, "bad_request");
    assert_eq!(pages(&api, "state/agents?agent_id=a4", "agent_id").await, ["a4"]);
    assert_eq!(pages(&api, "state/agents?agent_id=a4&status=running", "agent_id").await, ["a4"]);
    assert!(pages(&api, "state/agents?agent_id=a4&status=idle", "agent_id").await.is_empty());
    assert_eq!(pages(&api, "state/agents?agent=a5&status=idle", "agent_id").await, ["a5"]);
    assert!(pages(&api, "state/agents?agent_id=nobody", "agent_id").await.is_empty());
    // By their live turns, and by when they changed: as each head shows it.
    let of_turn = |turn: &str, more: &str| format!("state/agents?agent_turn_id={turn}{more}");
    assert_eq!(pages(&api, &of_turn(&turn.id, ""), "agent_id").await, ["a2"]);
    assert_eq!(pages(&api, &of_turn(&leased.turn, "&status=running&agent=a4"), "agent_id").await, ["a4"]);
    for other in ["&agent=a4", "&status=idle", "&trace=t1", "&until=2000-01-01T00:00:00Z"] {
        assert!(pages(&api, &of_turn(&turn.id, other), "agent_id").await.is_empty(), "{other}");
    }
    assert_eq!(pages(&api, "state/agents?trace_id=t2", "agent_id").await, ["a2"]);
    assert!(pages(&api, "state/agents?trace_id=t2&status=running", "agent_id").await.is_empty());
    let changed = api.head("a4").await["updated_at"].as_str().unwrap().to_owned();
    let heads = api.items("state/agents").await;
    for (name, is_wanted) in [("since", true), ("until", false)] {
        let expected: Vec<_> = heads
            .iter()
            .filter(|head| (head["updated_at"].as_str().unwrap() >= &*changed) == is_wanted)
            .collect();
        assert!(!expected.is_empty(), "{heads:?}");
        let expected: Vec<_> = expected.iter().map(|head| head["agent_id"].as_str().unwrap()).collect();
        assert_eq!(pages(&api, &format!("state/agents?{name}={changed}"), "agent_id").await, expected);
    }
    api.finish(&leased, "success").await;
    assert!(pages(&api, &of_turn(&leased.turn, ""), "agent_id").await.is_empty(), "it has no live turn");
    for bad in ["agent_turn_id=x", "trace_id=%00", "since=then", "correlation_id=c"] {
        api.get(&format!("/projects/p1/state/agents?{bad}")).await.expect_error(400, "bad_request");
    }
    for cursor in ["a2", "1.", "one.a2", "1.a%20b"] {
        let reply = api.get(&format!("/projects/p1/state/agents?cursor={cursor}")).await;
        reply.expect_error(400, "bad_request");
        assert_eq!(reply.json()["error"]["detail"]["field"], "cursor", "{cursor}");
    }
}

async fn turns_are_filtered_and_paged(api: Api) {
    let mut ids = vec![];
    for (agent, trace) in [("a1", "t1"), ("a1", "t2"), ("a2", "t1"), ("a3", "t3"), ("a4", "t4")] {
        ids.push(api.dispatch_with(agent, json!({ "trace_id": trace })).await.id);
    }
    let leases = api.claim().await;
    let of = |agent: &str| leases.iter().find(|lease| lease.agent == agent).unwrap();
    api.verb(of("a2"), ":start", json!({})).await.expect(200);
    api.verb(of("a3"), ":start", json!({})).await.expect(200);
    api.finish(of("a3"), "partial").await;
    api.verb(of("a4"), ":start", json!({})).await.expect(200);
    api.verb(of("a4"), ":suspend", json!({ "waiting_tool_call_ids": ["c"] })).await.expect(200);
    let newest = |places: &[usize]| places.iter().map(|place| ids[*place].clone()).collect::<Vec<_>>();
    for (query, expected) in [
        ("", &[4, 3, 2, 1, 0][..]),
        ("?agent_id=a1", &[1, 0]),
        ("?trace_id=t1", &[2, 0]),
        ("?status=queued", &[1]),
        ("?status=dispatched", &[0]),
        ("?status=running", &[2]),
        ("?status=suspended", &[4]),
        ("?status=partial", &[3]),
        ("?status=success", &[]),
        ("?status=running&agent_id=a1", &[]),
        ("?since=2000-01-01T00:00:00Z&until=2100-01-01T00:00:00Z", &[4, 3, 2, 1, 0]),
        ("?since=2100-01-01T00:00:00Z", &[]),
        ("?until=2000-01-01T00:00:00Z", &[]),
    ] {
        assert_eq!(pages(&api, &format!("turns{query}"), "agent_turn_id").await, newest(expected), "{query}");
    }
    for query in ["agent_turn_id", "correlation_id", "turn", "correlation"] {
        let list = format!("turns?{query}={}", ids[2]);
        assert_eq!(pages(&api, &list, "agent_turn_id").await, newest(&[2]), "{query}");
    }
    let none = format!("turns?agent_turn_id={}&trace=t2", ids[2]);
    assert!(pages(&api, &none, "agent_turn_id").await.is_empty());
    let turn = api.turn(&ids[2]).await;
    assert_eq!((&turn["worker_target"], &turn["worker_id"]), (&json!("w1"), &json!("worker 1")));
    for bad in [
        "?status=idle",
        "?status=",
        "?since=today",
        "?trace_id=%00",
        "?agent_id=a.b",
        "?agent=a.b",
        "?agent=a1&agent_id=a1",
        "?phase=request",
        "?turn=x",
        "?cursor=x",
    ] {
        api.get(&format!("/projects/p1/turns{bad}")).await.expect_error(400, "bad_request");
    }
    api.get(&format!("/projects/p2/turns/{}", ids[0])).await.expect_error(404, "not_found");
    api.get(&format!("/projects/p2/turns/{}/view", ids[0])).await.expect_error(404, "not_found");
}

async fn inbox_rows_are_filtered_and_paged(api: Api) {
    let first = api.dispatch_with("a1", json!({ "correlation_id": "one", "trace_id": "t1" })).await;
    let second = api.dispatch("a1").await;
    let third = api.dispatch("a2").await;
    for (query, expected) in [
        ("", vec![&third, &second, &first]),
        ("?agent_id=a1", vec![&second, &first]),
        ("?correlation_id=one", vec![&first]),
        ("?trace_id=t1", vec![&first]),
        ("?status=queued", vec![&second]),
        ("?status=pending", vec![&third, &first]),
        ("?status=consumed", vec![]),
    ] {
        let expected: Vec<_> = expected.into_iter().map(|turn| turn.inbox.clone()).collect();
        assert_eq!(pages(&api, &format!("state/inbox{query}"), "inbox_id").await, expected, "{query}");
    }
    let list = format!("state/inbox?agent_turn_id={}", second.id);
    assert_eq!(pages(&api, &list, "inbox_id").await, [second.inbox.as_str()]);
    for bad in ["?status=new", "?agent_turn_id=x", "?cursor=-1", "?primitive=enqueue"] {
        api.get(&format!("/projects/p1/state/inbox{bad}")).await.expect_error(400, "bad_request");
    }
}

async fn steps_and_edges_are_filtered_and_paged(api: Api) {
    let leased = api.running("a1").await;
    let trace = api.turn(&leased.turn).await["trace_id"].as_str().unwrap().to_owned();
    for n in 0..5 {
        let status = if n % 2 == 0 { "done" } else { "failed" };
        let phase = if n == 3 { "y" } else { "x" };
        let step = json!({ "step_id": format!("step_{n}"), "phase": phase, "status": status });
        api.verb(&leased, "/steps", step).await.expect(201);
    }
    let newest = ["step_4", "step_3", "step_2", "step_1", "step_0"];
    assert_eq!(pages(&api, "state/steps", "step_id").await, newest);
    for filter in
        ["agent_id=a1".to_owned(), format!("agent_turn_id={}", leased.turn), format!("trace_id={trace}")]
    {
        assert_eq!(pages(&api, &format!("state/steps?{filter}"), "step_id").await.len(), 5, "{filter}");
    }
    assert!(pages(&api, "state/steps?agent_id=a2", "step_id").await.is_empty());
    assert_eq!(pages(&api, "state/steps?status=done", "step_id").await, ["step_4", "step_2", "step_0"]);
    for filter in ["agent=a1".to_owned(), format!("turn={}", leased.turn), format!("trace={trace}")] {
        let list = format!("state/steps?status=failed&{filter}");
        assert_eq!(pages(&api, &list, "step_id").await, ["step_3", "step_1"], "{filter}");
    }
    assert!(pages(&api, "state/steps?status=Done", "step_id").await.is_empty());
    assert_eq!(pages(&api, "state/steps?phase=y", "step_id").await, ["step_3"]);
    assert_eq!(pages(&api, "state/steps?phase=x&status=failed&agent=a1", "step_id").await, ["step_1"]);
    api.verb(&leased, ":suspend", json!({ "waiting_tool_call_ids": ["c1"] })).await.expect(200);
    api.report(&leased, "c1", json!({ "result": 1 })).await.expect(200);
    let edges = async |query: &str| {
        pages(&api, &format!("state/execution/edges{query}"), "edge_id").await;
        field(&api.items(&format!("state/execution/edges{query}")).await, "primitive")
    };
    assert_eq!(edges("").await, ["report", "tool_call", "enqueue"]);
    assert_eq!(edges("?primitive=report").await, ["report"]);
    assert_eq!(edges("?edge_phase=request").await, ["tool_call", "enqueue"]);
    assert_eq!(edges("?correlation_id=c1").await, ["report", "tool_call"]);
    assert_eq!(edges("?correlation=c1&phase=request&agent=a1").await, ["tool_call"]);
    assert_eq!(edges(&format!("?agent_turn_id={}", leased.turn)).await.len(), 3);
    assert_eq!(edges("?agent_id=a1").await.len(), 3);
    assert!(edges("?agent_id=a2").await.is_empty());
    for bad in [
        "state/execution/edges?primitive=x",
        "state/execution/edges?edge_phase=x",
        "state/steps?cursor=x",
        "state/steps?cursor=1.",
        "state/execution/edges?cursor=x",
        "state/steps?status=",
        "state/identity/edges?trace_id=%00",
        "state/identity/edges?since=then",
        "state/identity/edges?agent_turn_id=x",
    ] {
        api.get(&format!("/projects/p1/{bad}")).await.expect_error(400, "bad_request");
    }
}

async fn identity_edges_and_audit_rows_are_filtered_and_paged(api: Api) {
    for agent in ["a1", "a2", "a3"] {
        api.agent(agent).await;
    }
    // Only what agents do belongs to a trace.
    let provision = json!({ "agent_id": "made", "profile_name": "Helper" });
    let call = json!({ "caller_agent_id": "a1", "args": provision });
    api.post("/projects/p1/pmo/provision_agent:call", call).await.expect(200);
    let edges = api.items("state/identity/edges").await;
    let all = pages(&api, "state/identity/edges", "edge_id").await;
    assert_eq!((all.len(), &edges[0]["target_agent_id"]), (4, &json!("made")));
    let trace = edges[0]["trace_id"].as_str().unwrap();
    for query in ["trace_id", "trace"] {
        let list = format!("state/identity/edges?{query}={trace}");
        assert_eq!(pages(&api, &list, "edge_id").await, all[..1]);
    }
    let long = "since=2000-01-01T00:00:00Z&until=2100-01-01T00:00:00Z";
    assert_eq!(pages(&api, &format!("state/identity/edges?{long}"), "edge_id").await, all);
    for none in ["since=2100-01-01T00:00:00Z", "until=2000-01-01T00:00:00Z", "trace_id=nothing"] {
        assert!(pages(&api, &format!("state/identity/edges?{none}"), "edge_id").await.is_empty(), "{none}");
    }

    let worker = api.token(json!({ "project_id": "p1", "scopes": ["operate"] })).await;
    let card = api.card("p1", "x").await;
    let deleted = api.with(&worker, "DELETE", &format!("/projects/p1/l0/cards/{card}"), "").await;
    deleted.expect(204);
    let rows = api.items("audit").await;
    let own = rows.iter().find(|row| row["action"] == "card.delete").unwrap();
    let actor = own["actor"].as_str().unwrap();
    let by = |name: &str| rows.iter().filter(|row| row["actor"] == name).cloned().collect::<Vec<_>>();
    assert!(by(actor).len() < rows.len());
    assert_eq!(pages(&api, &format!("audit?actor={actor}"), "at").await, field(&by(actor), "at"));
    assert_eq!(pages(&api, &format!("audit?{long}"), "at").await, field(&rows, "at"));
    for none in ["since=2100-01-01T00:00:00Z", "until=2000-01-01T00:00:00Z", "actor=nobody"] {
        assert!(pages(&api, &format!("audit?{none}"), "at").await.is_empty(), "{none}");
    }
    for (name, value) in [("action", "card.delete"), ("subject", card.as_str()), ("verdict", "allowed")] {
        let with: Vec<_> = rows.iter().filter(|row| row[name] == value).cloned().collect();
        assert!(!with.is_empty(), "{name}");
        assert_eq!(pages(&api, &format!("audit?{name}={value}"), "at").await, field(&with, "at"), "{name}");
    }
    let both = format!("audit?action=card.delete&subject={card}&verdict=denied");
    assert!(pages(&api, &both, "at").await.is_empty());
    for bad in
        ["actor=", "actor=%00", "since=then", "until=7", "trace_id=t", "action=x", "verdict=ok", "subject="]
    {
        api.get(&format!("/projects/p1/audit?{bad}")).await.expect_error(400, "bad_request");
    }
}

/// WD-08: what a lost head does is tested with the stores; here, that nothing else is touched.
async fn what_is_there_is_not_rebuilt(api: Api) {
    let turn = api.dispatch("a1").await;
    let before = api.everything().await;
    let head = api.post("/projects/p1/state/agents/a1:rebuild", json!({})).await.expect(200);
    assert_eq!((&head["rebuilt"], &head["active_agent_turn_id"]), (&json!(false), &json!(turn.id)));
    assert_eq!(api.everything().await, before);
    api.agent("new").await;
    for agent in ["new", "stranger"] {
        let path = format!("/projects/p1/state/agents/{agent}:rebuild");
        api.post(&path, json!({})).await.expect_error(404, "not_found");
    }
}

/// API-13
async fn events_of_one_turn_can_be_read_alone(api: Api) {
    let (one, two) = (api.running("a1").await, api.running("a2").await);
    api.finish(&one, "success").await;
    api.think(&two, "x").await;
    api.store.number_events().await.unwrap();
    let read = async |query: &str| {
        let reply = api.get(&format!("/projects/p1/events?follow=false&{query}")).await;
        assert_eq!(reply.status, 200);
        let text = String::from_utf8(reply.bytes).unwrap();
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).unwrap()).collect::<Vec<Value>>()
    };
    let turn = read(&format!("agent_turn_id={}", one.turn)).await;
    assert_eq!(field(&turn, "kind"), ["agent.state", "agent.state", "agent.task"]);
    assert!(turn.iter().all(|event| event["agent_turn_id"] == json!(one.turn) && event["agent_id"] == "a1"));
    // WK-06, DP-12: beside `data`, and in it.
    let ended = api.turn(&one.turn).await;
    for name in ["status", "output_box_id", "deliverable_card_id"] {
        assert_eq!((&turn[2][name], &turn[2]["data"][name]), (&ended[name], &ended[name]), "{name}");
    }
    assert_eq!((&turn[0]["status"], &turn[0]["turn_epoch"]), (&json!("dispatched"), &json!(1)));
    assert_eq!(turn[0]["output_box_id"], json!(one.output));
    let trace = turn[0]["trace_id"].as_str().unwrap();
    assert_eq!(read(&format!("trace_id={trace}")).await, turn);
    assert_eq!(read(&format!("trace={trace}&turn={}&agent=a1", one.turn)).await, turn);
    assert_eq!(read("agent_id=a2").await.len(), 4, "provisioned, two states, one append");
    assert!(read(&format!("batch_id=batch_{}", crate::support::NOBODY)).await.is_empty());
    for bad in ["agent_turn_id=x", "batch_id=x", "batch=x", "trace_id=%00", "agent=a1&agent_id=a1"] {
        api.get(&format!("/projects/p1/events?follow=false&{bad}")).await.expect_error(400, "bad_request");
    }
}
