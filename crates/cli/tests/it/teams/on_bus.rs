//! Tools that listen on a real NATS: they are told which card calls them, read it over HTTP, and answer with a card.

use super::{
    crew::{calls, crew, says},
    stage::{Process, Stage, on_both_stores, text},
};
use crate::support::{Backend, DEADLINE, Home, Server, eventually, exchange};
use async_nats::RequestErrorKind;
use futures_util::StreamExt;
use serde_json::{Value, json};
use std::{
    sync::{
        atomic::{AtomicU32, Ordering},
        mpsc,
    },
    thread::JoinHandle,
};

fn nats() -> String {
    std::env::var("CARDWIRE_TEST_NATS").expect("CARDWIRE_TEST_NATS; run `cargo xtask test`")
}

/// A target that is nobody else's, because all tests share the server.
fn target() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("tool-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A call as the tool heard it.
#[derive(Debug, Clone)]
struct Heard {
    subject: String,
    traceparent: Option<String>,
    body: Value,
}

/// How a tool answers.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    /// With a report of its own.
    Report,
    /// With a reply that names the card.
    Reply,
    /// With a reply that names a card which is no answer.
    Nonsense,
    /// With a reply that says that it has heard, and a report.
    Later,
}

/// A tool on the bus, with a token of its own, that multiplies. It ends with its value.
struct Tool {
    heard: mpsc::Receiver<Heard>,
    stop: tokio::sync::watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Tool {
    fn start(server: &Server, target: &str, way: Way) -> Self {
        let scopes = ["--scope", "read", "--scope", "operate", "--scope", "work", "--project", "p1"];
        let token = server.home.ok(&[&["token", "create"], &scopes[..]].concat());
        let (address, subject) = (server.address().to_owned(), format!("cg.v1.*.*.cmd.tool.{target}.call"));
        let (tell, heard) = mpsc::channel();
        let (listening, listens) = mpsc::channel();
        let (stop, mut stopped) = tokio::sync::watch::channel(false);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let client = async_nats::connect(nats()).await.unwrap();
                let mut messages = client.queue_subscribe(subject, "tools".to_owned()).await.unwrap();
                // The server has taken the subscription once it answers; a flush only waits for the socket.
                let answer = client.request("nobody.listens.here", "".into()).await;
                assert_eq!(answer.unwrap_err().kind(), RequestErrorKind::NoResponders);
                listening.send(()).unwrap();
                loop {
                    let message = tokio::select! {
                        message = messages.next() => message.unwrap(),
                        _ = stopped.changed() => return,
                    };
                    let call = Heard {
                        subject: message.subject.to_string(),
                        traceparent: message
                            .headers
                            .and_then(|all| Some(all.get("traceparent")?.to_string())),
                        body: serde_json::from_slice(&message.payload).unwrap(),
                    };
                    let desk = Desk { address: &address, token: &token, call: &call.body };
                    if let (Some(to), Some(reply)) = (message.reply, desk.answer(way)) {
                        client.publish(to, reply.to_string().into()).await.unwrap();
                        client.flush().await.unwrap();
                    }
                    let _ = tell.send(call);
                }
            });
        });
        listens.recv_timeout(DEADLINE).unwrap();
        Self { heard, stop, thread: Some(thread) }
    }

    fn heard(&self) -> Heard {
        self.heard.recv_timeout(DEADLINE).unwrap()
    }
}

impl Drop for Tool {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        let _ = self.thread.take().unwrap().join();
    }
}

/// What a tool does with a call: all it knows of it are ids.
struct Desk<'a> {
    address: &'a str,
    token: &'a str,
    call: &'a Value,
}

