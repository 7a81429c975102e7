//! What people are told when something is not as they think: which address, which token, which key, which price.

use crate::{
    support::{Backend, Home, Run, Server, eventually},
    teams::stage::Process,
};
use serde_json::{Value, json};
use std::{net::TcpListener, sync::Arc};

/// A team whose agents answer from a script, and one whose agents ask a model that is not there.
fn team(model: Value) -> String {
    json!({
        "name": "crew", "process": "sequential", "model": model,
        "agents": [{ "id": "a", "profile": { "system_prompt": "You answer." } }],
    })
    .to_string()
}

fn scripted(more: Value) -> Value {
    let mut model = json!({ "provider": "scripted", "script": { "rules": [{ "reply": "Yes." }] } });
    model.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    model
}

fn doctor(home: &Home, args: &[&str], token: &str) -> Run {
    let mut command = home.command(&[&["doctor"], args].concat());
    command.env("CARDWIRE_TOKEN", token);
    Run::of(command, "")
}

/// F-15: a token that is malformed, and one that is another server's.
#[test]
fn f_15_doctor_says_which_token_is_wrong_and_what_to_do() {
    let server = Server::start(&[]);
    let malformed = doctor(&server.home, &[], "hunter2");
    malformed.failed(1, "1 check failed");
    let line =
        |run: &Run| run.stdout.lines().find(|line| line.starts_with("fail  token")).unwrap().to_owned();
    assert!(line(&malformed).contains("`CARDWIRE_TOKEN` does not hold a Cardwire token"), "{malformed:?}");
    assert!(line(&malformed).contains("unset"), "{malformed:?}");
    for home in [server.home.clone(), {
        let home = Home::new(Backend::Sqlite);
        home.ok(&["project", "create", "p1"]);
        home
    }] {
        let unknown = doctor(&home, &[], &format!("cw_{}", "0".repeat(64)));
        unknown.failed(1, "1 check failed");
        assert!(
            line(&unknown).contains("`CARDWIRE_TOKEN`") && line(&unknown).contains("unset it"),
            "{unknown:?}"
        );
    }
}

/// F-15: HTTP and HTTPS are told apart.
#[test]
fn f_15_the_wrong_one_of_http_and_https_is_named() {
    let plain = Server::start(&[]);
    let https = plain.url.replace("http://", "https://");
    for args in [&["project", "list"][..], &["doctor"]] {
        let run = plain.home.cardwire(&[&["--server", &https], args].concat());
        assert_eq!(run.code, 1, "{run:?}");
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains("speaks plain HTTP, without TLS"), "{said}");
        assert!(said.contains(&format!("`--server {}`", plain.url)), "{said}");
    }
}

/// F-15: a directory that cannot be looked into is not one without a store.
#[test]
fn f_15_a_data_directory_that_cannot_be_read_is_told_as_such() {
    let home = Home::new(Backend::Sqlite);
    home.file("file", "");
    // Whoever runs tests may be allowed everything; nobody looks into a file.
    let run = home.cardwire(&["project", "list", "--data-dir", "file/data"]);
    run.failed(1, "cannot look into the data directory `file/data`");
    assert!(!run.stderr.contains("no store"), "{run:?}");
}

/// F-15: what every command takes stands apart from what this one takes.
#[test]
fn f_15_help_shows_the_options_of_a_command_together() {
    let home = Home::new(Backend::Sqlite);
    for args in [&["turn", "list", "--help"][..], &["up", "--help"], &["run", "--help"], &["cost", "--help"]]
    {
        let help = home.ok(args);
        let (own, every) = help.split_once("Options of every command:").unwrap_or_else(|| panic!("{help}"));
        for global in ["--server <URL>", "--data-dir <DIR>", "--json", "--workspace-root <ROOT>"] {
            assert!(every.contains(global) && !own.contains(global), "{global} in {help}");
        }
    }
}

