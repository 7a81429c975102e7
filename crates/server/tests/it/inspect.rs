//! The inspector: signing in, pages with their twins, and who may see and do what (IN-01..IN-11).

use crate::support::{
    Api, NOBODY,
    inspect::{browse, look, send, sign_in, writing},
    on_both, on_sqlite,
};
use axum::http::StatusCode;
use serde_json::{Value, json};

on_both! {
    in_05_every_page_of_a_run_is_there_with_its_twins;
    in_04_a_session_has_the_reach_of_its_token_and_ends_with_it;
    in_05_a_run_is_shown_as_it_was_at_any_position_of_the_log;
    in_15_a_page_forks_as_the_api_does;
    in_05_the_lineage_of_boxes_is_drawn;
}

on_sqlite! {
    in_04_a_browser_signs_in_by_a_code_once;
    in_04_a_form_from_elsewhere_changes_nothing;
    in_04_a_session_reads_until_it_is_let_write;
    in_03_every_answer_has_the_policy;
    in_11_what_is_not_there_is_told_and_nothing_runs;
}

/// A run with one call of a model, and its ids: turn, call, card, box.
async fn run(api: &Api) -> (String, String, String, String) {
    let card = api.card("p1", "Where is <b>the boat</b>?").await;
    let context = api.make_box("p1", std::slice::from_ref(&card)).await;
    api.dispatch_with("a1", json!({ "context_box_id": context })).await;
    let leased = api.claim_with(json!({ "start": true })).await.remove(0);
    let call = api.verb(&leased, "/calls", json!({ "model": "m-1" })).await.expect(201);
    api.think(&leased, "It is red.").await;
    api.finish(&leased, "success").await;
    (leased.turn, call["call_id"].as_str().unwrap().to_owned(), card, context)
}

async fn in_05_every_page_of_a_run_is_there_with_its_twins(api: Api) {
    let (turn, call, card, context) = run(&api).await;
    let cookie = sign_in(&api, &api.admin).await;
    let pages = [
        (String::new(), "Whose agents"),
        ("/p/p1".to_owned(), "Where is &lt;b&gt;the boat&lt;/b&gt;?"),
        (format!("/p/p1/runs/{turn}"), "<b>1 agent</b>"),
        (format!("/p/p1/turns/{turn}"), "What a1 was given, did and delivered"),
        (format!("/p/p1/calls/{call}"), "rendered again, equal"),
        (format!("/p/p1/calls/{call}?tab=bytes&sel={card}"), "data-sha256"),
        (format!("/p/p1/calls/{call}?tab=manifest"), "request_sha256"),
        (format!("/p/p1/why?call={call}&card={card}"), "It is the instruction of this turn."),
        (format!("/p/p1/diff?l={call}&r={turn}"), "same card"),
        (format!("/p/p1/cards/{card}"), "task.instruction"),
        (format!("/p/p1/boxes/{context}"), "sealed"),
        ("/p/p1/search?q=BOAT".to_owned(), "the boat"),
        ("/p/p1/cost?by=layer".to_owned(), "What it cost"),
        ("/p/p1/agents".to_owned(), "a1"),
        ("/p/p1/events".to_owned(), "card.created"),
        ("/p/p1/audit".to_owned(), "Who did what"),
    ];
    for (path, expected) in pages {
        let page = look(&api, &cookie, &format!("/inspect{path}")).await;
        assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.text);
        assert!(page.text.contains(expected), "no `{expected}` at {path} in\n{}", page.text);
        assert!(!page.text.contains("<b>the boat"), "{path}: cards stay text");
        let (place, query) = path.split_once('?').unwrap_or((&path, ""));
        if place.is_empty() {
            continue;
        }
        let twin = look(&api, &cookie, &format!("/inspect{place}.json?{query}")).await;
        assert_eq!(twin.status, StatusCode::OK, "{path}: {}", twin.text);
        assert!(serde_json::from_str::<Value>(&twin.text).is_ok(), "{path}: {}", twin.text);
        let twin = look(&api, &cookie, &format!("/inspect{place}.md?{query}")).await;
        assert!(twin.status == StatusCode::OK && twin.text.starts_with("# "), "{path}: {}", twin.text);
    }
    // The bytes that a page shows are those that were sent.
    let shown = look(&api, &cookie, &format!("/inspect/p/p1/calls/{call}.json")).await;
    let shown: Value = serde_json::from_str(&shown.text).unwrap();
    assert_eq!(shown["hash_ok"], true);
    let page = look(&api, &cookie, &format!("/inspect/p/p1/calls/{call}?tab=bytes")).await.text;
    let (_, bytes) = page.split_once("data-sha256=").unwrap();
    let (_, bytes) = bytes.split_once('>').unwrap();
    let (bytes, _) = bytes.split_once("</section>").unwrap();
    let mut plain = String::new();
    let mut within = false;
    for letter in bytes.chars() {
        match letter {
            '<' => within = true,
            '>' if within => within = false,
            letter if !within => plain.push(letter),
            _ => {}
        }
    }
    let plain = plain.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
    assert_eq!(plain, shown["request"].as_str().unwrap());
    // What another agent reads says what was sent and what for.
    let told = look(&api, &cookie, &format!("/inspect/p/p1/calls/{call}.md")).await.text;
    assert!(told.contains("Where is <b>the boat</b>?") && told.contains("byte for byte"), "{told}");
}

