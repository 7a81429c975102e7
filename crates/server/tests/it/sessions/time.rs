//! Checkpoints: what a session was like, going back, and the end of it (ST-09, ST-16).

use crate::support::{Api, NOBODY, on_both, on_sqlite, texts};
use serde_json::{Value, json};

on_both! {
    st_09_every_version_can_be_read_and_restored;
    st_09_a_deleted_session_is_gone_with_its_cards;
}

on_sqlite! {
    st_09_a_restart_changes_nothing;
    st_09_what_earlier_versions_showed_is_gone_too;
    a_session_is_told_about;
}

/// Three versions, each with more of everything.
async fn grow(api: &Api) -> Vec<Value> {
    let mut versions = vec![];
    for n in 1..=3 {
        api.patch("s", json!({
            "messages": { "append": [{ "id": format!("m{n}"), "role": "human", "content": format!("say {n}") }] },
            "mapreduce_results": { "append": [{ "task_id": format!("t{n}") }] },
            "timeline": { "append": [n] },
            "todo": { "plan": { "op": "add", "items": [format!("do {n}")] } },
            "set": { "goal": format!("goal {n}"), "compression__context": format!("before {n}") },
        })).await.expect(200);
        versions.push(api.session("s").await);
    }
    versions
}

async fn st_09_a_restart_changes_nothing(api: Api) {
    let versions = grow(&api).await;
    let restarted = api.again(cardwire_kernel::ContextConfig::default());
    assert_eq!(restarted.session("s").await, versions[2]);
    // Nor is anything of a call kept (CC-04).
    assert!(api.contexts("s").await["framework__context"].is_string());
    assert!(restarted.session("s").await.get("framework__context").is_none());
}

async fn st_09_every_version_can_be_read_and_restored(api: Api) {
    let versions = grow(&api).await;
    let listed = api.items("sessions/s/checkpoints").await;
    let seen: Vec<_> = listed.iter().map(|one| (&one["version"], &one["message_count"])).collect();
    assert_eq!(seen, [(&json!(3), &json!(3)), (&json!(2), &json!(2)), (&json!(1), &json!(1))]);
    let first = api.get("/projects/p1/sessions/s/checkpoints?limit=2").await.expect(200);
    let cursor = first["next_cursor"].as_str().unwrap();
    let rest =
        api.get(&format!("/projects/p1/sessions/s/checkpoints?limit=2&cursor={cursor}")).await.expect(200);
    assert_eq!(
        [first["items"].as_array().unwrap().as_slice(), rest["items"].as_array().unwrap()].concat(),
        listed
    );
    for (version, row) in versions.iter().rev().zip(&listed) {
        assert_eq!(version["checkpoint_id"], row["checkpoint_id"]);
        let id = row["checkpoint_id"].as_str().unwrap();
        let mut seen = api.get(&format!("/projects/p1/sessions/s?checkpoint={id}")).await.expect(200);
        // When the row last changed is told of the row.
        seen["updated_at"] = version["updated_at"].clone();
        assert_eq!(seen, *version);
    }
    let to = &versions[0];
    let body = json!({ "checkpoint_id": to["checkpoint_id"] });
    let restored = api.post("/projects/p1/sessions/s:restore", body).await.expect(200);
    assert_eq!(
        (&restored["version"], &restored["session_id"], &restored["namespace"]),
        (&json!(4), &json!("s"), &json!("default"))
    );
    let now = api.session("s").await;
    assert_eq!(now["checkpoint_id"], restored["checkpoint_id"]);
    let told = ["version", "checkpoint_id", "updated_at", "memory_box_id"];
    for (field, value) in to.as_object().unwrap().iter().filter(|(field, _)| !told.contains(&field.as_str()))
    {
        assert_eq!(now[field], *value, "{field}");
    }
    // What came in between does not come back with the next message, and can still be read.
    api.say("s", &[("m9", "ai", "later")]).await;
    assert_eq!(texts(&api.session("s").await["messages"]), ["say 1", "later"]);
    let between = versions[2]["checkpoint_id"].as_str().unwrap();
    let seen = api.get(&format!("/projects/p1/sessions/s?checkpoint={between}")).await.expect(200);
    assert_eq!(seen["messages"], versions[2]["messages"]);
    for (id, status, code) in [(NOBODY, 404, "not_found"), ("x", 400, "bad_request")] {
        api.get(&format!("/projects/p1/sessions/s?checkpoint={id}")).await.expect_error(status, code);
        let body = json!({ "checkpoint_id": id });
        api.post("/projects/p1/sessions/s:restore", body).await.expect_error(status, code);
    }
    api.post("/projects/p1/sessions/none:restore", json!({ "checkpoint_id": between }))
        .await
        .expect_error(404, "not_found");
}

