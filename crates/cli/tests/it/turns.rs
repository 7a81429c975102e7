//! `cardwire profile`, `agent` and `turn` (API-15, DP, WD-08).

use crate::support::{Backend, Home, Run, Server, eventually};
use serde_json::{Value, json};
use std::{process::Stdio, sync::Arc};

/// A project with one agent.
fn with_agent(home: &Home) -> String {
    home.ok(&["project", "create", "p1"]);
    let put = ["profile", "put", "Helper", "-p", "p1", "--worker-target", "w1", "--system-prompt", "Help."];
    let profile_box = home.ok(&put);
    home.ok(&["agent", "add", "a1", "-p", "p1", "--profile", "Helper"]);
    profile_box
}

/// API-07, API-15
#[test]
fn profiles_are_written_listed_shown_and_deleted() {
    let home = Home::new(Backend::Sqlite);
    let profile_box = with_agent(&home);
    let shown = home.json(&["profile", "get", "-p", "p1", "Helper"]);
    assert_eq!((&shown["system_prompt"], &shown["profile_box_id"]), (&json!("Help."), &json!(profile_box)));
    let put = ["profile", "put", "Filed", "-p", "p1", "--worker-target", "w2", "--file", "-", "--tag", "x"];
    let put = [&put[..], &["--allow-tool", "look", "--llm-config", r#"{"seed":7}"#, "--json"]].concat();
    let made: Value = serde_json::from_str(&home.cardwire_with(&put, "From a\nfile.").ok()).unwrap();
    assert_eq!(made["system_prompt"], "From a\nfile.");
    assert_eq!((&made["tags"], &made["llm_config"]), (&json!(["x"]), &json!({ "seed": 7 })));
    let table = home.ok(&["profile", "list", "-p", "p1"]);
    assert!(table.contains("Filed") && table.contains("From a file.") && table.contains("Help."), "{table}");
    assert_eq!(home.ok(&["profile", "delete", "-p", "p1", "Filed"]), "deleted profile Filed");
    home.cardwire(&["profile", "get", "-p", "p1", "Filed"]).failed(3, "profile not found");
    home.cardwire(&["profile", "put", "-p", "p1", "X", "--worker-target", "a.b", "--system-prompt", "x"])
        .failed(2, "worker_target");
    let run = home.cardwire(&["profile", "put", "-p", "p1", "X", "--worker-target", "w"]);
    assert_eq!(run.code, 2, "{run:?}");
}

/// API-08, API-15
#[test]
fn agents_are_shown_with_what_they_are_doing() {
    let home = Home::new(Backend::Sqlite);
    with_agent(&home);
    home.ok(&[
        "agent",
        "add",
        "a2",
        "-p",
        "p1",
        "--profile",
        "Helper",
        "--display-name",
        "Two",
        "--tag",
        "t",
    ]);
    let turn = home.ok(&["turn", "dispatch", "-p", "p1", "--agent", "a1", "--text", "do it"]);
    let agent = home.json(&["agent", "get", "-p", "p1", "a1"]);
    assert_eq!((&agent["worker_target"], &agent["state"]["status"]), (&json!("w1"), &json!("dispatched")));
    assert_eq!(agent["state"]["active_agent_turn_id"], json!(turn));
    let shown = home.ok(&["agent", "get", "-p", "p1", "a2"]);
    assert!(shown.contains("idle") && shown.contains("Two"), "{shown}");
    let table = home.ok(&["agent", "list", "-p", "p1"]);
    assert!(table.contains("dispatched") && table.contains("idle") && table.contains(&turn), "{table}");
    let list = home.json(&["agent", "list", "-p", "p1", "--limit", "1"]);
    assert_eq!((&list["items"][0]["state"]["queued"], &list["next_cursor"]), (&json!(0), &json!("a1")));
    home.cardwire(&["agent", "get", "-p", "p1", "a9"]).failed(3, "agent not found");
    home.cardwire(&["agent", "add", "a9", "-p", "p1", "--profile", "Nope"]).failed(3, "profile not found");
}

/// DP-09, WK-09, API-15
#[test]
fn turns_are_dispatched_listed_viewed_and_stopped() {
    let home = Home::new(Backend::Sqlite);
    let profile_box = with_agent(&home);
    let card = home.put_card("the task");
    let context = home.ok(&["box", "create", "-p", "p1", &card]);
    let dispatch = ["turn", "dispatch", "-p", "p1", "--agent", "a1"];
    let first =
        home.ok(&[&dispatch[..], &["--context-box", &context, "--profile-box", &profile_box]].concat());
    let waiting = home.cardwire(&[&dispatch[..], &["--text", "and then this"]].concat());
    assert!(waiting.stderr.contains("the turn waits in its inbox"), "{waiting:?}");
    let second = waiting.ok();
    home.cardwire(&[&dispatch[..], &["--context-box", &context, "--no-queue"]].concat())
        .failed(4, "live turn");
    let turns = home.json(&["turn", "list", "-p", "p1"]);
    let ids: Vec<_> = turns["items"].as_array().unwrap().iter().map(|turn| &turn["agent_turn_id"]).collect();
    assert_eq!(ids, [&json!(second), &json!(first)]);
    let queued = home.ok(&["turn", "list", "-p", "p1", "--status", "queued", "--agent", "a1"]);
    assert!(queued.contains(&second) && !queued.contains(&first), "{queued}");
    assert_eq!(home.json(&["turn", "get", "-p", "p1", &first])["context_box_id"], json!(context));
    assert!(home.ok(&["turn", "get", "-p", "p1", &first]).contains("dispatched"));
    let view = home.ok(&["turn", "view", "-p", "p1", &second]);
    assert!(view.contains("and then this") && !view.contains("the task"), "{view}");
    assert_eq!(home.json(&["turn", "view", "-p", "p1", &first])["card_ids"], json!([card]));
    assert_eq!(home.ok(&["turn", "stop", "-p", "p1", &first, "--reason", "no"]), format!("stopped {first}"));
    assert_eq!(home.json(&["turn", "get", "-p", "p1", &first])["error"], "stopped");
    assert_eq!(home.json(&["turn", "get", "-p", "p1", &second])["status"], "dispatched");
    home.cardwire(&["turn", "stop", "-p", "p1", &first]).failed(4, "not live any more");
    let events = home.ok(&["event", "tail", "-p", "p1", "--turn", &first]);
    assert_eq!(events.lines().filter(|line| line.contains("agent.task")).count(), 1, "{events}");
}

/// DP-10, API-15
#[test]
fn the_same_request_under_an_id_of_ones_own_is_the_same_turn_and_makes_no_second_box() {
    let home = Home::new(Backend::Sqlite);
    with_agent(&home);
    let id = "turn_0192f0c123457abc8def0123456789ab";
    let dispatch = ["turn", "dispatch", "-p", "p1", "--agent", "a1", "--id", id, "--text"];
    let said = |text: &str| home.cardwire(&[&dispatch[..], &[text]].concat());
    assert_eq!(said("do it").ok(), id);
    let boxes = || home.ok(&["event", "tail", "-p", "p1"]).matches("box.created").count();
    let before = boxes();
    assert_eq!(said("do it").ok(), id);
    said("do something else").failed(4, "was told something else");
    assert_eq!(boxes(), before);
    assert_eq!(home.json(&["turn", "list", "-p", "p1"])["items"].as_array().unwrap().len(), 1);
}

/// API-15
#[test]
fn what_cannot_be_dispatched_is_said_with_a_hint() {
    let home = Home::new(Backend::Sqlite);
    let profile_box = with_agent(&home);
    let dispatch = ["turn", "dispatch", "-p", "p1", "--agent"];
    home.cardwire(&[&dispatch[..], &["a9", "--text", "x"]].concat()).failed(3, "agent not found: a9");
    let run = home.cardwire(&[&dispatch[..], &["a9", "--text", "x", "--profile-box", &profile_box]].concat());
    run.failed(3, "not in the roster");
    assert!(run.stderr.contains("hint: add the agent with `cardwire agent add"), "{run:?}");
    let run = home.cardwire(&[&dispatch[..], &["a1", "--text", "x", "--output-box", "nope"]].concat());
    run.failed(2, "output_box_id");
    assert!(run.stderr.contains("give it as `--context-box`"), "{run:?}");
    for args in [&["a1"][..], &["a1", "--text", "x", "--context-box", "y"]] {
        let run = home.cardwire(&[&dispatch[..], args].concat());
        assert_eq!(run.code, 2, "{run:?}");
    }
    home.cardwire(&[&dispatch[..], &["a1", "--text", "x", "--wait"]].concat())
        .failed(1, "no server is running");
    assert_eq!(home.json(&["turn", "list", "-p", "p1"])["items"], json!([]));
}

/// What a worker that is not ours does with a turn of `a1`: it starts it, says these things in order, and ends it.
fn ran_elsewhere(server: &Server, said: &[(&str, Value)]) -> String {
    let turn = server.home.ok(&["turn", "dispatch", "-p", "p1", "--agent", "a1", "--text", "what is it?"]);
    let lease = eventually("a lease", || {
        let body = json!({ "worker_target": "w1", "worker_id": "test", "wait_ms": 1000, "start": true });
        server.post("/l0/claim", body).json()["leases"].get(0).cloned()
    });
    for (verb, body) in said {
        let mut body = body.clone();
        body["turn_epoch"] = lease["turn_epoch"].clone();
        let path = format!("/projects/p1/l0/turns/{turn}{verb}");
        let reply =
            server.request_as(lease["turn_token"].as_str().unwrap(), "POST", &path, &body.to_string());
        assert!(reply.status < 300, "{verb} {reply:?}");
    }
    turn
}

/// RP-05: a worker need not say in its cards which turn they are of, nor how its calls ended.
#[test]
fn rp_05_a_turn_that_another_worker_ran_is_replayed_from_what_it_left() {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let server = Server::on(backend, &[]);
        let home = &server.home;
        with_agent(home);
        let composes = || ("/calls", json!({ "model": "m-1" }));
        let thinks = || {
            let calls = json!([{ "id": "c1", "tool_name": "no_such_tool", "arguments": {} }]);
            let card =
                json!({ "content": "hm", "metadata": { "type": "agent.thought" }, "tool_calls": calls });
            ("/cards", json!({ "cards": [card] }))
        };
        let ends = || (":finish", json!({ "status": "success", "deliverable": "D" }));
        let result = json!({ "status": "success", "result": 7, "error": null });
        let answer =
            json!({ "content": result, "metadata": { "type": "tool.result" }, "tool_call_id": "c1" });
        let hears = ("/cards", json!({ "cards": [answer] }));
        let turn = ran_elsewhere(&server, &[composes(), thinks(), hears, composes(), ends()]);
        let replay = home.json(&["turn", "replay", &turn, "-p", "p1"]);
        assert_eq!((&replay["same"], &replay["cards"]), (&json!(true), &json!(2)), "{replay:#}");
        assert_eq!(replay["calls"].as_array().unwrap().len(), 2);
        // Where nobody wrote down what the model said, there is nothing to say about it.
        let plain = ("/cards", json!({ "content": "hm", "metadata": { "type": "agent.thought" } }));
        let stops = (":finish", json!({ "status": "failed", "error": "no idea" }));
        for said in [vec![plain, ends()], vec![ends()], vec![composes(), stops]] {
            let turn = ran_elsewhere(&server, &said);
            let replay = home.cardwire(&["turn", "replay", &turn, "-p", "p1", "--json"]);
            replay.failed(4, "what its model answered is not on record");
            assert_eq!(replay.stdout, "", "neither the same nor something else");
        }
        let turn = home.ok(&["turn", "dispatch", "-p", "p1", "--agent", "a1", "--text", "x"]);
        home.cardwire(&["turn", "replay", &turn, "-p", "p1"]).failed(4, "has not ended");
    }
}

/// Runs `turn dispatch --wait` while somebody works on the turn and ends it.
fn wait_for(server: &Server, args: &[&str], ending: &Value) -> Run {
    let dispatch = ["turn", "dispatch", "-p", "p1", "--agent", "a1", "--text", "what is it?", "--wait"];
    let mut command = server.home.command(&[&dispatch[..], args].concat());
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lease = eventually("a lease", || {
        let body = json!({ "worker_target": "w1", "worker_id": "test", "wait_ms": 1000, "start": true });
        server.post("/l0/claim", body).json()["leases"].get(0).cloned()
    });
    let path = format!("/projects/p1/l0/turns/{}:finish", lease["agent_turn_id"].as_str().unwrap());
    let mut body = ending.clone();
    body["turn_epoch"] = lease["turn_epoch"].clone();
    let token = lease["turn_token"].as_str().unwrap();
    let reply = server.request_as(token, "POST", &path, &body.to_string());
    assert_eq!(reply.status, 200, "{reply:?}");
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn waiting(backend: Backend) {
    let server = Server::on(backend, &[]);
    with_agent(&server.home);
    let run = wait_for(&server, &[], &json!({ "status": "success", "deliverable": "It is 42." }));
    assert_eq!(run.ok(), "It is 42.");
    let run = wait_for(&server, &["--json"], &json!({ "status": "success", "deliverable": { "n": 42 } }));
    let turn: Value = serde_json::from_str(&run.ok()).unwrap();
    assert_eq!((&turn["deliverable"], &turn["status"]), (&json!({ "n": 42 }), &json!("success")));
    let run =
        wait_for(&server, &[], &json!({ "status": "failed", "deliverable": "half", "error": "no idea" }));
    run.failed(1, "the turn ended with status failed: no idea");
    assert_eq!(run.stdout, "half\n");
}

/// WK-06, API-15
#[test]
fn a_dispatch_can_wait_for_the_deliverable_on_sqlite() {
    waiting(Backend::Sqlite);
}

#[test]
fn a_dispatch_can_wait_for_the_deliverable_on_postgres() {
    waiting(Backend::Postgres);
}

/// WD-08, NF-02: the head is lost, the turn is not.
#[test]
fn a_lost_state_is_rebuilt_with_a_higher_epoch() {
    let home = Home::new(Backend::Sqlite);
    with_agent(&home);
    let turn = home.ok(&["turn", "dispatch", "-p", "p1", "--agent", "a1", "--text", "x"]);
    let there = home.json(&["agent", "rebuild", "-p", "p1", "a1"]);
    assert_eq!(there["rebuilt"], false);
    lose_heads(&home);
    let head = home.json(&["agent", "rebuild", "-p", "p1", "a1"]);
    assert_eq!((&head["rebuilt"], &head["status"]), (&json!(true), &json!("dispatched")));
    assert_eq!((&head["turn_epoch"], &head["active_agent_turn_id"]), (&json!(2), &json!(turn)));
    assert_eq!(head["output_box_id"], home.json(&["turn", "get", "-p", "p1", &turn])["output_box_id"]);
    home.ok(&["turn", "stop", "-p", "p1", &turn]);
    // A dispatch rebuilds by itself what it needs.
    lose_heads(&home);
    let next = home.json(&["turn", "dispatch", "-p", "p1", "--agent", "a1", "--text", "y"]);
    assert_eq!(next["turn_epoch"], 4, "3 ended the first turn");
    let said = home.ok(&["agent", "rebuild", "-p", "p1", "a1"]);
    assert_eq!(said, "the state of agent a1 was not lost: it is dispatched at epoch 4");
    home.cardwire(&["agent", "rebuild", "-p", "p1", "a9"]).failed(3, "nothing is known");
}

fn lose_heads(home: &Arc<Home>) {
    let database = rusqlite::Connection::open(home.database()).unwrap();
    assert_eq!(database.execute("DELETE FROM state_agent_state_head", []).unwrap(), 1);
}

/// WD-04: the flags reach the watchdog, which looks by itself.
#[test]
fn the_watchdog_of_a_server_can_be_hurried() {
    let server = Server::start(&[
        "--watchdog-tick-seconds",
        "1",
        "--watchdog-dispatched-timeout-seconds",
        "1",
        "--watchdog-active-reap-seconds",
        "-1",
    ]);
    with_agent(&server.home);
    let turn = server.home.ok(&["turn", "dispatch", "-p", "p1", "--agent", "a1", "--text", "x"]);
    let ended = eventually("the turn is taken away", || {
        let turn = server.get(&format!("/projects/p1/turns/{turn}")).json();
        (turn["status"] != "dispatched").then_some(turn)
    });
    assert_eq!((&ended["status"], &ended["error"]), (&json!("timeout"), &json!("dispatch_timeout")));
}