async fn in_04_a_session_has_the_reach_of_its_token_and_ends_with_it(api: Api) {
    let (turn, ..) = run(&api).await;
    let minted = api.post("/tokens", json!({ "project_id": "p2", "scopes": ["read"] })).await.expect(201);
    let other = sign_in(&api, minted["token"].as_str().unwrap()).await;
    assert_eq!(look(&api, &other, "/inspect/p/p2").await.status, StatusCode::OK);
    let listed = look(&api, &other, "/inspect").await.text;
    assert!(listed.contains("/inspect/p/p2") && !listed.contains("/inspect/p/p1"), "{listed}");
    for path in [
        "/inspect/p/p1".to_owned(),
        format!("/inspect/p/p1/runs/{turn}"),
        "/inspect/p/p1/cost.json".to_owned(),
    ] {
        let page = look(&api, &other, &path).await;
        assert!(page.status.is_client_error() && !page.text.contains("the boat"), "{path}: {}", page.status);
    }
    // Another project's ids are not found in one's own.
    let foreign = look(&api, &other, &format!("/inspect/p/p2/runs/{turn}")).await;
    assert_eq!(foreign.status, StatusCode::NOT_FOUND);
    // The cookie opens no route of the API.
    assert_eq!(look(&api, &other, "/projects/p2").await.status, StatusCode::UNAUTHORIZED);
    api.delete(&format!("/tokens/{}", minted["id"].as_str().unwrap())).await.expect(204);
    api.clock.advance(2);
    let page = look(&api, &other, "/inspect/p/p2/cost?by=model").await;
    assert_eq!(page.status, StatusCode::SEE_OTHER);
    assert_eq!(page.location, "/inspect/login?target=/inspect/p/p2/cost%3Fby%3Dmodel", "the target is kept");
    let mine = sign_in(&api, &api.admin).await;
    assert_eq!(look(&api, &mine, "/inspect/p/p1").await.status, StatusCode::OK);
    api.clock.advance(12 * 3_600);
    assert_eq!(look(&api, &mine, "/inspect/p/p1").await.status, StatusCode::SEE_OTHER);
}

