//! The inspector's pages of handovers, batches, agents, sessions, packages and documents, and of the server (IN-05, IN-08, IN-11).

use crate::{
    handoffs::tree::Tree,
    support::{
        Api, Leased, NOBODY,
        inspect::{look, send, sign_in, writing},
        on_both, on_sqlite,
    },
};
use axum::http::StatusCode;
use serde_json::{Value, json};

on_both! {
    in_05_a_handover_shows_the_fact_and_a_dry_run;
    in_05_every_noun_has_its_page_and_its_twins;
    in_04_a_batch_is_called_off_by_a_session_that_may_write;
    in_04_a_session_goes_back_to_a_checkpoint;
}

on_sqlite! {
    pk_19_a_handover_is_told_over_the_api;
    in_05_a_recipe_that_was_rewritten_is_told_apart;
    in_11_a_turn_without_a_handover_says_so;
    in_11_nouns_of_another_project_are_not_found;
    in_05_an_agent_shows_what_was_refused;
    in_11_empty_lists_name_the_command;
    in_08_long_lists_are_cut_with_their_total;
    in_04_the_server_is_shown_to_those_who_reach_all_of_it;
}

/// A page with what it must say.
#[track_caller]
fn says(text: &str, expected: &[&str]) {
    for expected in expected {
        assert!(text.contains(expected), "no `{expected}` in\n{text}");
    }
}

async fn page(api: &Api, cookie: &str, path: &str) -> String {
    let page = look(api, cookie, &format!("/inspect{path}")).await;
    assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.text);
    for inline in ["<style", " style=", "onclick=", "javascript:"] {
        assert!(!page.text.contains(inline), "{inline} at {path}");
    }
    page.text
}

/// Both twins of a page. Gives what the API says.
async fn twins(api: &Api, cookie: &str, path: &str) -> Value {
    let (place, query) = path.split_once('?').unwrap_or((path, ""));
    let told = page(api, cookie, &format!("{place}.md?{query}")).await;
    assert!(told.starts_with("# "), "{path}: {told}");
    let told = page(api, cookie, &format!("{place}.json?{query}")).await;
    serde_json::from_str(&told).unwrap_or_else(|_| panic!("{path}: {told}"))
}

/// `boss` at work, who was told something and has thought something.
async fn boss(api: &Api) -> Leased {
    api.profile("p1").await;
    let context = api.context("Where is <b>the boat</b>?").await;
    api.dispatch_with("boss", json!({ "context_box_id": context })).await;
    let leased = api.claim_with(json!({ "start": true })).await.remove(0);
    api.think(&leased, "I ask somebody.").await;
    leased
}

/// The turn makes a call by itself, and carries it out. Gives the answer.
async fn calls(api: &Api, leased: &Leased, id: &str, tool: &str, args: Value) -> Value {
    let card = json!({
        "content": { "tool_name": tool, "arguments": args }, "tool_call_id": id,
        "metadata": { "type": "tool.call", "role": "assistant" },
    });
    api.verb(leased, "/cards", card).await.expect(200);
    let body = json!({ "caller_agent_id": leased.agent, "tool_call_id": id }).to_string();
    let reply = api.with(&leased.token, "POST", &format!("/projects/p1/pmo/{tool}:call"), &body).await;
    reply.expect(200)["result"].clone()
}