/// F-15: the hint works as it is.
#[test]
fn f_15_a_hint_keeps_where_the_command_went() {
    let home = Home::new(Backend::Sqlite);
    let dir = home.root().join("other data");
    let dir = dir.to_str().unwrap();
    home.ok(&["project", "create", "p1", "--data-dir", dir]);
    let run =
        home.cardwire(&["--data-dir", dir, "batch", "get", "-p", "p1", &format!("batch_{}", "0".repeat(32))]);
    run.failed(3, "batch not found");
    assert!(
        run.stderr.contains(&format!("`cardwire batch list --project p1 --data-dir '{dir}'`")),
        "{run:?}"
    );
}

/// F-13: before anything is spent where it can be known, and with what has to be set, and where.
#[test]
fn f_13_a_missing_key_is_named_with_its_variable() {
    let home = Home::new(Backend::Sqlite);
    let own = |key: &str| json!({ "provider": "openai", "model": "m", "base_url": "http://127.0.0.1:9", "key": key });
    for (model, variables) in [
        (json!({ "provider": "openai", "model": "m" }), "OPENAI_API_KEY or CARDWIRE_KEY_OPENAI"),
        (json!({ "provider": "anthropic", "model": "m" }), "ANTHROPIC_API_KEY or CARDWIRE_KEY_ANTHROPIC"),
        (own("my-gateway"), "CARDWIRE_KEY_MY_GATEWAY"),
    ] {
        home.file("team.yaml", team(model));
        let mut command = home.command(&["run", "team.yaml", "Well?"]);
        command.env_remove("OPENAI_API_KEY").env_remove("ANTHROPIC_API_KEY");
        let run = Run::of(command, "");
        run.failed(1, &format!("set {variables} in the environment of the process that runs the agents"));
        assert!(run.stderr.contains("nothing was started"), "{run:?}");
        home.cardwire(&["turn", "list", "-p", "crew"]).failed(3, "project not found");
    }
}

/// F-13: in the middle of a run on a server that was started without the key. What is said to do works.
#[test]
fn f_13_a_run_that_lacks_a_key_is_asked_again_when_the_server_has_it() {
    let (listener, answers) = openai();
    let model =
        json!({ "provider": "openai", "model": "m", "base_url": listener, "key": "mine", "retries": 0 });
    let home = Home::new(Backend::Sqlite);
    home.file("team.yaml", team(model));
    let server = home.up(&[]);
    let args = ["run", "team.yaml", "Well?", "-p", "p1", "--session", "s1"];
    let run = home.cardwire(&args);
    run.failed(1, "set CARDWIRE_KEY_MINE in the environment of the process that runs the agents");
    let hint = run.stderr.lines().find(|line| line.starts_with("hint: ")).unwrap();
    assert!(hint.contains("`cardwire run team.yaml 'Well?' --session s1 --project p1`"), "{hint}");
    assert_eq!(server.terminate().code(), Some(0));
    let host = listener.trim_start_matches("http://");
    let _server = home.up_with(&[], &[("CARDWIRE_KEY_MINE", "k"), ("CARDWIRE_KEY_MINE_HOSTS", host)]);
    assert!(home.ok(&args).contains("It is red."));
    drop(answers);
}

/// A provider that gives one answer to everybody.
fn openai() -> (String, std::thread::JoinHandle<()>) {
    use std::io::{BufRead, BufReader, Read, Write};
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let body = r#"{"choices":[{"message":{"content":"It is red.","refusal":null},"finish_reason":"stop"}]}"#;
    let serving = std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream);
            let mut length = 0;
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                    break;
                }
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
            }
            let _ = reader.read_exact(&mut vec![0; length]);
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = reader.get_mut().write_all(answer.as_bytes());
        }
    });
    (url, serving)
}

/// F-13: the address, the cause, what to look at.
#[test]
fn f_13_a_model_that_cannot_be_reached_is_named_by_its_address() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/v1?key=hunter2");
    let home = Home::new(Backend::Sqlite);
    home.file(
        "team.yaml",
        team(json!({ "provider": "openai", "model": "m", "base_url": url, "retries": 0 })),
    );
    let run = home.cardwire(&["run", "team.yaml", "Well?"]);
    run.failed(1, &format!("cannot reach http://127.0.0.1:{port}/v1/chat/completions: "));
    assert!(run.stderr.contains("refused") && run.stderr.contains("`base_url`"), "{run:?}");
    assert!(!run.stderr.contains("hunter2"), "{run:?}");
}

