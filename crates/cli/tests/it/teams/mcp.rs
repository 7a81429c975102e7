//! Tools of MCP servers: real ones, made with the official SDK, as programs and over HTTP.

use super::{
    crew::{calls, crew, says},
    stage::{MCP_FILE, Process, Stage, alone_with_mcp, on_both_servers, on_both_stores_with_mcp, text},
};
use crate::support::{Backend, Home, Lines, eventually, send_signal};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// Python with the official SDK. The test fails loudly when there is none.
fn python() -> String {
    std::env::var("CARDWIRE_TEST_SDK_PYTHON").expect("set by `cargo xtask services`")
}

fn script(name: &str) -> String {
    format!("{}/tests/it/teams/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The server as a program that notes its starts and calls in a file.
fn program(notes: &Path) -> Value {
    json!({ "py": { "command": python(), "args": [script("mcp_server.py"), "stdio"], "env": { "NOTES": notes } } })
}

/// A file for notes that is nobody else's.
struct Notes {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

impl Notes {
    fn new() -> Self {
        let dir = tempfile::TempDir::new().unwrap();
        Self { path: dir.path().join("notes"), _dir: dir }
    }

    /// What was noted: what happened, and the process it happened in.
    fn read(&self) -> Vec<(String, u32)> {
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        let line =
            |line: &str| line.split_once(' ').map(|(what, pid)| (what.to_owned(), pid.parse().unwrap()));
        text.lines().filter_map(line).collect()
    }

    fn count(&self, what: &str) -> usize {
        self.read().iter().filter(|(noted, _)| noted == what).count()
    }

    /// No process that noted anything is left.
    fn all_gone(&self) {
        let noted = self.read();
        assert!(!noted.is_empty(), "no server was started");
        for (_, pid) in noted {
            eventually(&format!("the end of process {pid}"), || is_gone(pid).then_some(()));
        }
    }
}

/// What has ended and was not taken note of by whoever inherited it is gone, too.
fn is_gone(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
}

/// A team of one that calls these tools, one after the other, and is done.
fn team(allowed: &Value, tools: &[(&str, Value)]) -> Value {
    let mut rules: Vec<_> =
        (1..).zip(tools).map(|(step, tool)| calls("a", step, std::slice::from_ref(tool))).collect();
    rules.push(says("a", "Done."));
    let mut team = crew("sequential", &["a"], json!(rules));
    if !allowed.is_null() {
        team["agents"][0]["profile"]["allowed_tools"] = allowed.clone();
    }
    team
}

/// Runs a team of one that calls these tools, and gives their answers.
fn answers(stage: &Stage, allowed: &Value, tools: &[(&str, Value)]) -> Vec<Value> {
    assert_eq!(stage.run(&team(allowed, tools), "Go.", &[]).deliverable(), "Done.");
    stage.tool_results(&stage.turns_of("a")[0])
}

/// An answer that is a failure: its code and words.
#[track_caller]
fn failure(answer: &Value) -> (&str, &str) {
    assert_eq!(answer["status"], "failed", "{answer}");
    (text(&answer["error"]["code"]), text(&answer["error"]["message"]))
}

/// WK-05
#[test]
fn a_tool_of_a_program_is_called_and_its_answer_is_the_models() {
    let notes = Notes::new();
    on_both_stores_with_mcp(&program(&notes.path), &[], |stage| {
        let got = answers(stage, &json!(["py__add"]), &[("py__add", json!({ "a": 19, "b": 23 }))]);
        assert_eq!((&got[0]["status"], &got[0]["result"]), (&json!("success"), &json!({ "result": 42 })));
        let sent = stage.sent("a");
        assert!(sent[1].said_by("tool").concat().contains("42"), "the model is told: {sent:#?}");
        let offered = stage.offered("a");
        let add = offered.iter().find(|tool| tool["function"]["name"] == "py__add").unwrap();
        assert_eq!(add["function"]["description"], "Adds two numbers.");
        assert_eq!(add["function"]["parameters"]["properties"]["a"]["type"], "integer", "{add:#}");
        let names: Vec<_> = offered.iter().map(|tool| text(&tool["function"]["name"])).collect();
        assert_eq!(names, ["py__add"], "what is not named is not offered");
    });
    assert_eq!(notes.count("add"), 2, "once on each store");
}

/// WK-05: also where a profile names no tools at all, and so may call all that come with a worker.
#[test]
fn a_tool_that_is_not_named_is_refused_and_no_server_is_asked() {
    let notes = Notes::new();
    for allowed in [Value::Null, json!([]), json!(["read_card"])] {
        let stage = Stage::alone_with_mcp(&program(&notes.path), &[]);
        let got = answers(&stage, &allowed, &[("py__add", json!({ "a": 1, "b": 2 }))]);
        assert_eq!(failure(&got[0]).0, "tool_not_allowed", "{allowed}");
        assert_eq!(stage.sent("a")[1].count("tool_not_allowed"), 1, "the model is told");
        let named: Vec<_> =
            stage.offered("a").into_iter().filter(|tool| tool.to_string().contains("py__")).collect();
        assert!(named.is_empty(), "{allowed}: {named:?}");
    }
    assert_eq!(notes.count("add"), 0);
}

/// WK-08
#[test]
fn whatever_goes_wrong_in_a_server_is_an_answer() {
    let notes = Notes::new();
    let stage = Stage::alone_with_mcp(&program(&notes.path), &[]);
    let got = answers(
        &stage,
        &json!(["py__*"]),
        &[
            ("py__fail", json!({})),
            ("py__add", json!({ "a": "many" })),
            ("py__absent", json!({})),
            ("py__long", json!({ "size": 600_000 })),
            ("py__picture", json!({})),
            ("py__echo", json!({ "text": "still here" })),
        ],
    );
    assert_eq!(failure(&got[0]).0, "tool_failed");
    assert!(failure(&got[0]).1.contains("out of paper"), "{}", got[0]);
    assert_eq!(failure(&got[1]).0, "tool_failed");
    assert_eq!(failure(&got[2]).0, "tool_failed");
    assert!(failure(&got[3]).1.contains("more than 524288 bytes"), "{}", got[3]);
    assert_eq!(got[4]["result"], "[image/png, 5 bytes]");
    assert_eq!(got[5]["result"], json!({ "result": "still here" }));
    assert_eq!(notes.count("start"), 1, "one process for all of it: {:?}", notes.read());
}

/// WK-08
#[test]
fn a_server_that_dies_or_says_too_much_fails_the_call_and_serves_the_next() {
    let notes = Notes::new();
    let stage = Stage::alone_with_mcp(&program(&notes.path), &[]);
    let echo = || ("py__echo", json!({ "text": "back again" }));
    let got = answers(
        &stage,
        &json!(["py__*"]),
        &[("py__die", json!({})), echo(), ("py__long", json!({ "size": 5_000_000 })), echo()],
    );
    assert_eq!((failure(&got[0]).0, failure(&got[2]).0), ("tool_failed", "tool_failed"));
    for back in [&got[1], &got[3]] {
        assert_eq!(back["result"], json!({ "result": "back again" }));
    }
    assert_eq!(
        (notes.count("start"), notes.count("die")),
        (3, 1),
        "a call is not repeated: {:?}",
        notes.read()
    );
    notes.all_gone();
}

/// WK-08
#[test]
fn a_tool_that_takes_too_long_is_given_up() {
    let notes = Notes::new();
    let stage = Stage::alone_with_mcp(&program(&notes.path), &[]);
    let mut slow = team(&json!(["py__*"]), &[("py__wait", json!({})), ("py__echo", json!({ "text": "on" }))]);
    slow["limits"] = json!({ "tool_timeout_seconds": 5 });
    assert_eq!(stage.run(&slow, "Go.", &[]).deliverable(), "Done.");
    let got = stage.tool_results(&stage.turns_of("a")[0]);
    assert_eq!(failure(&got[0]), ("tool_timeout", "py__wait did not answer within 5 s"));
    assert_eq!(got[1]["result"], json!({ "result": "on" }), "the server is still there");
    notes.all_gone();
}

/// SEC-08: what the worker knows is not the server's to read.
#[test]
fn a_program_finds_nothing_of_the_workers_environment_but_the_path() {
    let notes = Notes::new();
    let secrets = [("CARDWIRE_KEY_TOOLS", "secret"), ("OPENAI_API_KEY", "secret"), ("HOME", "/root")];
    alone_with_mcp(&program(&notes.path), &secrets, |stage| {
        let got = answers(stage, &json!(["py__surroundings"]), &[("py__surroundings", json!({}))]);
        let given: Vec<_> = got[0]["result"]["result"].as_array().unwrap().iter().map(text).collect();
        let path = format!("PATH={}", std::env::var("PATH").unwrap());
        assert_eq!(given, [format!("NOTES={}", notes.path.display()), path]);
    });
}

/// What a program has started ends with it, however the worker comes to its end.
#[test]
fn no_process_is_left_after_a_run() {
    let notes = Notes::new();
    let command =
        format!("sleep 1000 & echo helper $! >> $NOTES; exec {} {} stdio", python(), script("mcp_server.py"));
    let servers =
        json!({ "py": { "command": "sh", "args": ["-c", command], "env": { "NOTES": notes.path } } });
    let stage = Stage::alone_with_mcp(&servers, &[]);
    answers(&stage, &json!(["py__*"]), &[("py__echo", json!({ "text": "x" }))]);
    assert_eq!((notes.count("helper"), notes.count("echo")), (1, 1));
    for (what, pid) in notes.read() {
        assert!(is_gone(pid), "{what} outlived the command");
    }
}

#[test]
fn a_worker_that_is_stopped_in_the_middle_of_a_call_takes_its_programs_along() {
    for signal in ["TERM", "KILL"] {
        let notes = Notes::new();
        let home = Home::new(Backend::Sqlite);
        home.file("mcp.yaml", json!({ "mcp_servers": program(&notes.path) }).to_string());
        let server = home.up(&["--worker-turns", "0"]);
        let mut worker = Process::start(
            home.command(&["worker", "--name", "w", "--mcp", "mcp.yaml"]),
            &home,
            "worker.log",
        );
        assert_eq!(server.post("/projects", json!({ "project_id": "p1" })).status, 201);
        let team = team(&json!(["py__*"]), &[("py__wait", json!({}))]).to_string();
        assert_eq!(server.request("PUT", "/projects/p1/teams/crew", &team).status, 201);
        assert_eq!(server.post("/projects/p1/teams/crew:run", json!({ "query": "Go." })).status, 200);
        eventually("the call", || (notes.count("wait") == 1).then_some(()));
        send_signal(worker.id(), signal);
        eventually("the end of the worker", || worker.has_ended().then_some(()));
        notes.all_gone();
    }
}

/// PR-10
#[test]
fn a_document_of_the_same_name_has_a_person_agree_first() {
    let notes = Notes::new();
    alone_with_mcp(&program(&notes.path), &[], |stage| {
        let before = notes.count("add");
        let mut team = team(&json!(["py__add"]), &[("py__add", json!({ "a": 1, "b": 2 }))]);
        team["tools"] = json!([{ "name": "py__add", "description": "", "approval": "required" }]);
        stage.run(&team, "Go.", &[]).run.failed(1, "waits for a person");
        assert_eq!(notes.count("add"), before, "nobody has agreed yet");
        let turn = stage.turns_of("a").remove(0);
        stage.home.ok(&["turn", "answer", text(&turn["agent_turn_id"]), "--project", "p1", "--approve"]);
        assert_eq!(stage.resume(&team, &[]).deliverable(), "Done.");
        assert_eq!(notes.count("add"), before + 1);
        let got = stage.tool_results(&turn);
        assert_eq!(got.last().unwrap()["result"], json!({ "result": 3 }), "{got:#?}");
    });
}

/// RP-05, RP-06
#[test]
fn replays_and_forks_take_the_answers_that_are_there() {
    let notes = Notes::new();
    let stage = Stage::alone_with_mcp(&program(&notes.path), &[]);
    answers(&stage, &json!(["py__*"]), &[("py__add", json!({ "a": 1, "b": 2 })), ("py__fail", json!({}))]);
    let turn = stage.turns_of("a").remove(0);
    let id = text(&turn["agent_turn_id"]);
    let replayed = stage.json(&["turn", "replay", id]);
    assert_eq!(replayed["same"], true, "{replayed:#}");
    let forked = stage.json(&["turn", "fork", id, "--at", "1", "--mcp", "mcp.yaml"]);
    assert_eq!(forked["fork"]["status"], "success", "{forked:#}");
    assert_eq!((notes.count("add"), notes.count("fail")), (1, 1), "{:?}", notes.read());
}

/// A server over HTTP, ended with its value.
struct Served {
    child: Child,
    port: String,
}

impl Served {
    fn start(notes: &Path, key: &[&str]) -> Self {
        let mut command = Command::new(python());
        command.arg(script("mcp_server.py")).arg("http").args(key).env("NOTES", notes);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let port = Lines::of(child.stdout.take().unwrap()).next().expect("the port of the server");
        Self { child, port }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// WK-05, WK-08
#[test]
fn a_tool_of_a_server_elsewhere_is_called_with_the_key_that_is_named() {
    let notes = Notes::new();
    let served = Served::start(&notes.path, &["the key"]);
    let servers = json!({
        "web": { "url": served.url(), "key": "web" }, "bare": { "url": served.url() },
        "lost": { "url": served.url(), "key": "absent" }, "gone": { "url": "http://127.0.0.1:1/mcp" },
    });
    alone_with_mcp(&servers, &[("CARDWIRE_KEY_WEB", "the key")], |stage| {
        let got = answers(
            stage,
            &json!(["web__*"]),
            &[
                ("web__add", json!({ "a": 1, "b": 2 })),
                ("web__fail", json!({})),
                ("web__long", json!({ "size": 600_000 })),
                ("web__long", json!({ "size": 5_000_000 })),
                ("web__echo", json!({ "text": "still here" })),
            ],
        );
        assert_eq!(got[0]["result"], json!({ "result": 3 }), "{got:#?}");
        assert!(failure(&got[1]).1.contains("out of paper"), "{}", got[1]);
        assert!(failure(&got[2]).1.contains("more than 524288 bytes"), "{}", got[2]);
        assert_eq!(failure(&got[3]).0, "tool_failed", "{}", got[3]);
        assert_eq!(got[4]["result"], json!({ "result": "still here" }));
        // F-02: one that cannot be asked fails the run.
        for (server, why) in [("bare", ""), ("lost", "there is no key `absent`"), ("gone", "")] {
            let ran = stage.run(&team(&json!([format!("{server}__*")]), &[]), "Go.", &[]);
            ran.failed("agent_failed", &format!("the MCP server `{server}` does not serve"));
            assert!(ran.told.to_string().contains(why), "{ran:?}");
            assert!(!ran.told.to_string().contains("the key"), "keys are told to nobody: {ran:?}");
        }
    });
    assert_eq!(notes.count("add"), 1, "once");
}

/// What a server says of its own list is heard; both ages of the protocol are spoken.
#[test]
fn a_server_of_the_older_protocol_serves_and_its_list_may_change() {
    let servers = json!({ "old": { "command": "python3", "args": [script("mcp_older.py")] } });
    let stage = Stage::alone_with_mcp(&servers, &[]);
    let rules = json!([
        calls("a", 1, &[("old__first", json!({}))]),
        says("a", "Done."),
        calls("b", 1, &[("old__second", json!({}))]),
        says("b", "Done."),
    ]);
    let mut team = crew("sequential", &["a", "b"], rules);
    for agent in 0..2 {
        team["agents"][agent]["profile"]["allowed_tools"] = json!(["old__*"]);
    }
    assert_eq!(stage.run(&team, "Go.", &[]).deliverable(), "Done.");
    let got = stage.tool_results(&stage.turns_of("b")[0]);
    assert_eq!(got[0]["result"], "second was called", "{got:#?}");
    let names = |agent: &str| -> Vec<_> {
        stage.offered(agent).iter().map(|tool| text(&tool["function"]["name"]).to_owned()).collect()
    };
    assert_eq!(
        (names("a"), names("b")),
        (vec!["old__first".to_owned()], vec!["old__first".to_owned(), "old__second".to_owned()])
    );
}

/// Nothing that a project keeps can name a program.
#[test]
fn servers_may_stand_in_the_file_of_a_team_that_is_run_and_are_not_kept() {
    let notes = Notes::new();
    let mut team = team(&json!(["py__echo"]), &[("py__echo", json!({ "text": "x" }))]);
    team["mcp_servers"] = program(&notes.path);
    let home = Home::new(Backend::Sqlite);
    home.file("team.yaml", team.to_string());
    home.ok(&["run", "team.yaml", "Go.", "--project", "p1"]);
    assert_eq!(notes.count("echo"), 1);
    let kept = home.json(&["team", "get", "crew", "--project", "p1"]);
    assert!(!kept.to_string().contains("mcp_server"), "{kept:#}");
    on_both_servers(|_, server| {
        assert_eq!(server.post("/projects", json!({ "project_id": "p1" })).status, 201);
        let put = server.request("PUT", "/projects/p1/teams/crew", &team.to_string());
        assert!(put.status == 400 && put.body.contains("mcp_servers"), "{put:?}");
    });
}

#[test]
fn a_file_that_names_no_servers_is_refused_before_anything_is_done() {
    let home = Home::new(Backend::Sqlite);
    home.file("team.yaml", team(&json!([]), &[]).to_string());
    for (file, words) in [
        ("servers: {}", "must hold `mcp_servers` and nothing else"),
        ("mcp_servers: {}\nmore: 1", "must hold `mcp_servers` and nothing else"),
        ("mcp_servers: {a: {}}", "mcp_servers/a: must have either `command` or `url`"),
        ("mcp_servers: {a__b: {command: x}}", "mcp_servers/a__b: must not hold"),
    ] {
        home.file("mcp.yaml", file);
        for command in [&["run", "team.yaml", "Go."][..], &["up", "--listen", "127.0.0.1:0"]] {
            home.cardwire(&[command, &["--mcp", "mcp.yaml"]].concat()).failed(2, words);
        }
    }
    assert!(!home.data_dir().exists());
    home.file("mcp.yaml", "mcp_servers: {}");
    let _server = home.up(&[]);
    let refused = home.cardwire(&["run", "team.yaml", "Go.", "--mcp", "mcp.yaml"]);
    refused.failed(2, "here a server does");
}

/// OB-06: what a program says of its calls may quote them. That it said something is told, and how much.
#[test]
fn what_a_program_says_on_standard_error_is_not_logged() {
    const CANARY: &str = "canary-77e1d0";
    let (home, notes) = (Home::new(Backend::Sqlite), Notes::new());
    home.file(MCP_FILE, json!({ "mcp_servers": program(&notes.path) }).to_string());
    let server = home.up_with(&["--mcp", MCP_FILE], &[("CARDWIRE_LOG", "cardwire=trace")]);
    let stage = Stage::with_server(server);
    let got = answers(&stage, &json!(["py__echo"]), &[("py__echo", json!({ "text": CANARY }))]);
    assert!(got[0].to_string().contains(CANARY), "{got:#?}");
    let said = format!("bytes={}", format!("asked to say {CANARY}\n").len());
    let server = stage.server().unwrap();
    eventually("word of what the program said", || {
        server.log().lines().any(|line| line.contains("server=\"py\"") && line.contains(&said)).then_some(())
    });
    let log = server.log();
    let lines: Vec<_> = log.lines().filter(|line| line.contains(CANARY)).collect();
    assert!(lines.is_empty(), "the log holds content: {lines:#?}");
}
