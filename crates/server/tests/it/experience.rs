//! Experiences over HTTP (SPEC.md, Experience).

use crate::support::{Api, BrokenEmbedder, on_both, on_sqlite};
use cardwire_kernel::ContextConfig;
use cardwire_model::limits;
use serde_json::{Value, json};
use std::sync::Arc;

on_both! {
    ex_01_what_is_known_is_gathered_and_saved_on_demand;
    ex_02_similar_sessions_are_shown_successes_first;
    ex_03_namespaces_share_nothing;
}

on_sqlite! {
    ex_01_what_nobody_said_is_taken_from_the_turns_of_the_session;
    ex_01_the_newest_turns_are_looked_at;
    ex_01_what_cannot_be_embedded_is_not_saved;
    ex_01_notes_of_several_are_all_kept;
    st_09_the_experience_of_a_deleted_session_is_found_no_more;
    ex_02_sessions_of_the_same_goal_are_all_shown;
    ex_02_a_success_is_found_behind_failures_that_fit_better;
}

fn path(session: &str) -> String {
    format!("/projects/p1/sessions/{session}/experience")
}

async fn note(api: &Api, session: &str, record: Value) -> Value {
    api.post(&path(session), record).await.expect(200)
}

async fn save(api: &Api, session: &str) -> Value {
    api.post(&format!("{}:save", path(session)), json!({})).await.expect(200)
}

async fn shown(api: &Api, query: &str) -> Option<String> {
    let collected = api.collect("now", json!({ "query": query })).await.expect(200);
    collected["contexts"].get("experience__context").map(|block| block.as_str().unwrap().to_owned())
}

fn outcomes(block: &str) -> Vec<String> {
    block.lines().filter_map(|line| line.strip_prefix("- Outcome: ")).map(str::to_owned).collect()
}

async fn ex_01_what_is_known_is_gathered_and_saved_on_demand(api: Api) {
    api.get(&path("s")).await.expect_error(404, "not_found");
    let unknown = save(&api, "s").await;
    assert_eq!((&unknown["saved"], unknown["reason"].is_string()), (&json!(false), true));
    api.patch("s", json!({})).await.expect(200);
    let fresh = json!({
        "session_id": "s", "goal": "", "outcome": "pending", "summary": "", "tools": [], "agents": [],
        "duration_ms": null, "feedback": null, "knowledge_refs": [],
    });
    assert_eq!(api.get(&path("s")).await.expect(200), fresh);
    // KN-04: each chunk once.
    let refs = json!([{ "chunk_id": "c1", "source_id": "a.md" }, { "chunk_id": "c1", "source_id": "a.md" }]);
    let noted = note(
        &api,
        "s",
        json!({ "goal": "sail", "tools": ["look", "look"], "agents": ["a"], "knowledge_refs": refs }),
    )
    .await;
    assert_eq!(noted["version"], 2);
    let more = json!({ "outcome": "success", "tools": ["find", "look"], "agents": ["a"], "duration_ms": 7, "knowledge_refs": refs });
    let known = note(&api, "s", more).await["experience"].clone();
    assert_eq!(
        known,
        json!({
            "session_id": "s", "goal": "sail", "outcome": "success", "summary": "", "tools": ["look", "find"],
            "agents": ["a"], "duration_ms": 7, "feedback": null,
            "knowledge_refs": [{ "chunk_id": "c1", "source_id": "a.md" }],
        })
    );
    assert_eq!(api.again(ContextConfig::default()).get(&path("s")).await.expect(200), known);
    assert_eq!(shown(&api, "sail").await, None, "not before it is saved");
    let saved =
        api.post(&format!("{}:save", path("s")), json!({ "feedback": "well done" })).await.expect(200);
    assert_eq!((&saved["saved"], &saved["experience"]["feedback"]), (&json!(true), &json!("well done")));
    assert!(shown(&api, "sail").await.unwrap().contains("- Feedback: well done"));
    let own = api.collect("s", json!({ "query": "sail" })).await.expect(200);
    assert!(own["contexts"].get("experience__context").is_none(), "it is no news to the session itself");
}