/// F-13: unknown is not nothing, in tables and in JSON; a sum says what it leaves out.
#[test]
fn f_13_what_has_no_price_is_not_shown_as_free() {
    let home = Home::new(Backend::Sqlite);
    home.file("team.yaml", team(scripted(json!({}))));
    let run = home.ok(&["run", "team.yaml", "Well?"]);
    assert!(run.contains('—') && !run.contains("$0.000000"), "{run}");
    let told = home.json(&["run", "team.yaml", "Well?"]);
    assert_eq!(
        (&told["usage"]["cost_micros"], &told["usage"]["unpriced_calls"]),
        (&Value::Null, &json!(1)),
        "{told}"
    );
    let cost = home.cardwire(&["cost", "-p", "crew"]);
    assert!(
        !cost.stdout.contains('$') && cost.stderr.contains("2 calls of models whose prices are not known"),
        "{cost:?}"
    );
    for by in ["agent", "turn", "model", "layer", "card"] {
        let cost = home.json(&["cost", "-p", "crew", "--by", by]);
        assert_eq!(
            (&cost["total"]["cost_micros"], &cost["total"]["unpriced_calls"]),
            (&Value::Null, &json!(2)),
            "{cost}"
        );
        assert!(cost["items"].as_array().unwrap().iter().all(|item| item["cost_micros"].is_null()), "{cost}");
    }
    let turn =
        home.json(&["turn", "list", "-p", "crew", "--agent", "a"])["items"][0]["agent_turn_id"].clone();
    let fork = home.ok(&["turn", "fork", turn.as_str().unwrap(), "-p", "crew"]);
    assert!(fork.contains('—') && !fork.contains('$'), "{fork}");
    // One call with a price beside two without.
    home.file("team.yaml", team(scripted(json!({ "prices": { "input": 1_000_000, "output": 0 } }))));
    home.ok(&["run", "team.yaml", "Well?"]);
    let cost = home.ok(&["cost", "-p", "crew", "--by", "agent"]);
    assert!(cost.contains(" + 2 unpriced") && cost.contains('$'), "{cost}");
    let total = home.json(&["cost", "-p", "crew"])["total"].clone();
    assert!(total["cost_micros"].as_u64().unwrap() > 0 && total["unpriced_calls"] == 3, "{total}");
}

/// F-12: a list of questions, all of one, and an answer by its id.
#[test]
fn f_12_questions_are_listed_shown_and_answered_by_id() {
    let home = Home::new(Backend::Sqlite);
    let long = (0..300).map(|word| format!("word{word} ")).collect::<String>();
    let asks = json!({ "rules": [
        { "match": { "step": 1 }, "tool_calls": [{ "name": "publish", "arguments": { "text": long, "to": "everybody" } }] },
        { "match": { "role": "tool", "contains": "\"approved\":false" }, "reply": "It stays here." },
        { "match": { "role": "tool" }, "reply": "It is out." },
    ] });
    let mut asking: Value =
        serde_json::from_str(&team(json!({ "provider": "scripted", "script": asks }))).unwrap();
    asking["tools"] = json!([{ "name": "publish", "description": "Publishes.", "approval": "required" }]);
    asking["agents"][0]["profile"]["allowed_tools"] = json!(["publish"]);
    home.file("team.yaml", asking.to_string());
    for (word, end) in [("--approve", "It is out."), ("--deny", "It stays here.")] {
        let run = home.cardwire(&["run", "team.yaml", "Publish it."]);
        run.failed(1, "waits for a person: a wants to call publish");
        // Whoever approves reads all of it, at once.
        assert!(run.stderr.contains("word299") && run.stderr.contains("\"to\": \"everybody\""), "{run:?}");
        let list = home.ok(&["question", "list", "-p", "crew"]);
        assert_eq!(list.lines().count(), 2, "{list}");
        let asked = home.json(&["question", "list", "-p", "crew"])["items"][0].clone();
        let id = asked["tool_call_id"].as_str().unwrap().to_owned();
        assert!(list.contains(&id) && list.contains("approval"), "{list}");
        let shown = home.ok(&["question", "show", &id, "-p", "crew"]);
        assert!(shown.contains("word0 ") && shown.contains("word299"), "{shown}");
        assert_eq!(home.json(&["question", "show", &id, "-p", "crew"])["arguments"]["to"], "everybody");
        let neither = home.cardwire(&["question", "answer", &id, "-p", "crew"]);
        neither.failed(2, "publish");
        assert!(neither.stderr.contains("hint: add `--approve` or `--deny`"), "{neither:?}");
        home.cardwire(&["question", "answer", "nope", "-p", "crew", word]).failed(3, "no question `nope`");
        home.ok(&["question", "answer", &id, "-p", "crew", word]);
        home.cardwire(&["question", "answer", &id, "-p", "crew", word]).failed(3, "waits for an answer");
        assert!(home.ok(&["run", "team.yaml", "--resume"]).contains(end));
    }
    let none = home.cardwire(&["question", "list", "-p", "crew"]);
    assert!(none.stderr.contains("nothing in project `crew` waits for a person"), "{none:?}");
}

