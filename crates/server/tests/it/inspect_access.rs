//! Who may see and do what below `/inspect`: every page and act for every kind of caller (IN-03, IN-04, IN-05).

use crate::support::{Api, on_both, on_sqlite};
use axum::{
    body::{Body, BodyDataStream},
    http::{Request, StatusCode, header},
};
use futures_util::StreamExt;
use serde_json::json;
use std::time::Duration;
use tower::ServiceExt;

on_both! {
    in_04_every_page_and_act_answers_every_caller_as_it_must;
}

on_sqlite! {
    in_07_a_stream_goes_on_after_the_event_that_was_seen;
}

const HOST: &str = "127.0.0.1";
const ELSEWHERE: &str = "http://evil.example";

/// The places as `inspect.rs` matches them; what is variable is `_`.
const PAGES: [&str; 16] = [
    "",
    "session",
    "p/_",
    "p/_/stream",
    "p/_/runs/_",
    "p/_/turns/_",
    "p/_/calls/_",
    "p/_/diff",
    "p/_/why",
    "p/_/boxes/_",
    "p/_/cards/_",
    "p/_/search",
    "p/_/cost",
    "p/_/agents",
    "p/_/events",
    "p/_/audit",
];
const ACTS: [&str; 4] = ["logout", "session", "p/_/turns/_/stop", "p/_/turns/_/answer"];

/// A place that is added to the inspector and not here fails this.
#[test]
fn in_04_every_place_of_the_inspector_is_in_the_matrix() {
    let source = include_str!("../../src/inspect.rs");
    let places = |from: &str| -> Vec<String> {
        let (_, rest) = source.split_once(from).unwrap();
        let (body, _) = rest.split_once("\n}\n").unwrap();
        let patterns = body.lines().filter_map(|line| line.trim().strip_prefix('[')?.split_once("] =>"));
        let part = |part: &str| {
            if part.starts_with('"') { part.trim_matches('"').to_owned() } else { "_".to_owned() }
        };
        let place = |(pattern, _): (&str, &str)| pattern.split(", ").map(part).collect::<Vec<_>>().join("/");
        patterns.map(|found| if found.0.is_empty() { String::new() } else { place(found) }).collect()
    };
    assert_eq!(places("async fn show("), PAGES);
    assert_eq!(places("async fn act("), ACTS);
}

/// Somebody who asks.
struct Caller {
    name: &'static str,
    cookie: String,
    host: &'static str,
    origin: Option<&'static str>,
    /// What pages answer: those of the project, and the others.
    pages: (u16, u16),
    /// What acts answer: those of the project, and the others.
    acts: (u16, u16),
}

/// What came back: status, and the text where it ends.
async fn ask(api: &Api, caller: &Caller, method: &str, path: &str, form: &str) -> (u16, String, bool) {
    let mut request = Request::builder().method(method).uri(path).header(header::HOST, caller.host);
    if !caller.cookie.is_empty() {
        request = request.header(header::COOKIE, &caller.cookie);
    }
    let own = (method == "POST").then_some("http://127.0.0.1");
    if let Some(origin) = caller.origin.or(own) {
        request = request.header(header::ORIGIN, origin);
    }
    let request = request.body(Body::from(form.to_owned())).unwrap();
    let response = api.router.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    assert!(parts.headers.contains_key(header::CONTENT_SECURITY_POLICY), "IN-03: {path}");
    assert!(!parts.headers.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN), "{path}");
    let sets = parts.headers.get(header::SET_COOKIE).map(|value| value.to_str().unwrap().to_owned());
    let gives = sets.is_some_and(|cookie| !cookie.starts_with("cardwire_session=;"));
    // A stream has no end.
    let ends = !(path.contains("/stream") && parts.status == StatusCode::OK);
    let bytes = if ends { axum::body::to_bytes(body, usize::MAX).await.unwrap().to_vec() } else { vec![] };
    (parts.status.as_u16(), String::from_utf8(bytes).unwrap(), gives)
}

/// A session of this token, which may write as far as the token does.
async fn session(api: &Api, token: &str, writes: bool) -> String {
    let mut cookie = String::new();
    let forms = [("/inspect/login", format!("token={token}")), ("/inspect/session", "write=on".to_owned())];
    for (path, form) in forms.into_iter().take(if writes { 2 } else { 1 }) {
        let request = Request::post(path).header(header::HOST, HOST).header(header::COOKIE, &cookie);
        let request =
            request.header(header::ORIGIN, format!("http://{HOST}")).body(Body::from(form)).unwrap();
        let response = api.page(request).await;
        let set = response.headers[header::SET_COOKIE].to_str().unwrap();
        cookie = set.split(';').next().unwrap().to_owned();
    }
    cookie
}

