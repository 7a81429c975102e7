//! Spans of real runs at a strict receiver.

use super::{
    receiver::{Manner, Receiver, Seen},
    tree::{check_turns, named, root},
};
use crate::support::{Backend, Home, Lines, Run, eventually, send_signal};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    process::{Child, Stdio},
};

/// The example whose runs are looked at.
const RESEARCH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/teams/research.yaml");

/// OB-06: one trace from the request to the model and the tool, under the names of the conventions.
#[test]
fn a_run_is_one_trace_from_the_request_to_the_model() {
    let receiver = Receiver::start(Manner::Takes);
    let home = Home::new(Backend::Sqlite);
    let args = ["run", RESEARCH, "Which way?", "--project", "p1", "--json"];
    let mut command = home.command(&args);
    // The variable that all exporters know.
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &receiver.url);
    let told: Value = serde_json::from_str(&Run::of(command, "").ok()).unwrap();
    assert_eq!(told["status"], "success", "{told:#}");
    let trace = told["trace_id"].as_str().unwrap();

    let forest = receiver.spans(&[]);
    let spans = forest.of(trace);
    let root = root(&forest, trace, "");
    assert_eq!(
        (root.name.as_str(), root.kind),
        ("POST /projects/{project_id}/teams/{team_name}:run", "server")
    );
    let turns = turns(&home);
    // The controller, the principal, three searchers and an expert.
    assert_eq!(turns.len(), 6);
    check_turns(&forest, trace, &turns);

    let chats = named(&spans, "chat");
    assert_eq!(chats.len(), 7, "three of the principal and one of each other");
    chats.iter().for_each(|chat| check_chat(chat));
    for chat in &chats {
        assert!(forest.above(chat)[0].name.starts_with("invoke_agent "), "{chat:#?}");
    }
    let tools = named(&spans, "execute_tool");
    let forks = tools.iter().filter(|tool| tool.name == "execute_tool fork_join");
    assert_eq!(forks.count(), 3, "one round of the team, and two forks of the principal");
    for tool in &tools {
        assert_eq!(tool.text("gen_ai.operation.name"), "execute_tool");
        assert_eq!(tool.text("gen_ai.tool.name"), "fork_join");
        assert!(!tool.text("gen_ai.tool.call.id").is_empty());
    }
    for name in
        ["dispatch", "commit", "compose", "pmo.fork_join", "join", "fork", "turn.finish", "turn.suspend"]
    {
        assert!(spans.iter().any(|span| span.name == name), "no `{name}` in the trace");
    }
    for span in &forest.0 {
        let known = |name: &String| ["gen_ai.", "cardwire.", "http."].iter().any(|own| name.starts_with(own));
        let foreign: Vec<_> =
            span.attributes.keys().filter(|name| !known(name) && *name != "error.type").collect();
        assert!(foreign.is_empty(), "{foreign:?} in {span:#?}");
        assert_eq!(span.is_error, span.attributes.contains_key("error.type"), "{span:#?}");
    }
}

#[track_caller]
fn check_chat(chat: &Seen) {
    let names: BTreeSet<_> = chat.attributes.keys().map(String::as_str).collect();
    for name in [
        "gen_ai.operation.name",
        "gen_ai.provider.name",
        "gen_ai.request.model",
        "gen_ai.response.model",
        "gen_ai.response.finish_reasons",
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.output_tokens",
    ] {
        assert!(names.contains(name), "no {name} in {chat:#?}");
    }
    assert_eq!((chat.text("gen_ai.operation.name"), chat.kind), ("chat", "client"));
    assert_eq!(chat.name, format!("chat {}", chat.text("gen_ai.request.model")));
    let reasons = &chat.attributes["gen_ai.response.finish_reasons"];
    assert!(*reasons == json!(["stop"]) || *reasons == json!(["tool_calls"]), "{reasons}");
    assert!(chat.attributes["gen_ai.usage.input_tokens"].as_u64().unwrap() > 0);
}

/// W3C Trace Context: what a caller began goes on in the server, over the network to a worker, and to its models.
#[test]
fn a_trace_goes_on_from_a_caller_through_a_server_to_a_worker() {
    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const CALLER: &str = "00f067aa0ba902b7";
    let receiver = Receiver::start(Manner::Takes);
    let home = Home::new(Backend::Sqlite);
    let server = home.up(&["--worker-turns", "0", "--otlp-endpoint", &receiver.url]);
    let mut worker = Worker::start(&home, &["--otlp-endpoint", &receiver.url]);
    assert_eq!(server.post("/projects", json!({ "project_id": "p1" })).status, 201);
    home.ok(&["team", "put", RESEARCH, "--project", "p1"]);
    let bearer = format!("Bearer {}", server.token);
    let parent = format!("00-{TRACE}-{CALLER}-01");
    let headers = [("authorization", bearer.as_str()), ("traceparent", parent.as_str())];
    let query = json!({ "query": "Which way?" }).to_string();
    let begun = server.request_with("POST", "/projects/p1/teams/research:run", &headers, query.as_bytes());
    assert_eq!(begun.status, 200, "{begun:?}");
    let answered = begun.header("traceparent").unwrap().to_owned();
    let begun = begun.json();
    let path = format!("/projects/p1/turns/{}", begun["agent_turn_id"].as_str().unwrap());
    let ended = eventually("the run to end", || {
        Some(server.get(&path).json()).filter(|turn| !turn["ended_at"].is_null())
    });
    assert_eq!((&ended["status"], &ended["trace_id"]), (&json!("success"), &json!(TRACE)), "{ended:#}");
    let turns = turns(&home);
    worker.end();
    assert_eq!(server.terminate().code(), Some(0));

    let forest = receiver.spans(&[CALLER]);
    let root = root(&forest, TRACE, CALLER);
    assert_eq!(answered, format!("00-{TRACE}-{}-01", root.id), "the answer names the span of the request");
    assert_eq!(root.parent, CALLER);
    check_turns(&forest, TRACE, &turns);
    let spans = forest.of(TRACE);
    let instances =
        |name| named(&spans, name).into_iter().map(|span| &span.instance).collect::<BTreeSet<_>>();
    let (at_server, at_worker) = (instances("enqueue"), instances("chat"));
    assert_eq!((at_server.len(), at_worker.len()), (1, 1));
    assert!(at_server.is_disjoint(&at_worker), "two processes have two names");
}

/// Every turn of the project.
fn turns(home: &Home) -> Vec<Value> {
    let list = home.json(&["turn", "list", "--limit", "500", "--project", "p1"]);
    list["items"].as_array().unwrap().clone()
}

/// A worker, ended with its value.
struct Worker(Child, Lines);

impl Worker {
    fn start(home: &Home, args: &[&str]) -> Self {
        let mut command = home.command(&["worker", "--name", "w"]);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = Lines::of(child.stderr.take().unwrap());
        Self(child, lines)
    }

    /// Asks it to end, and waits for that.
    fn end(&mut self) {
        send_signal(self.0.id(), "TERM");
        self.1.wait_for_end();
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