fn task(instruction: &str) -> Value {
    json!({ "target_strategy": "new", "target_ref": "Helper", "instruction": instruction })
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

async fn in_05_a_handover_shows_the_fact_and_a_dry_run(api: Api) {
    let parent = boss(&api).await;
    let facts = api.make_box("p1", &[api.card("p1", "It floats.").await]).await;
    let mut args = task("Find it.");
    args["context_box_id"] = json!(facts);
    // An operator hands over any box; the turn itself reaches those it was given.
    let body = json!({ "caller_agent_id": "boss", "args": args });
    let given = api.post("/projects/p1/pmo/delegate_async:call", body).await.expect(200)["result"].clone();
    let turn = text(&given["agent_turn_id"]).to_owned();
    let cookie = sign_in(&api, &api.admin).await;
    let path = format!("/p/p1/handovers/{turn}");
    let shown = page(&api, &cookie, &path).await;
    says(
        &shown,
        &[
            "What boss knew, and what Helper was given",
            "Find it.",
            "It floats.",
            "argument instruction, rule 0",
            "by reference",
            "a pointer to the sender",
            "Where is &lt;b&gt;the boat&lt;/b&gt;?",
            "withheld ✕",
            "It has called no model yet.",
            "✓ The rules are those of then",
            "✓ The same cards as then.",
            "<abbr title=",
        ],
    );
    assert!(!shown.contains("<b>the boat"), "cards stay text");
    let told = twins(&api, &cookie, &path).await;
    let packing = &told["packing"];
    assert_eq!((&packing["tool"], &packing["rules_hold"]), (&json!("delegate_async"), &json!(true)));
    assert_eq!((&packing["known"], &packing["withheld"]), (&json!(2), &json!(2)), "{told}");
    assert!(told["cards"].as_array().unwrap().iter().all(|card| card["again"] == true), "{told}");
    // The box that was inherited is rewritten: the fact stays, and a dry run packs something else.
    let other = api.card("p1", "It sinks.").await;
    let rewrite = json!({ "card_ids": [other] });
    api.post(&format!("/projects/p1/l0/boxes/{facts}:rewrite"), rewrite).await.expect(200);
    let child = api.claim_with(json!({ "start": true })).await.remove(0);
    api.verb(&child, "/calls", json!({ "model": "m-1" })).await.expect(201);
    let shown = page(&api, &cookie, &path).await;
    says(
        &shown,
        &[
            "It floats.",
            "not packed now",
            "Packed only now",
            "It sinks.",
            "1 card of then would not be packed",
            "/inspect/p/p1/why?call=",
        ],
    );
    let told = page(&api, &cookie, &format!("{path}.md")).await;
    says(&told, &["not packed now", "only now: It sinks.", "## Withheld"]);
    // The page of the turn leads here, and to the agent.
    says(
        &page(&api, &cookie, &format!("/p/p1/turns/{turn}")).await,
        &[&format!("/inspect{path}"), "/inspect/p/p1/agents/"],
    );
    api.finish(&parent, "success").await;
}

async fn pk_19_a_handover_is_told_over_the_api(api: Api) {
    let parent = boss(&api).await;
    let given = calls(&api, &parent, "c1", "delegate_async", task("Find it.")).await;
    let path = format!("/projects/p1/turns/{}/handover", text(&given["agent_turn_id"]));
    let told = api.get(&path).await.expect(200);
    let packing = &told["packing"];
    assert_eq!(
        (&packing["source_agent_id"], &packing["source_agent_turn_id"]),
        (&json!("boss"), &json!(parent.turn))
    );
    assert_eq!((&packing["tool_call_id"], &packing["profile_name"]), (&json!("c1"), &json!("Helper")));
    let call = api.get(&format!("/projects/p1/cards/{}", text(&packing["call_card_id"]))).await.expect(200);
    assert_eq!(call["content"]["arguments"]["instruction"], "Find it.");
    // The instruction of the caller and its thought; the call itself is not withheld, it is what hands over.
    assert_eq!((&packing["known"], packing["withheld_card_ids"].as_array().unwrap().len()), (&json!(2), 2));
    assert_eq!(packing["rules"]["pack_arguments"][0]["arg_key"], "instruction");
    assert_eq!((&packing["preflight"]["ok"], &packing["problem"]), (&json!(true), &Value::Null));
    assert_eq!(told["cards"].as_array().unwrap().len(), 2);
    api.get(&format!("/projects/p1/turns/turn_{NOBODY}/handover")).await.expect_error(404, "not_found");
    api.get(&path.replace("p1", "p2")).await.expect_error(404, "not_found");
    api.get("/projects/p1/turns/x/handover").await.expect_error(400, "bad_request");
    // A fork hands over task by task, by the same rules.
    let forked =
        calls(&api, &parent, "c2", "fork_join", json!({ "tasks": [task("One."), task("Two.")] })).await;
    let batch = api.get(&format!("/projects/p1/batches/{}", text(&forked["batch_id"]))).await.expect(200);
    let turn = text(&batch["tasks"][1]["agent_turn_id"]);
    let told = api.get(&format!("/projects/p1/turns/{turn}/handover")).await.expect(200);
    assert_eq!(
        (&told["packing"]["tool"], &told["packing"]["rules_hold"]),
        (&json!("fork_join"), &json!(true))
    );
}

async fn in_05_a_recipe_that_was_rewritten_is_told_apart(api: Api) {
    let parent = boss(&api).await;
    let recipe = |include_parent: bool| {
        json!({ "description": "Ask for a review.", "handover": {
            "target_profile_config": { "profile_name": "Helper" },
            "context_packing_config": {
                "pack_arguments": [{ "arg_key": "task" }],
                "inherit_context": { "include_parent": include_parent },
            },
        } })
        .to_string()
    };
    let put = async |body: &str| {
        let reply = api.with(&api.admin, "PUT", "/projects/p1/recipes/review", body).await;
        assert!(reply.status.is_success(), "{}", reply.json());
    };
    put(&recipe(false)).await;
    let given = calls(&api, &parent, "c1", "review", json!({ "task": "Read it." })).await;
    let by_hand = json!({ "caller_agent_id": "boss", "args": { "task": "Read it." } });
    let by_hand = api.post("/projects/p1/pmo/review:call", by_hand).await.expect(200)["result"].clone();
    let cookie = sign_in(&api, &api.admin).await;
    let path = format!("/p/p1/handovers/{}", text(&given["agent_turn_id"]));
    says(
        &page(&api, &cookie, &path).await,
        &["/inspect/p/p1/recipes/review", "the argument task becomes a card", "✓ The same cards as then."],
    );
    put(&recipe(true)).await;
    says(
        &page(&api, &cookie, &path).await,
        &["The recipe was rewritten since", "1 card would come besides."],
    );
    // Where the call is kept by no turn, its arguments are not known once the rules are others.
    let path = format!("/p/p1/handovers/{}", text(&by_hand["agent_turn_id"]));
    says(&page(&api, &cookie, &path).await, &["arguments are kept by no turn"]);
    api.delete("/projects/p1/recipes/review").await.expect(204);
    says(&page(&api, &cookie, &path).await, &["only their hash is kept"]);
}

async fn in_11_a_turn_without_a_handover_says_so(api: Api) {
    let leased = boss(&api).await;
    let cookie = sign_in(&api, &api.admin).await;
    let shown = page(&api, &cookie, &format!("/p/p1/handovers/{}", leased.turn)).await;
    says(&shown, &["without a handover", "cardwire pmo call delegate_async", "put there by the dispatcher"]);
    let told = twins(&api, &cookie, &format!("/p/p1/handovers/{}", leased.turn)).await;
    assert_eq!(told["packing"], Value::Null);
}

/// One of everything, and where it is.
async fn everything(api: &Api) -> Vec<(String, Vec<String>)> {
    let parent = boss(api).await;
    let forked =
        calls(api, &parent, "c1", "fork_join", json!({ "tasks": [task("One."), task("Two.")] })).await;
    let batch = text(&forked["batch_id"]).to_owned();
    let child = api.claim_with(json!({ "start": true })).await.remove(0);
    api.verb(&child, ":finish", json!({ "status": "success", "deliverable": "It is red." }))
        .await
        .expect(200);
    let said: Vec<(String, &str, String)> = (1..=12)
        .map(|n| (format!("m{n}"), if n % 2 == 1 { "human" } else { "ai" }, format!("message number {n}")))
        .collect();
    let said: Vec<_> = said.iter().map(|(id, role, text)| (id.as_str(), *role, text.as_str())).collect();
    api.say("talk", &said).await;
    api.post("/projects/p1/sessions/talk:compact", json!({ "summary": "so far" })).await.expect(200);
    api.patch("talk", json!({ "set": { "goal": "the boat" } })).await.expect(200);
    let package =
        api.post("/projects/p1/handoffs", Tree::of(api, "out/iteration_1", 3).package()).await.expect(201);
    let team = json!({ "process": "react", "description": "Finds boats.",
        "agents": [{ "id": "finder", "profile": { "system_prompt": "You find boats." } }] });
    api.with(&api.admin, "PUT", "/projects/p1/teams/boats", &team.to_string()).await.expect(201);
    let recipe = json!({ "description": "Ask.", "handover": { "target_profile_config": { "profile_name": "Helper" } } });
    api.with(&api.admin, "PUT", "/projects/p1/recipes/ask", &recipe.to_string()).await.expect(201);
    api.document("docs/boats.md", "# Boats\n\nBoats float.\n\n# Ships\n\nShips are large boats.").await;
    api.document("docs/boat", "# Other\n\nNothing.").await;
    let of = |path: &str, expected: &[&str]| {
        (path.to_owned(), expected.iter().map(|text| (*text).to_owned()).collect())
    };
    vec![
        of("/p/p1/batches", &["2 tasks of boss", "all are waited for"]),
        of(
            &format!("/p/p1/batches/{batch}"),
            &["1 of 2 ok, 1 dispatched", "It is red.", "all are waited for", "what it was handed"],
        ),
        of("/p/p1/agents", &["/inspect/p/p1/agents/boss", "running"]),
        of(
            "/p/p1/agents/boss",
            &[
                "What boss is doing",
                "held by <b>worker 1</b>",
                "stale_turn",
                "Where is &lt;b&gt;the boat&lt;/b&gt;?",
            ],
        ),
        of("/p/p1/sessions", &["/inspect/p/p1/sessions/talk?namespace=default"]),
        of(
            "/p/p1/sessions/talk",
            &[
                "so far",
                "It stands for 3 messages",
                "message number 12",
                "message number 2<",
                "compacted",
                "the boat",
            ],
        ),
        of("/p/p1/handoffs", &["execute_to_init"]),
        of(
            &format!("/p/p1/handoffs/{}?budget=40000", text(&package["handoff_id"])),
            &["S000", "loaded", "of <b>40,000</b> tokens used", "token budget"],
        ),
        of("/p/p1/teams", &["Finds boats.", "react"]),
        of("/p/p1/teams/boats", &["finder: You find boats.", "How the team boats works"]),
        of("/p/p1/recipes", &["/inspect/p/p1/recipes/ask"]),
        of("/p/p1/recipes/ask", &["What ask hands over", "cardwire pmo call ask"]),
        of("/p/p1/knowledge", &["docs/boats.md"]),
        of("/p/p1/knowledge?q=float", &["Boats float."]),
        of("/p/p1/knowledge/document?source_id=docs/boats.md", &["Boats float.", "Ships are large boats."]),
        of("/p/p1/more", &["/inspect/p/p1/sessions", "What is remembered of a conversation"]),
        of("/system", &["Is the server well", "all projects", "read"]),
    ]
}

async fn in_05_every_noun_has_its_page_and_its_twins(api: Api) {
    let pages = everything(&api).await;
    let cookie = sign_in(&api, &api.admin).await;
    for (path, expected) in &pages {
        let shown = page(&api, &cookie, path).await;
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        says(&shown, &expected);
        assert!(
            shown.contains("<abbr title=")
                || ["/p/p1/knowledge?q=float", "/p/p1/more"].contains(&path.as_str()),
            "a word explains itself at {path}"
        );
        assert!(!shown.contains("<b>the boat"), "{path}: cards stay text");
        twins(&api, &cookie, path).await;
    }
    // Under a small budget less is loaded, and that is told.
    let package = &pages.iter().find(|(path, _)| path.contains("/handoffs/")).unwrap().0;
    let small = package.replace("budget=40000", "budget=300&mode=full");
    says(&page(&api, &cookie, &small).await, &["no room"]);
    assert_eq!(
        look(&api, &cookie, &format!("/inspect{}", package.replace("40000", "0"))).await.status,
        StatusCode::BAD_REQUEST
    );
    // The first page says what is going on.
    let home = page(&api, &cookie, "").await;
    says(
        &home,
        &["Where is &lt;b&gt;the boat&lt;/b&gt;?", "/inspect/p/p2", "What to type next", "/inspect/system"],
    );
    // Secrets of tokens are shown to nobody.
    assert!(!page(&api, &cookie, "/system").await.contains(&api.admin));
}

async fn in_04_a_batch_is_called_off_by_a_session_that_may_write(api: Api) {
    let parent = boss(&api).await;
    let forked =
        calls(&api, &parent, "c1", "fork_join", json!({ "tasks": [task("One."), task("Two.")] })).await;
    let path = format!("/inspect/p/p1/batches/{}", text(&forked["batch_id"]));
    let status = async || api.items("batches").await[0]["status"].as_str().unwrap().to_owned();
    let reads = sign_in(&api, &api.admin).await;
    assert!(!look(&api, &reads, &path).await.text.contains("/cancel"));
    assert_eq!(send(&api, &reads, &format!("{path}/cancel"), "").await.status, StatusCode::FORBIDDEN);
    assert_eq!(status().await, "running");
    let cookie = writing(&api, &api.admin).await;
    says(&look(&api, &cookie, &path).await.text, &["/cancel", "0 of 2 ok, 2 dispatched"]);
    let foreign = path.replace("/p/p1/", "/p/p2/");
    assert_eq!(send(&api, &cookie, &format!("{foreign}/cancel"), "").await.status, StatusCode::NOT_FOUND);
    let done = send(&api, &cookie, &format!("{path}/cancel"), "").await;
    assert_eq!((done.status, &done.location), (StatusCode::SEE_OTHER, &path), "{}", done.text);
    assert_eq!(status().await, "failed");
    says(&look(&api, &cookie, &path).await.text, &["0 of 2 ok, 2 canceled", "it was called off"]);
    assert!(!look(&api, &cookie, &path).await.text.contains("/cancel"), "it is over");
}

async fn in_04_a_session_goes_back_to_a_checkpoint(api: Api) {
    api.say("talk", &[("m1", "human", "first")]).await;
    api.say("talk", &[("m2", "human", "second")]).await;
    let listed = api.items("sessions/talk/checkpoints").await;
    let first = text(&listed[1]["checkpoint_id"]).to_owned();
    let path = "/inspect/p/p1/sessions/talk";
    let form = format!("checkpoint={first}&namespace=default");
    let reads = sign_in(&api, &api.admin).await;
    let then = look(&api, &reads, &format!("{path}?checkpoint={first}")).await.text;
    assert!(then.contains("first") && !then.contains("second") && !then.contains("/restore"), "{then}");
    assert_eq!(send(&api, &reads, &format!("{path}/restore"), &form).await.status, StatusCode::FORBIDDEN);
    assert_eq!(api.session("talk").await["messages"].as_array().unwrap().len(), 2);
    let cookie = writing(&api, &api.admin).await;
    says(&look(&api, &cookie, path).await.text, &["/restore", &first]);
    let wrong = send(&api, &cookie, &format!("{path}/restore"), "checkpoint=x").await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
    let foreign = send(&api, &cookie, "/inspect/p/p2/sessions/talk/restore", &form).await;
    assert_eq!(foreign.status, StatusCode::NOT_FOUND);
    let done = send(&api, &cookie, &format!("{path}/restore"), &form).await;
    assert_eq!(
        (done.status, done.location),
        (StatusCode::SEE_OTHER, format!("{path}?namespace=default")),
        "{}",
        done.text
    );
    assert_eq!(api.session("talk").await["messages"].as_array().unwrap().len(), 1);
}

async fn in_11_nouns_of_another_project_are_not_found(api: Api) {
    let pages = everything(&api).await;
    let token = api.token(json!({ "project_id": "p2", "scopes": ["read"] })).await;
    let (mine, theirs) = (sign_in(&api, &api.admin).await, sign_in(&api, &token).await);
    let turn = api.items("turns").await[0]["agent_turn_id"].as_str().unwrap().to_owned();
    let of_one = pages.iter().map(|(path, _)| path.clone()).chain([format!("/p/p1/handovers/{turn}")]);
    for path in of_one.filter(|path| path.starts_with("/p/p1/")) {
        let is_list = path.matches('/').count() == 3;
        let foreign = format!("/inspect{}", path.replace("/p/p1/", "/p/p2/"));
        for suffix in ["", ".json", ".md"] {
            let (place, query) = foreign.split_once('?').unwrap_or((&foreign, ""));
            let page = look(&api, &mine, &format!("{place}{suffix}?{query}")).await;
            let expected = if is_list { StatusCode::OK } else { StatusCode::NOT_FOUND };
            assert_eq!(page.status, expected, "{place}{suffix}: {}", page.text);
            for secret in ["the boat", "It is red.", "so far", "Finds boats.", "Boats float."] {
                assert!(!page.text.contains(secret), "{secret} at {place}{suffix}");
            }
        }
        let refused = look(&api, &theirs, &format!("/inspect{path}")).await;
        assert!(refused.status.is_client_error() && !refused.text.contains("the boat"), "{path}");
    }
    for path in [
        "batches/x",
        "agents/a b",
        "sessions/a%20b",
        "handovers/x",
        "batches?after=x",
        "agents?after=x",
        "sessions?namespace=%20",
    ] {
        let page = look(&api, &mine, &format!("/inspect/p/p1/{}", path.replace(' ', "%20"))).await;
        assert!(page.status.is_client_error(), "{path}: {}", page.status);
    }
    for path in [
        format!("batches/batch_{NOBODY}"),
        "agents/nobody".to_owned(),
        "sessions/nobody".to_owned(),
        "teams/nobody".to_owned(),
        "handoffs/nobody".to_owned(),
        "knowledge/document?source_id=nobody".to_owned(),
        format!("handovers/turn_{NOBODY}"),
    ] {
        assert_eq!(
            look(&api, &mine, &format!("/inspect/p/p1/{path}")).await.status,
            StatusCode::NOT_FOUND,
            "{path}"
        );
    }
}

async fn in_05_an_agent_shows_what_was_refused(api: Api) {
    let parent = boss(&api).await;
    let cookie = sign_in(&api, &api.admin).await;
    let path = "/p/p1/agents/boss";
    says(&page(&api, &cookie, path).await, &["None: the audit log tells neither"]);
    let stale = json!({ "turn_epoch": 7 });
    api.verb(&parent, ":heartbeat", stale).await.expect_error(409, "stale_turn");
    let mut args = task("Find it.");
    args["context_box_id"] = json!(api.context("not yours").await);
    let body = json!({ "caller_agent_id": "boss", "args": args }).to_string();
    let refused = api.with(&parent.token, "POST", "/projects/p1/pmo/delegate_async:call", &body).await;
    refused.expect_error(403, "unauthorized_box");
    api.running("other").await;
    says(&page(&api, &cookie, path).await, &["at epoch 7 is not live any more", "access.denied"]);
    says(&page(&api, &cookie, "/p/p1/agents/other").await, &["None: the audit log tells neither"]);
}

async fn in_11_empty_lists_name_the_command(api: Api) {
    let cookie = sign_in(&api, &api.admin).await;
    for (path, command) in [
        ("batches", "cardwire pmo call fork_join"),
        ("agents", "cardwire agent add"),
        ("sessions", "cardwire turn dispatch"),
        ("handoffs", "cardwire handoff send"),
        ("teams", "cardwire team put"),
        ("recipes", "cardwire recipe put"),
        ("knowledge", "cardwire knowledge add"),
    ] {
        let shown = page(&api, &cookie, &format!("/p/p2/{path}")).await;
        assert!(shown.contains(command) && shown.contains("--project p2"), "{path}: {shown}");
    }
    api.agent("idle").await;
    let idle = page(&api, &cookie, "/p/p1/agents/idle").await;
    says(&idle, &["It has never had a turn", "cardwire turn dispatch --agent idle", "—"]);
}

async fn in_08_long_lists_are_cut_with_their_total(api: Api) {
    let parent = boss(&api).await;
    let tasks: Vec<Value> = (0..120).map(|n| task(&format!("Part {n}."))).collect();
    let settings = json!({ "settings": { "pmo": { "fork_join_max_tasks": 200 } } }).to_string();
    api.with(&api.admin, "PATCH", "/projects/p1", &settings).await.expect(200);
    let forked = calls(&api, &parent, "c1", "fork_join", json!({ "tasks": tasks })).await;
    let path = format!("/p/p1/batches/{}", text(&forked["batch_id"]));
    let cookie = sign_in(&api, &api.admin).await;
    let first = page(&api, &cookie, &path).await;
    says(&first, &["120 in all.", "?from=100", "0 of 120 ok"]);
    assert_eq!(first.matches("what it was handed").count(), 100);
    let rest = page(&api, &cookie, &format!("{path}?from=100")).await;
    assert_eq!(rest.matches("what it was handed").count(), 20);
    page(&api, &cookie, &format!("{path}?from=9999999")).await;
    let agents = page(&api, &cookie, "/p/p1/agents").await;
    says(&agents, &["100</b>", "more follow", "/agents?after="]);
    let next = agents.split('"').find(|part| part.contains("/agents?after=")).unwrap();
    let next = page(&api, &cookie, next.strip_prefix("/inspect").unwrap()).await;
    assert!(next.contains("<b>21</b>") && !next.contains("more follow"), "{next}");
}

async fn in_04_the_server_is_shown_to_those_who_reach_all_of_it(api: Api) {
    let of_project = api.token(json!({ "project_id": "p1", "scopes": ["admin"] })).await;
    let cookie = sign_in(&api, &of_project).await;
    assert_eq!(look(&api, &cookie, "/inspect/system").await.status, StatusCode::FORBIDDEN);
    assert!(!look(&api, &cookie, "/inspect").await.text.contains("/inspect/system"));
    let reads = api.token(json!({ "scopes": ["read"] })).await;
    let cookie = sign_in(&api, &reads).await;
    let shown = look(&api, &cookie, "/inspect/system").await;
    assert_eq!(shown.status, StatusCode::OK);
    says(&shown.text, &["Tokens are shown to those", "ready"]);
    assert!(!shown.text.contains("all projects"), "{}", shown.text);
}