/// A run with a call, one turn that can be stopped and one that asks: the places of the matrix in it, with the form of each.
async fn stage(api: &Api) -> Vec<(&'static str, String, &'static str)> {
    let card = api.card("p1", "where the boat is").await;
    let context = api.make_box("p1", std::slice::from_ref(&card)).await;
    api.dispatch_with("a1", json!({ "context_box_id": context })).await;
    let leased = api.claim_with(json!({ "start": true })).await.remove(0);
    let call = api.verb(&leased, "/calls", json!({ "model": "m-1" })).await.expect(201);
    let call = call["call_id"].as_str().unwrap();
    let asks = json!({
        "content": { "tool_name": "ask_human", "arguments": { "question": "Where is the boat?" } },
        "tool_call_id": "c1", "metadata": { "type": "tool.call" },
    });
    api.verb(&leased, "/cards", asks).await.expect(200);
    let wait = json!({ "waiting_tool_call_ids": ["c1"], "resume_deadline_seconds": 6_000 });
    api.verb(&leased, ":suspend", wait).await.expect(200);
    let other = api.dispatch("a2").await.id;
    let turn = &leased.turn;
    let place = |pattern: &str| match pattern {
        "" | "session" | "logout" => (format!("/inspect/{pattern}"), ""),
        "p/_/diff" => (format!("/inspect/p/p1/diff?l={call}&r={turn}"), ""),
        "p/_/why" => (format!("/inspect/p/p1/why?call={call}&card={card}"), ""),
        "p/_/calls/_" => (format!("/inspect/p/p1/calls/{call}"), ""),
        "p/_/boxes/_" => (format!("/inspect/p/p1/boxes/{context}"), ""),
        "p/_/cards/_" => (format!("/inspect/p/p1/cards/{card}"), ""),
        "p/_/turns/_/stop" => (format!("/inspect/p/p1/turns/{other}/stop"), ""),
        "p/_/turns/_/answer" => (format!("/inspect/p/p1/turns/{turn}/answer"), "call=c1&answer=Here"),
        pattern => (format!("/inspect/{}", pattern.replace("p/_", "p/p1").replace('_', turn)), ""),
    };
    let with = |pattern: &&'static str| {
        let (path, form) = place(pattern);
        (*pattern, path.trim_end_matches('/').to_owned(), form)
    };
    PAGES.iter().chain(&ACTS).map(with).collect()
}

async fn callers(api: &Api) -> Vec<Caller> {
    let token = async |body| api.post("/tokens", body).await.expect(201);
    let secret = |made: &serde_json::Value| made["token"].as_str().unwrap().to_owned();
    let read = token(json!({ "project_id": "p1", "scopes": ["read"] })).await;
    let operate = token(json!({ "project_id": "p1", "scopes": ["operate"] })).await;
    let other = token(json!({ "project_id": "p2", "scopes": ["operate"] })).await;
    let revoked = token(json!({ "project_id": "p1", "scopes": ["operate"] })).await;
    let expired = token(json!({ "project_id": "p1", "scopes": ["operate"], "expires_in_seconds": 30 })).await;
    let caller = |name, cookie, pages, acts| Caller { name, cookie, host: HOST, origin: None, pages, acts };
    let cookie = session(api, &secret(&operate), true).await;
    let mut callers = vec![
        caller("nobody", String::new(), (303, 303), (401, 401)),
        caller("nobody with a wrong cookie", "cardwire_session=9.w.cw_x".to_owned(), (303, 303), (401, 401)),
        caller("another project", session(api, &secret(&other), true).await, (403, 200), (403, 303)),
        caller("revoked", session(api, &secret(&revoked), true).await, (303, 303), (401, 401)),
        caller("expired", session(api, &secret(&expired), true).await, (303, 303), (401, 401)),
        caller("read", session(api, &secret(&read), true).await, (200, 200), (403, 303)),
        caller("operate, reading only", session(api, &secret(&operate), false).await, (200, 200), (403, 303)),
    ];
    for (name, host, origin) in [
        ("foreign Origin", HOST, Some(ELSEWHERE)),
        ("hidden Origin", HOST, Some("null")),
        ("other port", HOST, Some("http://127.0.0.1:9")),
        ("foreign Host", "evil.example", None),
        ("both foreign", "evil.example", Some(ELSEWHERE)),
    ] {
        // Another port of this machine may read what it has the cookie for: a browser tells nobody the answer.
        let pages = if name == "other port" { (200, 200) } else { (403, 403) };
        callers.push(Caller { name, cookie: cookie.clone(), host, origin, pages, acts: (403, 403) });
    }
    // The one who may comes last: whatever could be done has not been done by then.
    callers.push(caller("operate", cookie, (200, 200), (303, 303)));
    api.delete(&format!("/tokens/{}", revoked["id"].as_str().unwrap())).await.expect(204);
    api.clock.advance(31);
    callers
}

