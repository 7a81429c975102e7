//! Sessions over HTTP (SPEC.md, State / Blackboard / reducers).

mod bad_input;
mod lists;
mod time;
mod turn;

use crate::support::{Api, names, on_both, on_sqlite, texts};
use cardwire_kernel::protocol::session::fields::ORDINARY;
use serde_json::{Value, json};

on_both! {
    st_16_what_only_adds_survives_together;
}

on_sqlite! {
    st_01_the_blackboard_has_these_fields_and_no_others;
    st_02_fields_are_set_and_lists_have_operations;
    st_04_a_result_is_one_whatever_the_blanks_around_its_task;
    st_08_only_compression_is_kept_unless_the_project_says_so;
    st_10_sessions_and_namespaces_share_nothing;
    st_11_a_second_query_adds_and_resets_nothing;
    st_12_deliverables_are_kept_by_agent;
    st_13_an_agent_that_has_finished_is_active_no_more;
    st_14_later_agents_see_what_earlier_ones_came_to;
    st_15_the_timeline_only_grows;
    st_16_a_version_is_expected;
}

async fn st_01_the_blackboard_has_these_fields_and_no_others(api: Api) {
    api.get("/projects/p1/sessions/s").await.expect_error(404, "not_found");
    let made = api.patch("s", json!({})).await.expect(200);
    assert_eq!((&made["version"], &made["changed"]), (&json!(1), &json!(true)));
    let empty = api.session("s").await;
    for (field, _) in ORDINARY {
        let expected = if field == "deliverable_keys" { json!([]) } else { json!(null) };
        assert_eq!(empty[field], expected, "{field}");
    }
    for (field, expected) in [
        ("session_id", json!("s")),
        ("namespace", json!("default")),
        ("messages", json!([])),
        ("mapreduce_results", json!([])),
        ("timeline", json!([])),
        ("deliverables", json!({})),
        ("compression__context", json!(null)),
        ("memory_box_id", json!(null)),
        ("summary_card_id", json!(null)),
    ] {
        assert_eq!(empty[field], expected, "{field}");
    }
    let value = |field: &str| match field {
        "deliverable_keys" => json!(["a"]),
        "mapreduce_tasks" => json!([{ "id": "t1" }]),
        "mapreduce_task" | "plan" | "reflection" | "todo" => json!({ "of": field }),
        "error_retry_count" => json!(2),
        _ => json!(field),
    };
    let set: serde_json::Map<_, _> =
        ORDINARY.iter().map(|(field, _)| ((*field).to_owned(), value(field))).collect();
    let patched = api.patch("s", json!({ "set": set })).await.expect(200);
    let now = api.session("s").await;
    for (field, _) in ORDINARY {
        assert_eq!((&now[field], &patched[field]), (&value(field), &value(field)), "{field}");
    }
    for field in ["nope", "deliverables", "Goal", "", "version", "checkpoint_id"] {
        let reply = api.patch("s", json!({ "set": { field: 1 } })).await;
        names(&reply, "invalid_blackboard_key", &format!("set/{field}"));
    }
    for field in ["session_id", "namespace"] {
        names(
            &api.patch("s", json!({ "set": { field: "x" } })).await,
            "bad_request",
            &format!("set/{field}"),
        );
    }
    assert_eq!(api.session("s").await, now, "nothing that was refused has changed it");
}

async fn st_02_fields_are_set_and_lists_have_operations(api: Api) {
    api.patch("s", json!({ "set": { "goal": "a", "plan": ["x"] } })).await.expect(200);
    let last = api.patch("s", json!({ "set": { "goal": "b", "plan": null } })).await.expect(200);
    assert_eq!((&last["goal"], &last["plan"], &last["version"]), (&json!("b"), &json!(null), &json!(2)));
    let same = api.patch("s", json!({ "set": { "goal": "b" } })).await.expect(200);
    assert_eq!(
        (&same["changed"], &same["version"]),
        (&json!(false), &json!(2)),
        "the same again is no change"
    );
    for (field, value) in [
        ("messages", json!([])),
        ("messages", json!([{ "role": "human", "content": "x" }])),
        ("timeline", json!([])),
        ("mapreduce_results", json!([{ "task_id": "t" }])),
    ] {
        let reply = api.patch("s", json!({ "set": { "goal": "c", field: value } })).await;
        names(&reply, "reducer_field", &format!("set/{field}"));
    }
    assert_eq!(api.session("s").await["goal"], "b", "a patch is done as a whole or not at all");
}