async fn in_05_a_run_is_shown_as_it_was_at_any_position_of_the_log(api: Api) {
    let (turn, ..) = run(&api).await;
    let cookie = sign_in(&api, &api.admin).await;
    let at = async |more: &str| look(&api, &cookie, &format!("/inspect/p/p1/runs/{turn}{more}")).await.text;
    let now = at("").await;
    assert!(now.contains("delivered") && now.contains("name=\"at\""), "{now}");
    let first: u64 = now.split("min=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
    let then = at(&format!("?at={first}")).await;
    assert!(
        then.contains("This is the run as it was at event") && !then.contains("delivered</span>"),
        "{then}"
    );
    // A position behind the end is the run as it is; what is no position is told.
    assert!(!at("?at=999999").await.contains("as it was at event"));
    let wrong = look(&api, &cookie, &format!("/inspect/p/p1/runs/{turn}?at=-1")).await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
    assert!(at("?view=graph").await.contains("class=\"graph\""));
    assert!(at("?view=time").await.contains("aria-current=\"page\">Time"));
}

/// IN-15, RP-06
async fn in_15_a_page_forks_as_the_api_does(api: Api) {
    let (turn, call, ..) = run(&api).await;
    let asked = json!({ "at": "1", "instruction": "Where is the car?", "without_layers": ["todo"] });
    let path = format!("/projects/p1/turns/{turn}:fork");
    let made = api.post(&path, asked.clone()).await.expect(201);
    assert_eq!(
        (&made["forked_from"], &made["at"], &made["kept_cards"]),
        (&json!(turn), &json!(1), &json!(0))
    );
    assert_eq!(made["absent_layers"], json!(["todo"]), "the call had no such layer");
    let leased = api.claim_with(json!({ "start": true })).await.remove(0);
    assert_eq!(json!(leased.turn), made["agent_turn_id"]);
    let again = api.verb(&leased, "/calls", json!({ "model": "m-1" })).await.expect(201);
    let shown = format!("/projects/p1/calls/{}/context?render=true", again["call_id"].as_str().unwrap());
    let request = api.get(&shown).await.expect(200)["request"].as_str().unwrap().to_owned();
    assert!(request.contains("the car") && !request.contains("the boat"), "{request}");
    let before = api.items("turns").await.len();
    for (body, status, field) in [
        (json!({ "at": "3" }), 400, "at"),
        (json!({ "at": "nonsense" }), 400, "at"),
        (json!({ "without_layers": ["turn"] }), 400, "without_layers/0"),
        (json!({ "model": " " }), 400, "model"),
        (json!({ "swaps": [{ "old": "x", "new": NOBODY }] }), 400, "swaps/0/old"),
        (json!({ "swaps": [{ "old": NOBODY, "new": NOBODY }] }), 404, ""),
        (json!({ "at": "step_nobody" }), 404, ""),
    ] {
        let refused = api.post(&path, body.clone()).await.expect(status);
        assert!(field.is_empty() || refused["error"]["detail"]["field"] == field, "{body}: {refused}");
    }
    let cookie = writing(&api, &api.admin).await;
    let form = format!("/inspect/p/p1/turns/{turn}/fork");
    let reads = sign_in(&api, &api.admin).await;
    assert_eq!(send(&api, &reads, &form, "at=1").await.status, StatusCode::FORBIDDEN);
    assert_eq!(send(&api, &cookie, &form, "at=7").await.status, StatusCode::BAD_REQUEST);
    assert_eq!(api.items("turns").await.len(), before, "nothing is written for what is refused");
    let page = send(&api, &cookie, &form, "at=1&without=framework&instruction=Where+is+the+bus%3F").await;
    assert_eq!(page.status, StatusCode::SEE_OTHER, "{}", page.text);
    let fork = page.location.strip_prefix("/inspect/p/p1/runs/").unwrap().to_owned();
    let shown = look(&api, &cookie, &page.location).await.text;
    assert!(shown.contains(&format!("/diff?l={turn}&amp;r={fork}")), "{shown}");
    let told = look(&api, &cookie, &format!("/inspect/p/p1/turns/{turn}")).await.text;
    assert!(told.contains("action=\"/inspect/p/p1/turns/") && told.contains("Made anew"), "{told}");
    // This server has no worker that could run the turn again, and says so.
    let replay = look(&api, &cookie, &format!("/inspect/p/p1/turns/{turn}/replay")).await;
    assert!(replay.status == StatusCode::OK && replay.text.contains("no worker"), "{}", replay.text);
    api.get(&format!("/projects/p1/turns/{turn}/replay")).await.expect(409);
    let bytes = look(&api, &cookie, &format!("/inspect/p/p1/calls/{call}/request")).await.text;
    assert!(bytes.contains("the boat"), "{bytes}");
}

async fn in_05_the_lineage_of_boxes_is_drawn(api: Api) {
    let (turn, call, card, context) = run(&api).await;
    let fork = api.post(&format!("/projects/p1/l0/boxes/{context}:fork"), json!({})).await.expect(201);
    let fork = fork["box_id"].as_str().unwrap().to_owned();
    let cookie = sign_in(&api, &api.admin).await;
    let page = look(&api, &cookie, &format!("/inspect/p/p1/boxes/{fork}")).await.text;
    assert!(page.contains("class=\"graph\"") && page.contains(&format!("/boxes/{context}@1")), "{page}");
    let heir = look(&api, &cookie, &format!("/inspect/p/p1/boxes/{context}")).await.text;
    assert!(heir.contains(&format!("/boxes/{fork}@1")), "{heir}");
    let writes = writing(&api, &api.admin).await;
    let made = send(&api, &writes, &format!("/inspect/p/p1/boxes/{context}/fork"), "").await;
    assert_eq!(made.status, StatusCode::SEE_OTHER);
    assert!(look(&api, &writes, &made.location).await.text.contains("the boat"));
    // Why one call and another differ, in words that another agent can read.
    let told = look(&api, &cookie, &format!("/inspect/p/p1/diff.md?l={call}&r={turn}")).await.text;
    assert!(told.contains(&card), "{told}");
}

async fn in_04_a_browser_signs_in_by_a_code_once(api: Api) {
    let code = async || {
        let made = api.post("/inspector/codes", json!({})).await.expect(201);
        assert_eq!(made["expires_in_seconds"], 60);
        made["path"].as_str().unwrap().strip_prefix("/inspect/login#").unwrap().to_owned()
    };
    let first = code().await;
    let page = send(&api, "", "/inspect/login", &format!("code={first}&target=/inspect/p/p1")).await;
    assert_eq!((page.status, page.location.as_str()), (StatusCode::SEE_OTHER, "/inspect/p/p1"));
    assert_eq!(look(&api, &page.cookie, "/inspect/p/p1").await.status, StatusCode::OK);
    let again = send(&api, "", "/inspect/login", &format!("code={first}")).await;
    assert_eq!((again.status, again.cookie.as_str()), (StatusCode::UNAUTHORIZED, ""));
    let late = code().await;
    api.clock.advance(60);
    let late = send(&api, "", "/inspect/login", &format!("code={late}")).await;
    assert!(late.status == StatusCode::UNAUTHORIZED && late.text.contains("cardwire open"), "{}", late.text);
    let wrong = send(&api, "", "/inspect/login", "token=cw_nonsense").await;
    assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    // It leads to pages of the inspector only.
    let code = code().await;
    let page = send(&api, "", "/inspect/login", &format!("code={code}&target=//evil.example")).await;
    assert_eq!(page.location, "/inspect");
    assert!(look(&api, "", "/inspect/login?target=/inspect/p/p1").await.text.contains("Access token"));
    let out = send(&api, &page.cookie, "/inspect/logout", "").await;
    assert_eq!((out.location.as_str(), out.cookie.as_str()), ("/inspect/login", "cardwire_session="));
}

async fn in_04_a_form_from_elsewhere_changes_nothing(api: Api) {
    let turn = api.dispatch("a1").await;
    let cookie = writing(&api, &api.admin).await;
    let path = format!("/inspect/p/p1/turns/{}/stop", turn.id);
    for origin in [None, Some("http://evil.example"), Some("null"), Some("http://127.0.0.1:9")] {
        let page = browse(&api, "POST", &path, &cookie, origin, "").await;
        assert_eq!(page.status, StatusCode::FORBIDDEN, "{origin:?}");
    }
    assert_eq!(api.turn(&turn.id).await["status"], "dispatched");
    let page = send(&api, &cookie, &path, "").await;
    assert_eq!(
        (page.status, page.location),
        (StatusCode::SEE_OTHER, format!("/inspect/p/p1/turns/{}", turn.id))
    );
    assert_eq!(api.turn(&turn.id).await["error_code"], "stopped");
}

async fn in_04_a_session_reads_until_it_is_let_write(api: Api) {
    let leased = api.running("a1").await;
    let ask = json!({
        "content": { "tool_name": "ask_human", "arguments": { "question": "Red or blue?" } }, "tool_call_id": "c1",
        "metadata": { "type": "tool.call" },
    });
    api.verb(&leased, "/cards", ask).await.expect(200);
    let wait = json!({ "waiting_tool_call_ids": ["c1"], "resume_deadline_seconds": 600 });
    api.verb(&leased, ":suspend", wait).await.expect(200);
    let (reads, path) =
        (sign_in(&api, &api.admin).await, format!("/inspect/p/p1/turns/{}/answer", leased.turn));
    assert!(look(&api, &reads, "/inspect/p/p1").await.text.contains("Red or blue?"));
    let page = send(&api, &reads, &path, "call=c1&answer=Red").await;
    assert_eq!(page.status, StatusCode::FORBIDDEN);
    assert_eq!(api.turn(&leased.turn).await["status"], "suspended");
    let cookie = writing(&api, &api.admin).await;
    let page = send(&api, &cookie, &path, "call=c1&answer=Red").await;
    assert_eq!(page.status, StatusCode::SEE_OTHER, "{}", page.text);
    let resumed = api.claim_with(json!({ "start": true })).await;
    assert_eq!(resumed[0].turn, leased.turn);
    let again = send(&api, &cookie, &path, "call=c1&answer=Blue").await;
    assert_eq!(again.status, StatusCode::NOT_FOUND);
    // A token that only reads lets no session write, whatever its cookie says.
    let minted = api.post("/tokens", json!({ "project_id": "p1", "scopes": ["read"] })).await.expect(201);
    let cookie = writing(&api, minted["token"].as_str().unwrap()).await;
    let page = send(&api, &cookie, &format!("/inspect/p/p1/turns/{}/stop", leased.turn), "").await;
    assert_eq!(page.status, StatusCode::FORBIDDEN);
}

async fn in_03_every_answer_has_the_policy(api: Api) {
    let cookie = sign_in(&api, &api.admin).await;
    for (cookie, path) in [
        (cookie.as_str(), "/inspect"),
        (cookie.as_str(), "/inspect/p/p1"),
        (cookie.as_str(), "/inspect/p/nobody"),
        (cookie.as_str(), "/inspect/nonsense"),
        ("", "/inspect/login"),
        ("", "/inspect/p/p1"),
        ("", "/inspect/assets/nonsense.js"),
    ] {
        let page = look(&api, cookie, path).await;
        assert!(
            page.policy.contains("default-src 'none'") && page.policy.contains("trusted-types 'none'"),
            "{path}"
        );
        for inline in ["<style", " style=", "onclick=", "javascript:", "http://", "https://"] {
            assert!(!page.text.contains(inline), "{inline} at {path}: {}", page.text);
        }
    }
    let page = look(&api, &cookie, "/inspect/p/p1").await.text;
    for (kind, start) in [("css", "/inspect/assets/inspector."), ("js", "/inspect/assets/inspector.")] {
        let name = page.split('"').find(|part| part.starts_with(start) && part.ends_with(kind)).unwrap();
        let asset = look(&api, "", name).await;
        assert!(asset.status == StatusCode::OK && !asset.text.is_empty(), "{name}");
        assert!(asset.text.len() < 60_000, "IN-01: {name} has {} bytes", asset.text.len());
    }
}

async fn in_11_what_is_not_there_is_told_and_nothing_runs(api: Api) {
    let cookie = sign_in(&api, &api.admin).await;
    let empty = look(&api, &cookie, "/inspect/p/p1").await.text;
    assert!(empty.contains("cardwire run examples/teams/research.yaml"), "{empty}");
    for (path, status) in [
        (format!("/inspect/p/p1/runs/turn_{NOBODY}"), 404),
        ("/inspect/p/p1/runs/nonsense".to_owned(), 400),
        (format!("/inspect/p/p1/cards/{NOBODY}"), 404),
        (format!("/inspect/p/p1/calls/{NOBODY}"), 404),
        (format!("/inspect/p/p1/boxes/{NOBODY}@0"), 404),
        ("/inspect/p/p1/diff?l=x".to_owned(), 400),
        ("/inspect/p/nobody".to_owned(), 404),
        ("/inspect/p/p1/nonsense".to_owned(), 404),
    ] {
        let page = look(&api, &cookie, &path).await;
        assert_eq!(page.status.as_u16(), status, "{path}: {}", page.text);
        assert!(page.text.contains("<!DOCTYPE html>"), "{path}");
    }
    let hostile = "<script>alert(1)</script>\u{202e}\u{1b}[31m<img src=x onerror=alert(1)>";
    let card = api.card("p1", hostile).await;
    for path in [format!("/inspect/p/p1/cards/{card}"), "/inspect/p/p1/search?q=%3Cscript".to_owned()] {
        let page = look(&api, &cookie, &path).await;
        assert_eq!(page.status, StatusCode::OK);
        assert!(!page.text.contains("<script>alert") && !page.text.contains("<img"), "{}", page.text);
    }
}