async fn ex_01_what_nobody_said_is_taken_from_the_turns_of_the_session(api: Api) {
    let run = async |agent: &str, question: &str, config: Value| {
        let context = api.context(question).await;
        let order = json!({ "context_box_id": context, "runtime_config": config });
        let turn = api.dispatch_with(agent, order).await;
        let leases = api.claim_with(json!({ "start": true })).await;
        leases.into_iter().find(|lease| lease.turn == turn.id).unwrap()
    };
    let session = json!({ "session_id": "s" });
    let first = run("a1", "Sail to the island.", session.clone()).await;
    let call = json!({
        "content": "", "metadata": { "type": "agent.thought", "role": "assistant" },
        "tool_calls": [{ "id": "c1", "tool_name": "look", "arguments": {} }],
    });
    api.verb(&first, "/cards", call).await.expect(200);
    api.report(&first, "c1", json!({ "result": "an island" })).await.expect(200);
    api.clock.advance(2);
    api.verb(&first, ":finish", json!({ "status": "success", "deliverable": "There." })).await.expect(200);
    let second = run("a2", "And back.", session.clone()).await;
    api.clock.advance(3);
    api.finish(&second, "failed").await;
    // Neither belongs to it.
    let other = run("a3", "Fly.", json!({ "session_id": "s", "namespace": "n" })).await;
    api.finish(&other, "success").await;
    let tried = run("a4", "Try.", json!({ "session_id": "s", "forked_from": first.turn })).await;
    api.finish(&tried, "success").await;

    let mut known = api.get(&path("s")).await.expect(200);
    // The test's clock runs on beside what it is moved by.
    let took = known["duration_ms"].take().as_u64().unwrap();
    assert!((5_000..60_000).contains(&took), "{took}");
    let expected = json!({
        "session_id": "s", "goal": "Sail to the island.", "outcome": "failure", "summary": "There.",
        "tools": ["look"], "agents": ["a1", "a2"], "duration_ms": null, "feedback": null, "knowledge_refs": [],
        "derived": ["goal", "summary", "outcome", "agents", "tools", "duration_ms"],
    });
    assert_eq!(known, expected);
    note(&api, "s", json!({ "outcome": "partial", "agents": ["me"] })).await;
    let saved = save(&api, "s").await["experience"].clone();
    assert_eq!(
        (&saved["outcome"], &saved["agents"]),
        (&json!("partial"), &json!(["me"])),
        "who says so is heard"
    );
    assert_eq!((&saved["goal"], &saved["tools"]), (&expected["goal"], &expected["tools"]));
    assert!(shown(&api, "island").await.unwrap().contains("- Goal: Sail to the island."));
    let ours = run("a5", "Home.", session).await;
    api.finish(&ours, "success").await;
    api.patch("s", json!({ "set": { "goal": "See the world." } })).await.expect(200);
    api.post(&path("s"), json!({ "outcome": null })).await.expect(200);
    let known = api.get(&path("s")).await.expect(200);
    assert_eq!((&known["goal"], &known["outcome"]), (&json!("See the world."), &json!("success")));
}

async fn ex_01_the_newest_turns_are_looked_at(api: Api) {
    let order = json!({ "runtime_config": { "session_id": "s" } });
    let first = api.dispatch_with("a1", order).await;
    api.patch("s", json!({})).await.expect(200);
    let agents = async || api.get(&path("s")).await.expect(200)["agents"].clone();
    let context = api.context("more").await;
    for _ in 0..limits::EXPERIENCE_TURNS - 1 {
        api.dispatch_with("a2", json!({ "context_box_id": context })).await;
    }
    assert_eq!(agents().await, json!(["a1"]), "{first:?}");
    api.dispatch_with("a2", json!({ "context_box_id": context })).await;
    assert_eq!(agents().await, json!([]));
}

async fn ex_01_what_cannot_be_embedded_is_not_saved(api: Api) {
    note(&api, "s", json!({ "goal": "sail" })).await;
    let broken =
        api.again(ContextConfig { embedder: Some(Arc::new(BrokenEmbedder)), ..ContextConfig::default() });
    let failed = save(&broken, "s").await;
    assert_eq!(failed["saved"], false);
    assert!(failed["reason"].as_str().unwrap().contains("out of order"), "{failed}");
    assert_eq!(api.get(&path("s")).await.expect(200)["outcome"], "pending");
    assert_eq!(shown(&api, "sail").await, None);
    assert_eq!(save(&api, "s").await["saved"], true);
    assert!(shown(&api, "sail").await.is_some());
}

async fn ex_01_notes_of_several_are_all_kept(api: Api) {
    let other = api.again(ContextConfig::default());
    let add = |n: usize| {
        let server = if n.is_multiple_of(2) { &api } else { &other };
        async move { note(server, "s", json!({ "tools": [format!("tool {n}")] })).await }
    };
    futures_util::future::join_all((0..8).map(add)).await;
    let known = api.get(&path("s")).await.expect(200);
    assert_eq!(known["tools"].as_array().unwrap().len(), 8, "{known}");
}