async fn st_08_only_compression_is_kept_unless_the_project_says_so(api: Api) {
    for key in
        ["framework__context", "experience__context", "knowledge__context", "todo__context", "mine__context"]
    {
        let reply = api.patch("s", json!({ "set": { key: "x" } })).await;
        names(&reply, "context_not_persistable", &format!("set/{key}"));
    }
    api.get("/projects/p1/sessions/s").await.expect_error(404, "not_found");
    let kept = api.patch("s", json!({ "set": { "compression__context": "before" } })).await.expect(200);
    assert_eq!(kept["compression__context"], "before");
    assert_eq!(api.session("s").await["compression__context"], "before");
    names(
        &api.patch("s", json!({ "set": { "compression__context": 7 } })).await,
        "bad_request",
        "set/compression__context",
    );
    let none = api.patch("s", json!({ "set": { "compression__context": null } })).await.expect(200);
    assert_eq!(none["compression__context"], json!(null));

    api.settle(json!({ "reproducible_contexts": ["todo__context"] })).await;
    let kept = api.patch("s", json!({ "set": { "todo__context": "as it was" } })).await.expect(200);
    assert_eq!(kept["todo__context"], "as it was");
    assert_eq!(api.contexts("s").await["todo__context"], "as it was");
    let reply = api.patch("s", json!({ "set": { "framework__context": "x" } })).await;
    names(&reply, "context_not_persistable", "set/framework__context");
    // One of the project's own is collected as well.
    api.settle(json!({ "reproducible_contexts": ["notes__context"] })).await;
    api.patch("s", json!({ "set": { "notes__context": "mine" } })).await.expect(200);
    assert_eq!(api.contexts("s").await["notes__context"], "mine");
}

/// A task is known by its name without the blanks around it.
async fn st_04_a_result_is_one_whatever_the_blanks_around_its_task(api: Api) {
    for task in [" t1 ", "t1", "t1\t"] {
        let one = json!({ "mapreduce_results": { "append": [{ "task_id": task, "n": 1 }] } });
        api.patch("s", one).await.expect(200);
        assert_eq!(api.session("s").await["mapreduce_results"].as_array().unwrap().len(), 1, "{task:?}");
    }
}

