//! Content stays where it belongs: in the store, not in spans, logs and numbers.

use super::{
    receiver::{Manner, Receiver},
    tree::named,
};
use crate::support::{Backend, DEADLINE, Home, eventually};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::mpsc,
};

/// Nobody says this by accident.
const CANARY: &str = "canary-5f2c9e";

/// OB-06, SEC-09: at the chattiest level of logs that we have, and also when things go wrong.
#[test]
fn no_span_log_line_or_number_holds_content() {
    let receiver = Receiver::start(Manner::Takes);
    let (url, heads) = tool(&format!(r#"{{"said":"{CANARY}"}}"#));
    let home = Home::new(Backend::Sqlite);
    let arguments = json!({ "place": CANARY });
    let rules = json!([
        { "match": { "agent": "a", "step": 1 }, "reply": CANARY, "tool_calls": [
            { "name": "weather", "arguments": arguments },
            { "name": "weather", "arguments": CANARY },
            { "name": format!("no such tool {CANARY}"), "arguments": arguments },
            { "name": CANARY, "arguments": arguments },
            { "name": "read_card", "arguments": { "card_id": CANARY } },
            { "name": "fork_join", "arguments": { "tasks": [{ "target_ref": CANARY, "instruction": CANARY }] } },
        ] },
        { "match": { "agent": "a" }, "reply": CANARY },
        { "match": { "agent": "b" }, "error": { "kind": "bad_request", "message": CANARY } },
    ]);
    let team = json!({
        "name": "crew", "process": "sequential",
        "agents": [
            { "id": "a", "description": CANARY, "profile": {
                "system_prompt": CANARY, "allowed_tools": ["weather", "read_card", "fork_join"] } },
            { "id": "b", "description": CANARY, "profile": { "system_prompt": CANARY } },
        ],
        "tools": [{ "name": "weather", "description": CANARY, "target": { "url": url } }],
        "model": { "provider": "scripted", "script": { "rules": rules } },
    });
    home.file("team.yaml", team.to_string());
    let server =
        home.up_with(&["--otlp-endpoint", &receiver.url], &[("CARDWIRE_LOG", "debug,cardwire=trace")]);
    let run = home.cardwire(&["run", "team.yaml", CANARY, "--project", "p1", "--json"]);
    let told: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"));
    let trace = told["trace_id"].as_str().unwrap();
    assert_eq!(told["error_code"], "agent_failed", "{told:#}");

    // What a tool elsewhere is told caused its call is the span of that call.
    let head = heads.recv_timeout(DEADLINE).unwrap();
    let parent = head.lines().find_map(|line| line.strip_prefix("traceparent: ")).unwrap().to_owned();
    let metrics = server.get("/metrics").body;
    let log = server.log();
    let home = std::sync::Arc::clone(&server.home);
    assert_eq!(server.terminate().code(), Some(0));
    let forest = receiver.spans(&[]);
    let spans = forest.of(trace);
    let calls = named(&spans, "execute_tool");
    let call = calls.iter().find(|call| parent == format!("00-{trace}-{}-01", call.id)).unwrap();
    assert_eq!(call.name, "execute_tool weather");
    let failed: Vec<_> = calls.iter().filter_map(|call| call.attributes.get("error.type")).collect();
    assert!(failed.len() >= 3, "{failed:?}");
    assert!(calls.iter().any(|call| call.name == "execute_tool unknown"), "{calls:#?}");
    assert!(named(&spans, "chat").iter().any(|chat| chat.is_error), "a model failed");

    // It is where it belongs, so that it could have been elsewhere.
    let stored = eventually("the run to be stored", || std::fs::read(home.database()).ok());
    assert!(holds(&stored, CANARY) || holds(&wal(&home), CANARY), "nothing was written");
    assert!(!holds(&receiver.bytes(), CANARY), "a span holds content");
    let lines: Vec<_> = log.lines().filter(|line| line.contains(CANARY)).collect();
    assert!(lines.is_empty(), "the log holds content: {lines:#?}");
    assert!(!metrics.contains(CANARY), "a number holds content: {metrics}");
    assert!(log.contains(trace), "the log tells of the trace");
}

fn wal(home: &Home) -> Vec<u8> {
    std::fs::read(home.data_dir().join("cardwire.db-wal")).unwrap_or_default()
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// A tool that answers everything the same. Gives its address, and the heads of its requests.
fn tool(answer: &str) -> (String, mpsc::Receiver<String>) {
    let (listener, answer) = (TcpListener::bind("127.0.0.1:0").unwrap(), answer.to_owned());
    let url = format!("http://{}/tool", listener.local_addr().unwrap());
    let (sender, heads) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(&stream);
            let (mut head, mut line) = (String::new(), String::new());
            while reader.read_line(&mut line).unwrap_or(0) > 0 && !line.trim().is_empty() {
                head += &line.to_lowercase();
                line.clear();
            }
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let mut body = vec![0; length.and_then(|text| text.trim().parse().ok()).unwrap_or(0)];
            let _ = reader.read_exact(&mut body);
            let length = answer.len();
            let _ = write!(
                &stream,
                "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{answer}"
            );
            if sender.send(head).is_err() {
                return;
            }
        }
    });
    (url, heads)
}