async fn st_09_the_experience_of_a_deleted_session_is_found_no_more(api: Api) {
    note(&api, "s", json!({ "goal": "sail" })).await;
    save(&api, "s").await;
    // What was noted since is not what is found.
    note(&api, "s", json!({ "summary": "more" })).await;
    assert!(shown(&api, "sail").await.is_some());
    api.delete("/projects/p1/sessions/s").await.expect(204);
    assert_eq!(shown(&api, "sail").await, None);
}

async fn ex_02_similar_sessions_are_shown_successes_first(api: Api) {
    let goals = [("f1", "failure"), ("s1", "success"), ("f2", "partial"), ("s2", "success")];
    for (session, outcome) in goals {
        note(&api, session, json!({ "goal": format!("sail {session}"), "outcome": outcome })).await;
        save(&api, session).await;
    }
    let found = outcomes(&shown(&api, "sail").await.unwrap());
    assert_eq!((found.len(), &found[..2]), (3, &["success".to_owned(), "success".to_owned()][..]));
    api.settle(json!({ "experience": { "shown": 1 } })).await;
    assert_eq!(outcomes(&shown(&api, "sail").await.unwrap()), ["success"]);
    api.settle(json!({ "experience": { "shown": 0 } })).await;
    assert_eq!(shown(&api, "sail").await, None);
    api.settle(json!({ "experience": { "shown": null } })).await;
    note(&api, "lone", json!({
        "goal": "fly", "outcome": "partial", "summary": "x".repeat(120), "tools": ["look", "find"],
        "agents": ["a", "b"], "feedback": { "stars": 5 }, "knowledge_refs": [{ "chunk_id": "c", "source_id": "d" }],
    })).await;
    save(&api, "lone").await;
    let expected = format!(
        "# Experience Context\n\n## Similar Experiences\n\n### Experience 1\n- Goal: fly\n- Outcome: partial\n\
         - Summary: {}\n- Tools: look, find\n- Agents: a, b\n- Feedback: stars=5\n- Knowledge References: 1",
        "x".repeat(100)
    );
    assert_eq!(shown(&api, "fly").await, Some(expected));
    // Saved again, it is there once, as it is now.
    note(&api, "lone", json!({ "outcome": "success" })).await;
    save(&api, "lone").await;
    assert_eq!(outcomes(&shown(&api, "fly").await.unwrap()), ["success"]);
}

async fn ex_02_sessions_of_the_same_goal_are_all_shown(api: Api) {
    for session in ["s1", "s2", "s3"] {
        note(&api, session, json!({ "goal": "move hippo", "outcome": "success" })).await;
        save(&api, session).await;
    }
    let expected: String = (1..=3)
        .map(|number| format!("\n\n### Experience {number}\n- Goal: move hippo\n- Outcome: success"))
        .collect();
    let block = shown(&api, "move hippo").await.unwrap();
    assert_eq!(block, format!("# Experience Context\n\n## Similar Experiences{expected}"));
}

async fn ex_02_a_success_is_found_behind_failures_that_fit_better(api: Api) {
    for n in 0..16 {
        let failure = format!("f{n}");
        note(&api, &failure, json!({ "goal": "move hippo", "outcome": "failure" })).await;
        save(&api, &failure).await;
    }
    note(&api, "s", json!({ "goal": "move hippo somewhere else by boat", "outcome": "success" })).await;
    save(&api, "s").await;
    let found = outcomes(&shown(&api, "move hippo").await.unwrap());
    assert_eq!(found, ["success", "failure", "failure"]);
    api.settle(json!({ "experience": { "prefer_success": false } })).await;
    assert_eq!(outcomes(&shown(&api, "move hippo").await.unwrap()), ["failure"; 3]);
}

async fn ex_03_namespaces_share_nothing(api: Api) {
    let note = format!("{}?namespace=n", path("s"));
    api.post(&note, json!({ "goal": "sail" })).await.expect(200);
    let save = format!("{}:save?namespace=n", path("s"));
    assert_eq!(api.post(&save, json!({})).await.expect(200)["saved"], true);
    assert_eq!(shown(&api, "sail").await, None);
    let there = "/projects/p1/sessions/now/context:collect?namespace=n";
    let collected = api.post(there, json!({ "query": "sail" })).await.expect(200);
    assert!(collected["contexts"]["experience__context"].is_string());
    api.get(&path("s")).await.expect_error(404, "not_found");
}