async fn st_10_sessions_and_namespaces_share_nothing(api: Api) {
    let all = json!({
        "messages": { "append": [{ "id": "m1", "role": "human", "content": "secret" }] },
        "mapreduce_results": { "append": [{ "task_id": "t1", "secret": true }] },
        "todo": { "plan": { "op": "add", "items": ["secret"] } },
        "set": { "compression__context": "secret" },
        "finish_agent": { "agent_id": "a", "status": "completed", "deliverable": "secret" },
    });
    api.patch("s", all.clone()).await.expect(200);
    for other in ["other", "s?namespace=n"] {
        let (session, query) =
            other.split_once('?').map_or((other, String::new()), |(s, q)| (s, format!("?{q}")));
        let path = |rest: &str| format!("/projects/p1/sessions/{session}{rest}{query}");
        api.get(&path("")).await.expect_error(404, "not_found");
        let before = api.session("s").await;
        // The same ids stand for other things here.
        let mine = json!({
            "messages": { "append": [{ "id": "m1", "role": "human", "content": "mine" }] },
            "mapreduce_results": { "append": [{ "task_id": "t1" }] },
        });
        api.post(&path("/patches"), mine).await.expect(200);
        let seen = api.get(&path("")).await.expect(200);
        assert!(!seen.to_string().contains("secret"), "{seen}");
        assert_eq!(
            (texts(&seen["messages"]), &seen["mapreduce_results"]),
            (vec!["mine"], &json!([{ "task_id": "t1" }]))
        );
        let collected = api.post(&path("/context:collect"), json!({})).await.expect(200);
        assert!(!collected.to_string().contains("secret"), "{collected}");
        assert_eq!(api.session("s").await, before);
        // A checkpoint is one of its own session.
        let theirs = before["checkpoint_id"].as_str().unwrap();
        let glue = if query.is_empty() { '?' } else { '&' };
        api.get(&format!("{}{glue}checkpoint={theirs}", path(""))).await.expect_error(404, "not_found");
        let restore = json!({ "checkpoint_id": theirs });
        api.post(&path(":restore"), restore).await.expect_error(404, "not_found");
    }
    let listed = |page: Value| -> Vec<String> {
        page["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["session_id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(listed(api.get("/projects/p1/sessions").await.expect(200)), ["other", "s"]);
    let first = api.get("/projects/p1/sessions?limit=1").await.expect(200);
    assert_eq!((listed(first.clone()), &first["next_cursor"]), (vec!["other".to_owned()], &json!("other")));
    assert_eq!(listed(api.get("/projects/p1/sessions?limit=1&cursor=other").await.expect(200)), ["s"]);
    assert_eq!(listed(api.get("/projects/p1/sessions?namespace=n").await.expect(200)), ["s"]);
    assert!(listed(api.get("/projects/p1/sessions?namespace=m").await.expect(200)).is_empty());
}

async fn st_11_a_second_query_adds_and_resets_nothing(api: Api) {
    api.patch("s", json!({
        "messages": { "append": [{ "role": "human", "content": "one" }, { "role": "ai", "content": "1" }] },
        "todo": { "plan": { "op": "add", "items": ["write"] } },
        "set": { "compression__context": "before", "goal": "g" },
        "finish_agent": { "agent_id": "a", "status": "completed", "deliverable": 1 },
    })).await.expect(200);
    let before = api.session("s").await;
    api.patch("s", json!({ "messages": { "append": [{ "role": "human", "content": "two" }] } }))
        .await
        .expect(200);
    let after = api.session("s").await;
    assert_eq!(after["messages"].as_array().unwrap().len(), before["messages"].as_array().unwrap().len() + 1);
    for kept in
        ["deliverable_keys", "deliverables", "todo", "compression__context", "goal", "last_agent_status"]
    {
        assert!(!before[kept].is_null(), "{kept}");
        assert_eq!(after[kept], before[kept], "{kept}");
    }
}

async fn st_12_deliverables_are_kept_by_agent(api: Api) {
    for (agent, deliverable) in [("a", json!("one")), ("b", json!({ "n": 1 })), ("a", json!(["two"]))] {
        let finish = json!({ "agent_id": agent, "status": "completed", "deliverable": deliverable });
        api.patch("s", json!({ "finish_agent": finish })).await.expect(200);
    }
    let session = api.session("s").await;
    assert_eq!(session["deliverable_keys"], json!(["a", "b"]));
    for (agent, deliverable) in [("a", json!(["two"])), ("b", json!({ "n": 1 }))] {
        let card = session["deliverables"][agent].as_str().unwrap();
        let card = api.get(&format!("/projects/p1/cards/{card}")).await.expect(200);
        assert_eq!(card["content"], json!({ "agent_id": agent, "deliverable": deliverable }));
    }
    let keys = api.patch("s", json!({ "set": { "deliverable_keys": ["x", "x", "y"] } })).await.expect(200);
    assert_eq!(keys["deliverable_keys"], json!(["x", "y"]), "each once");
}

async fn st_13_an_agent_that_has_finished_is_active_no_more(api: Api) {
    api.patch("s", json!({ "set": { "active_agent": "a", "assigned_task": "look" } })).await.expect(200);
    let finish = json!({ "agent_id": "a", "status": "failed", "error": "no luck", "failure_kind": "tool" });
    let after = api.patch("s", json!({ "finish_agent": finish })).await.expect(200);
    for (field, expected) in [
        ("active_agent", json!(null)),
        ("assigned_task", json!(null)),
        ("last_agent_status", json!("failed")),
        ("last_agent_error", json!("no luck")),
        ("last_agent_failure_kind", json!("tool")),
    ] {
        assert_eq!(after[field], expected, "{field}");
    }
    let next = json!({ "finish_agent": { "agent_id": "b", "status": "completed" } });
    let after = api.patch("s", next).await.expect(200);
    assert_eq!(
        (&after["last_agent_status"], &after["last_agent_error"]),
        (&json!("completed"), &json!(null))
    );
}

async fn st_14_later_agents_see_what_earlier_ones_came_to(api: Api) {
    for (finish, expected) in [
        (json!({ "agent_id": "a", "status": "completed" }), "【RESULT】agent=a status=completed"),
        (
            json!({ "agent_id": "b", "status": "completed", "task": "look it up", "deliverable": 42 }),
            "【RESULT】agent=b task=look it up status=completed deliverable=b",
        ),
        (
            json!({ "agent_id": "c", "status": "failed", "error": "no luck" }),
            "【RESULT】agent=c status=failed error=no luck",
        ),
    ] {
        api.patch("s", json!({ "finish_agent": finish })).await.expect(200);
        let messages = api.session("s").await["messages"].clone();
        let last = messages.as_array().unwrap().last().unwrap();
        assert_eq!(
            (&last["content"], &last["role"], &last["name"]),
            (&json!(expected), &json!("ai"), &json!("cardwire"))
        );
    }
    assert_eq!(api.session("s").await["messages"].as_array().unwrap().len(), 3);
}

/// ST-15
async fn st_15_the_timeline_only_grows(api: Api) {
    api.patch("s", json!({ "timeline": { "append": [{ "event": "start" }, "note"] } })).await.expect(200);
    api.patch("s", json!({ "timeline": { "append": [{ "event": "start" }] } })).await.expect(200);
    let expected = json!([{ "event": "start" }, "note", { "event": "start" }]);
    assert_eq!(api.session("s").await["timeline"], expected);
}

async fn st_16_a_version_is_expected(api: Api) {
    let set = |version: u64, goal: &str| json!({ "expected_version": version, "set": { "goal": goal } });
    api.patch("s", set(1, "a")).await.expect_error(409, "conflict");
    api.get("/projects/p1/sessions/s").await.expect_error(404, "not_found");
    assert_eq!(api.patch("s", set(0, "a")).await.expect(200)["version"], 1);
    assert_eq!(api.patch("s", set(1, "b")).await.expect(200)["version"], 2);
    for stale in [0, 1, 3] {
        api.patch("s", set(stale, "c")).await.expect_error(409, "conflict");
    }
    assert_eq!(api.session("s").await["goal"], "b");
    // Of several who have seen the same, one may write.
    let asks = (0..8).map(|n| api.patch("s", set(2, &n.to_string()))).collect::<Vec<_>>();
    let replies = futures_util::future::join_all(asks).await;
    let done = replies.iter().filter(|reply| reply.status == 200).count();
    assert_eq!(done, 1, "{:?}", replies.iter().map(|reply| reply.status).collect::<Vec<_>>());
    assert!(replies.iter().all(|reply| reply.status == 200 || reply.status == 409));
    assert_eq!(api.session("s").await["version"], 3);
}

async fn st_16_what_only_adds_survives_together(api: Api) {
    api.patch("s", json!({})).await.expect(200);
    // Two servers, which cannot wait for each other in memory.
    let other = api.again(cardwire_kernel::ContextConfig::default());
    let add = |n: usize| {
        let server = if n.is_multiple_of(2) { &api } else { &other };
        let patch = json!({
            "expected_version": 1,
            "messages": { "append": [{ "id": format!("m{n}"), "role": "human", "content": n.to_string() }] },
            "mapreduce_results": { "append": [{ "task_id": format!("t{n}") }] },
        });
        async move { server.patch("s", patch).await.expect(200) }
    };
    futures_util::future::join_all((0..20).map(add)).await;
    let session = api.session("s").await;
    let mut said = texts(&session["messages"]);
    said.sort_unstable();
    let mut expected: Vec<_> = (0..20).map(|n| n.to_string()).collect();
    expected.sort_unstable();
    assert_eq!(said, expected);
    assert_eq!(session["mapreduce_results"].as_array().unwrap().len(), 20);
    assert_eq!(session["version"], 21);
}