async fn in_04_every_page_and_act_answers_every_caller_as_it_must(api: Api) {
    let places = stage(&api).await;
    let callers = callers(&api).await;
    for caller in &callers {
        for (pattern, path, form) in &places[..PAGES.len()] {
            let of_project = pattern.starts_with("p/");
            let expected = if of_project { caller.pages.0 } else { caller.pages.1 };
            let (status, text, gives) = ask(&api, caller, "GET", path, form).await;
            // A stream is no page that one could sign in on.
            let is_stream = pattern.ends_with("/stream");
            let expected = if is_stream && expected == 303 { 401 } else { expected };
            assert_eq!(status, expected, "{} at {path}: {text}", caller.name);
            assert!(expected == 200 || !text.contains("boat"), "{} at {path}: {text}", caller.name);
            assert!(!gives, "{} at {path}: nobody is signed in by reading", caller.name);
            if is_stream || pattern.is_empty() || *pattern == "session" {
                continue;
            }
            for suffix in [".json", ".md"] {
                let (place, query) = path.split_once('?').unwrap_or((path, ""));
                let twin = format!("{place}{suffix}?{query}");
                let expected = if expected == 303 { 401 } else { expected };
                let (status, text, _) = ask(&api, caller, "GET", &twin, "").await;
                assert_eq!(status, expected, "{} at {twin}: {text}", caller.name);
                assert!(expected == 200 || !text.contains("boat"), "{} at {twin}: {text}", caller.name);
            }
        }
        // Whoever may do it does not do it by reading, nor by a form elsewhere.
        for (_, path, _) in &places[PAGES.len() + 2..] {
            let (status, ..) = ask(&api, caller, "GET", path, "").await;
            assert_ne!(status, 200, "{} reads {path}", caller.name);
            let (status, ..) = ask(&api, caller, "PUT", path, "").await;
            assert!(matches!(status, 403 | 405), "{} puts {path}: {status}", caller.name);
        }
        for (pattern, path, form) in &places[PAGES.len()..] {
            let expected = if pattern.starts_with("p/") { caller.acts.0 } else { caller.acts.1 };
            let (status, text, _) = ask(&api, caller, "POST", path, form).await;
            assert_eq!(status, expected, "{} posts {path}: {text}", caller.name);
        }
        let turns = api.get("/projects/p1/turns").await.expect(200);
        let mut found: Vec<&str> =
            turns["items"].as_array().unwrap().iter().map(|turn| turn["status"].as_str().unwrap()).collect();
        found.sort_unstable();
        let untouched = ["dispatched", "suspended"];
        assert_eq!(found == untouched, caller.name != "operate", "{}: {found:?}", caller.name);
    }
    // Signing in: by whom it may be tried, and what is open to everybody.
    let [nobody, _, _, _, _, _, _, foreign, hidden, port, host, ..] = &callers[..] else { panic!() };
    let form = format!("token={}", api.admin);
    for (caller, expected) in [(nobody, 303), (foreign, 403), (hidden, 403), (port, 403), (host, 403)] {
        let (status, _, gives) = ask(&api, caller, "POST", "/inspect/login", &form).await;
        assert_eq!((status, gives), (expected, expected == 303), "{} signs in", caller.name);
    }
    for (caller, expected) in [(nobody, 200), (foreign, 403), (host, 403)] {
        let (status, ..) = ask(&api, caller, "GET", "/inspect/login", "").await;
        assert_eq!(status, expected, "{} sees the way in", caller.name);
    }
}

/// A stream that is open, as a browser opens it.
async fn open(api: &Api, cookie: &str, query: &str, last_id: Option<&str>) -> BodyDataStream {
    let path = format!("/inspect/p/p1/stream{query}");
    let mut request = Request::get(path).header(header::HOST, HOST).header(header::COOKIE, cookie);
    if let Some(id) = last_id {
        request = request.header("last-event-id", id);
    }
    let response = api.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    response.into_body().into_data_stream()
}

/// How long events may take to come: far more than they need.
const PATIENCE: Duration = Duration::from_secs(20);

/// The positions of the next events, so many of them.
async fn heard(mut stream: BodyDataStream, count: usize) -> Vec<u64> {
    let mut next = async || tokio::time::timeout(PATIENCE, stream.next()).await.expect("events come");
    let mut text = String::new();
    loop {
        let ids = text.lines().filter_map(|line| line.strip_prefix("id:")?.trim().parse().ok());
        let ids: Vec<u64> = ids.collect();
        if ids.len() >= count {
            return ids;
        }
        text.push_str(std::str::from_utf8(&next().await.unwrap().unwrap()).unwrap());
    }
}

async fn in_07_a_stream_goes_on_after_the_event_that_was_seen(api: Api) {
    let cookie = session(&api, &api.admin, false).await;
    let project = "p1".parse().unwrap();
    api.cards("p1", 4).await;
    // Events are numbered after the commit.
    while api.kernel.last_position(&project).await.unwrap() < 5 {
        tokio::task::yield_now().await;
    }
    assert_eq!(heard(open(&api, &cookie, "?after=2", None).await, 3).await, [3, 4, 5]);
    let after_both = open(&api, &cookie, "?after=2", Some("4")).await;
    assert_eq!(heard(after_both, 1).await, [5], "the header goes before");
    let new = open(&api, &cookie, "", None).await;
    api.card("p1", "x").await;
    assert_eq!(heard(new, 1).await, [6], "without either it begins with what is new");
    let page = Request::get("/inspect/p/p1").header(header::HOST, HOST).header(header::COOKIE, &cookie);
    let page = api.page(page.body(Body::empty()).unwrap()).await;
    let text = String::from_utf8(page.bytes).unwrap();
    assert!(text.contains("data-position=\"6\""), "a page says how far the log was: {text}");
}