async fn st_09_a_deleted_session_is_gone_with_its_cards(api: Api) {
    let versions = grow(&api).await;
    let card = versions[2]["messages"][0]["card_id"].as_str().unwrap();
    api.get(&format!("/projects/p1/cards/{card}")).await.expect(200);
    api.delete("/projects/p1/sessions/s").await.expect(204);
    for path in ["s", "s/checkpoints", "s/experience"] {
        api.get(&format!("/projects/p1/sessions/{path}")).await.expect_error(404, "not_found");
    }
    api.delete("/projects/p1/sessions/s").await.expect_error(404, "not_found");
    api.post("/projects/p1/sessions/s:compact", json!({ "summary": "x" }))
        .await
        .expect_error(404, "not_found");
    api.get(&format!("/projects/p1/cards/{card}")).await.expect_error(404, "not_found");
    assert!(api.items("sessions").await.is_empty());
    assert!(api.contexts("s").await.get("compression__context").is_none());
    // A new one of the name begins with nothing, and no version is used twice.
    let made = api.say("s", &[("m1", "human", "anew")]).await;
    assert!(made["version"].as_u64().unwrap() > versions[2]["version"].as_u64().unwrap());
    let now = api.session("s").await;
    assert_eq!(
        (texts(&now["messages"]), &now["goal"], &now["todo"]),
        (vec!["anew"], &json!(null), &json!(null))
    );
    assert_eq!(api.items("sessions/s/checkpoints").await.len(), 1);
}

async fn st_09_what_earlier_versions_showed_is_gone_too(api: Api) {
    let compact = async |summary: &str| {
        let body = json!({ "summary": summary, "min_keep_entries": 1 });
        assert_eq!(api.post("/projects/p1/sessions/s:compact", body).await.expect(200)["compacted"], true);
    };
    // Everything that a reader is shown on the way, by the ids of cards.
    let mut seen = vec![];
    let mut look = async || {
        let session = api.session("s").await;
        let lists = ["messages", "mapreduce_results", "timeline"];
        let items = lists.iter().flat_map(|list| session[list].as_array().unwrap());
        let named = items
            .map(|item| &item["card_id"])
            .chain([&session["summary_card_id"], &session["checkpoint_id"]]);
        let named: Vec<String> = named.filter_map(|id| id.as_str().map(str::to_owned)).collect();
        seen.extend(named);
        session["summary_card_id"].as_str().map(str::to_owned)
    };
    grow(&api).await;
    look().await;
    for round in ["first", "second"] {
        api.say(
            "s",
            &[(&format!("{round} a"), "ai", "secret one"), (&format!("{round} b"), "ai", "secret two")],
        )
        .await;
        look().await;
        compact(&format!("{round} gist")).await;
        look().await;
    }
    let body = json!({ "messages": { "replace": [{ "id": "z", "role": "human", "content": "zed" }] } });
    api.patch("s", body).await.expect(200);
    let summary = look().await.unwrap();
    let note = json!({ "goal": "secret", "summary": "how it was kept" });
    api.post("/projects/p1/sessions/s/experience", note).await.expect(200);
    api.post("/projects/p1/sessions/s/experience:save", json!({})).await.expect(200);
    let expand = format!("/projects/p1/context:expand?card={summary}");
    let opened = api.get(&expand).await.expect(200);
    assert!(opened["summary"].as_str().unwrap().contains("second gist"), "{opened}");
    seen.sort();
    seen.dedup();
    assert!(seen.len() > 15, "{seen:?}");
    for card in &seen {
        api.get(&format!("/projects/p1/cards/{card}")).await.expect(200);
    }
    api.delete("/projects/p1/sessions/s").await.expect(204);
    for card in &seen {
        api.get(&format!("/projects/p1/cards/{card}")).await.expect_error(404, "not_found");
    }
    api.get(&expand).await.expect_error(404, "not_found");
    let found = api.collect("later", json!({ "query": "secret" })).await.expect(200);
    assert!(found["contexts"].get("experience__context").is_none(), "{found}");
}

/// API-13, SEC-05
async fn a_session_is_told_about(api: Api) {
    grow(&api).await;
    let told = api.told("session.state").await;
    assert_eq!(told.len(), 3);
    assert_eq!((&told[2]["session_id"], &told[2]["version"]), (&json!("s"), &json!(3)));
    api.delete("/projects/p1/sessions/s").await.expect(204);
    assert_eq!(api.told("session.state").await[3]["what"], "deleted");
    let audit = api.get("/projects/p1/audit?limit=1").await.expect(200);
    assert_eq!(audit["items"][0]["action"], "session.delete");
}