fn with_agent(home: &Home) {
    home.ok(&["project", "create", "p1"]);
    home.ok(&["profile", "put", "h", "-p", "p1", "--worker-target", "w1", "--system-prompt", "Help."]);
    home.ok(&["agent", "add", "a1", "-p", "p1", "--profile", "h"]);
}

/// F-15: what is made for a turn that delivered nothing is for programs.
#[test]
fn f_15_a_turn_that_failed_is_told_in_words() {
    let server = Server::start(&[]);
    with_agent(&server.home);
    let wait = |more: &[&str]| {
        let args = ["turn", "dispatch", "-p", "p1", "--agent", "a1", "--text", "x", "--wait"];
        let home: &Arc<Home> = &server.home;
        let _ = std::fs::remove_file(home.root().join("wait.log"));
        let mut waiting = Process::start(home.command(&[&args[..], more].concat()), home, "wait.log");
        let turn = eventually("the turn", || {
            let list = server.get("/projects/p1/turns?status=dispatched").json();
            Some(list["items"].get(0)?["agent_turn_id"].as_str()?.to_owned())
        });
        home.ok(&["turn", "stop", &turn, "-p", "p1"]);
        assert_eq!(eventually("the end", || waiting.ended()), 1);
        std::fs::read_to_string(home.root().join("wait.log")).unwrap()
    };
    let said = wait(&[]);
    assert!(said.contains("error: the turn ended with status failed: stopped"), "{said}");
    assert!(!said.contains("fallback_deliverable"), "{said}");
    assert!(wait(&["--json"]).contains("fallback_deliverable"), "programs have it");
}

/// F-15: ids of agents that agents made are shown short, with the name of what they are.
#[test]
fn f_15_tables_show_agents_by_name_and_programs_get_whole_ids() {
    let server = Server::start(&[]);
    let home = &server.home;
    with_agent(home);
    let call = json!({
        "caller_agent_id": "a1",
        "args": { "target_strategy": "new", "target_ref": "h", "instruction": "Help me." },
    });
    let reply = server.post("/projects/p1/pmo/delegate_async:call", call);
    assert_eq!(reply.status, 200, "{reply:?}");
    let long = home.json(&["turn", "list", "-p", "p1"])["items"][0]["agent_id"].as_str().unwrap().to_owned();
    assert_eq!(long.len(), 65);
    let short = format!("h…{}", &long[57..]);
    for args in [&["turn", "list"][..], &["turn", "edges"], &["agent", "inbox"], &["agent", "edges"]] {
        let table = home.ok(&[args, &["-p", "p1"]].concat());
        assert!(table.contains(&short) && !table.contains(&long), "{table}");
    }
}