impl Desk<'_> {
    /// Does the work. Gives what is to be replied, if anything.
    fn answer(&self, way: Way) -> Option<Value> {
        let made =
            self.ask("GET", &format!("/cards/{}", text(&self.call["tool_call_card_id"])), &Value::Null);
        let calls = made["tool_calls"].as_array().unwrap();
        let own = calls.iter().find(|call| call["id"] == self.call["tool_call_id"]).unwrap();
        let number = |name: &str| own["arguments"][name].as_i64().unwrap();
        let card = self.ask(
            "POST",
            "/l0/cards",
            &json!({
                "content": { "status": "success", "result": number("a") * number("b") },
                "metadata": { "type": "tool.result", "role": "tool", "author_id": "multiplier" },
                "tool_call_id": self.call["tool_call_id"],
            }),
        );
        match way {
            Way::Reply => Some(json!({ "tool_result_card_id": card["card_id"] })),
            Way::Nonsense => Some(json!({ "tool_result_card_id": self.call["tool_call_card_id"] })),
            Way::Report => {
                self.report(&card["card_id"]);
                None
            }
            Way::Later => {
                self.report(&card["card_id"]);
                Some(json!({ "status": "accepted" }))
            }
        }
    }

    fn report(&self, card: &Value) {
        let mut report = self.call.clone();
        report
            .as_object_mut()
            .unwrap()
            .retain(|name, _| !["tool_call_card_id", "project_id"].contains(&name.as_str()));
        report["status"] = "success".into();
        report["tool_result_card_id"] = card.clone();
        self.ask("POST", "/l0/reports", &report);
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let request = format!(
            "{method} /projects/p1{path} HTTP/1.0\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            self.token,
            body.len()
        );
        let reply = exchange(self.address, request.as_bytes());
        assert!((200..300).contains(&reply.status), "{method} {path}: {reply:?}");
        reply.json()
    }
}

/// A team of one that has 6 multiplied by 7 by a tool at this target.
fn team(target: &Value) -> Value {
    let rules = json!([calls("a", 1, &[("multiply", json!({ "a": 6, "b": 7 }))]), says("a", "Done.")]);
    let mut team = crew("sequential", &["a"], rules);
    team["tools"] = json!([{ "name": "multiply", "description": "Multiplies.", "target": target }]);
    team["agents"][0]["profile"]["allowed_tools"] = json!(["multiply"]);
    team
}

/// Runs a check with a server that is on the bus, on each store.
fn on_the_bus(check: impl Fn(&Stage, &Server)) {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let home = Home::new(backend);
        let stage = Stage::with_server(home.up_with(&[], &[("CARDWIRE_BUS", &nats())]));
        home.ok(&["project", "create", "p1"]);
        check(&stage, stage.server().unwrap());
    }
}

/// The answer to the one call of a turn of `a`, and the card it is.
fn answer(stage: &Stage) -> (Value, String) {
    let cards = stage.cards(&stage.turns_of("a")[0]);
    let mut results = cards.into_iter().filter(|card| card["type"] == "tool.result");
    let mut card = results.next().unwrap();
    assert!(results.next().is_none(), "a call has one answer");
    (card["content"].take(), text(&card["card_id"]).to_owned())
}

/// PM-19, WK-08, DP-16
#[test]
fn a_tool_on_the_bus_is_told_ids_alone_and_answers_with_a_report() {
    on_the_bus(|stage, server| {
        let target = target();
        let tool = Tool::start(server, &target, Way::Report);
        let ran = stage.run(&team(&json!({ "nats": target })), "Go.", &[]);
        assert_eq!(ran.deliverable(), "Done.");
        assert_eq!(answer(stage).0["result"], 42);
        let heard = tool.heard();
        assert_eq!(heard.subject, format!("cg.v1.p1.public.cmd.tool.{target}.call"));
        let turn = &stage.turns_of("a")[0];
        let trace = heard.traceparent.unwrap();
        assert!(trace.starts_with(&format!("00-{}-", text(&turn["trace_id"]))), "{trace}");
        let cards = stage.cards(turn);
        let called = cards.iter().find(|card| card["tool_calls"].is_array()).unwrap();
        let expected = json!({
            "tool_call_card_id": called["card_id"], "tool_call_id": called["tool_calls"][0]["id"], "project_id": "p1",
            "agent_id": "a", "agent_turn_id": turn["agent_turn_id"], "turn_epoch": turn["turn_epoch"],
        });
        assert_eq!(heard.body, expected);
        let replayed = stage.json(&["turn", "replay", text(&turn["agent_turn_id"])]);
        assert_eq!(replayed["same"], true, "{replayed:#}");
        assert!(tool.heard.try_recv().is_err(), "it was called once");
    });
}

/// WK-08
#[test]
fn a_tool_that_is_asked_for_a_reply_names_the_card_that_is_its_answer() {
    on_the_bus(|stage, server| {
        for (way, after) in [(Way::Reply, "suspend"), (Way::Later, "suspend"), (Way::Reply, "terminate")] {
            let target = target();
            let _tool = Tool::start(server, &target, way);
            let mut team = team(&json!({ "nats": target, "reply": true }));
            team["tools"][0]["after_execution"] = after.into();
            let ran = stage.run(&team, "Go.", &[]);
            assert_eq!(ran.run.code, 0, "{ran:?}");
            let turn = stage.turns_of("a").pop().unwrap();
            let cards = stage.cards(&turn);
            let own = |card: &&Value| card["type"] == "tool.result" && card["author_id"] == "multiplier";
            assert_eq!(cards.iter().filter(own).count(), 1, "the tool's own card is the answer: {cards:#?}");
            let calls = stage.steps(text(&turn["agent_turn_id"])).len();
            assert_eq!(calls, if after == "terminate" { 1 } else { 2 }, "{way:?} {after}");
        }
    });
}

/// WK-08, DP-16
#[test]
fn a_reply_that_names_no_answer_and_a_tool_that_is_not_there_fail_the_call() {
    on_the_bus(|stage, server| {
        let target = target();
        {
            let _tool = Tool::start(server, &target, Way::Nonsense);
            assert_eq!(
                stage.run(&team(&json!({ "nats": target, "reply": true })), "Go.", &[]).deliverable(),
                "Done."
            );
        }
        let (said, _) = answer(stage);
        assert_eq!(said["error"]["code"], "tool_failed");
        assert!(text(&said["error"]["message"]).contains("is no answer"), "{said}");
        let nobody = team(&json!({ "nats": format!("{target}-absent"), "reply": true }));
        assert_eq!(stage.run(&nobody, "Go.", &[]).deliverable(), "Done.");
        let last = stage.turns_of("a").pop().unwrap();
        let said = stage.tool_results(&last).remove(0);
        assert!(text(&said["error"]["message"]).contains("nobody listens"), "{said}");
    });
}

/// NF-07, WD-11: a call that nobody hears is over when its time is.
#[test]
fn a_call_that_is_lost_ends_with_its_deadline_and_the_turn_goes_on() {
    on_the_bus(|stage, server| {
        let lost = team(&json!({ "nats": target(), "wait_seconds": 1 }));
        let ran = std::thread::scope(|scope| {
            let running = scope.spawn(|| stage.run(&lost, "Go.", &[]));
            eventually("the end of the run", || {
                assert_eq!(server.post("/admin/watchdog:tick", json!({})).status, 200);
                running.is_finished().then_some(())
            });
            running.join().unwrap()
        });
        assert_eq!(ran.deliverable(), "Done.");
        assert_eq!(answer(stage).0["status"], "timeout");
    });
}

#[test]
fn a_worker_that_is_not_on_the_bus_says_so() {
    let team = team(&json!({ "nats": target() }));
    on_both_stores(|stage| {
        assert_eq!(stage.run(&team, "Go.", &[]).deliverable(), "Done.");
        assert_eq!(answer(stage).0["error"]["code"], "tool_unsupported");
    });
}

#[test]
fn a_worker_elsewhere_has_a_bus_of_its_own() {
    let home = Home::new(Backend::Sqlite);
    home.ok(&["project", "create", "p1"]);
    let stage = Stage::with_server(home.up(&["--worker-turns", "0"]));
    let server = stage.server().unwrap();
    let mut command = home.command(&["worker", "--name", "w"]);
    command.env("CARDWIRE_BUS", nats());
    let _worker = Process::start(command, &home, "worker.log");
    let target = target();
    let _tool = Tool::start(server, &target, Way::Report);
    assert_eq!(stage.run(&team(&json!({ "nats": target })), "Go.", &[]).deliverable(), "Done.");
    assert_eq!(answer(&stage).0["result"], 42);
}
