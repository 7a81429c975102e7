//! `cardwire context` and `cardwire turn call` (CM, CC, RP-01..RP-04, API-15).

use crate::support::{Backend, Home, Run, Server, eventually, everywhere};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::process::{Command, Stdio};

const ID: &str = "0192f0c123457abc8def0123456789ab";

/// CM-02, CM-06, CM-10
#[test]
fn messages_are_composed_from_what_is_given() {
    everywhere(|home| {
        let compose = |body: &Value, args: &[&str]| {
            home.cardwire_with(&[&["context", "compose", "--from", "-"], args].concat(), &body.to_string())
        };
        let body = json!({
            "system_prompt": "You sail.", "query": "Where to?",
            "contexts": { "todo__context": "# Todo Context\n- row", "framework__context": "# Framework Context" },
            "checkpoint_messages": [{ "role": "user", "content": "hi" }, { "role": "assistant", "content": "hello" }],
        });
        let answer: Value = serde_json::from_str(&compose(&body, &["--json"]).ok()).unwrap();
        let messages = answer["messages"].as_array().unwrap();
        let roles: Vec<_> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["system", "system", "system", "human", "ai", "human"]);
        assert_eq!(messages[2]["metadata"]["context_key"], "todo__context");
        let table = compose(&body, &[]);
        assert!(table.stderr.contains("tokens; 0 left out"), "{table:?}");
        let table = table.ok();
        assert!(table.contains("framework__context") && table.contains("# Todo Context - row"), "{table}");
        assert_eq!(table.lines().count(), 7, "{table}");
        home.file("request.yaml", "system_prompt: You sail.\nquery: Where to?\n");
        assert!(home.ok(&["context", "compose", "--from", "request.yaml"]).contains("Where to?"));

        let wrong = |name: &str, value: Value| {
            let mut wrong = body.clone();
            wrong[name] = value;
            compose(&wrong, &[])
        };
        wrong("state", json!({})).failed(2, "state");
        wrong("human_message", json!("And when?")).failed(2, "");
        wrong("contexts", json!({ "todo_context": "x" })).failed(2, "todo_context");
        wrong("contexts", json!({ "todo__context": 7 })).failed(2, "todo__context");
        wrong("checkpoint_messages", json!([{ "role": "system", "content": "x" }]))
            .failed(2, "checkpoint_messages");
    });
}

/// CC-02, CC-05, CC-08, KN-03
#[test]
fn the_blocks_of_a_session_are_collected() {
    everywhere(|home| {
        let patch = json!({ "todo": { "plan": { "op": "add", "goal": "Cross", "items": ["row", "land"] } } });
        home.cardwire_with(&["session", "patch", "-p", "p1", "s1", "--from", "-"], &patch.to_string()).ok();
        let collect = ["context", "collect", "-p", "p1", "s1"];
        let text = home.ok(&collect);
        assert!(text.contains("todo__context:\n# Todo Context\n\n## Team Todo\n- Goal: Cross\n"), "{text}");
        let keys = |args: &[&str]| -> Vec<String> {
            let answer = home.json(&[&collect[..], args].concat());
            answer["contexts"].as_object().unwrap().keys().cloned().collect()
        };
        assert!(keys(&[]).contains(&"todo__context".to_owned()));
        assert_eq!(keys(&["--no-share"]), [""; 0]);
        assert!(!keys(&["--process", "map_reduce_worker"]).contains(&"todo__context".to_owned()));
        assert!(!keys(&["--namespace", "other"]).contains(&"todo__context".to_owned()), "nobody lives there");
        home.cardwire(&[&collect[..], &["--process", "odd"]].concat()).failed(2, "process");
    });
}

/// A started turn of a session, its epoch, and what was asked.
fn started(server: &Server) -> (String, String) {
    let home = &server.home;
    home.ok(&["project", "create", "p1"]);
    let put = [
        "profile",
        "put",
        "Helper",
        "-p",
        "p1",
        "--worker-target",
        "w1",
        "--system-prompt",
        "You know boats.",
    ];
    home.ok(&[&put[..], &["--llm-config", r#"{"model": "gpt-4o"}"#]].concat());
    home.ok(&["agent", "add", "a1", "-p", "p1", "--profile", "Helper"]);
    let said =
        json!([{ "role": "human", "content": "My boat is red." }, { "role": "ai", "content": "Noted." }]);
    let patch = json!({ "messages": { "append": said } }).to_string();
    home.cardwire_with(&["session", "patch", "-p", "p1", "talk", "--from", "-"], &patch).ok();
    let dispatch =
        ["turn", "dispatch", "-p", "p1", "--agent", "a1", "--session", "talk", "--text", "Which colour?"];
    let turn = home.ok(&dispatch);
    let lease = eventually("a lease", || {
        let body = json!({ "worker_target": "w1", "worker_id": "test", "wait_ms": 1000, "start": true });
        server.post("/l0/claim", body).json()["leases"].get(0).cloned()
    });
    assert_eq!(lease["agent_turn_id"], json!(turn));
    (turn, lease["turn_epoch"].to_string())
}

/// Writes a card in a turn.
fn think(server: &Server, turn: &str, epoch: &str, text: &str) -> String {
    let epoch: u64 = epoch.parse().unwrap();
    let body = json!({ "turn_epoch": epoch, "content": text, "metadata": { "type": "agent.thought" } });
    let made = server.post(&format!("/projects/p1/l0/turns/{turn}/cards"), body);
    assert_eq!(made.status, 200, "{made:?}");
    made.json()["card_ids"][0].as_str().unwrap().to_owned()
}

fn sha256(run: &Run) -> String {
    let mut command = Command::new("sha256sum");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let output = Run::of(command, &run.stdout).ok();
    output.split(' ').next().unwrap().to_owned()
}

fn calls_are_explained(backend: Backend) {
    let server = Server::on(backend, &[]);
    let (turn, epoch) = started(&server);
    let home = &server.home;
    let call = ["turn", "call", "-p", "p1", &turn, "--epoch", &epoch];
    let made = home.cardwire(&call);
    assert!(made.stderr.contains("0 of them at the start as in the call before"), "{made:?}");
    let one = made.ok();
    let thought = think(&server, &turn, &epoch, "They said red.");
    home.file("tools.yaml", "- type: function\n  function: {name: look, parameters: {type: object}}\n- type: function\n  function: {name: plan_todo}\n");
    let other = ["--model", "claude-x", "--provider", "anthropic-messages", "--window", "50000"];
    let two = home.json(&[&call[..], &["--tools", "tools.yaml"]].concat());
    let request: Value = serde_json::from_str(two["request"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&request["model"], &request["tools"][0]["function"]["name"]),
        (&json!("gpt-4o"), &json!("look"))
    );
    let two = two["call_id"].as_str().unwrap();
    let three = home.json(&[&call[..], &other].concat());
    assert_eq!((&three["provider"], &three["model"]), (&json!("anthropic-messages"), &json!("claude-x")));

    // RP-02
    let show = ["context", "show", "-p", "p1", two];
    let table = home.ok(&show);
    for word in [
        "system_prompt",
        "checkpoint",
        "memory",
        "query",
        "instruction",
        "own",
        &thought,
        "(holds)",
        "gpt-4o",
    ] {
        assert!(table.contains(word), "no {word} in {table}");
    }
    let shown = home.json(&show);
    assert_eq!((&shown["hash_ok"], &shown["call_id"]), (&json!(true), &json!(two)));
    let contents: Vec<_> =
        shown["messages"].as_array().unwrap().iter().map(|one| one["content"].clone()).collect();
    assert!(
        contents.contains(&json!("My boat is red.")) && contents.contains(&json!("Which colour?")),
        "{contents:?}"
    );
    let rendered = home.cardwire(&[&show[..], &["--render"]].concat());
    assert_eq!(json!(sha256(&rendered)), shown["manifest"]["request_sha256"], "byte for byte");

    // RP-03
    let diff = ["context", "diff", "-p", "p1", &one, two];
    let table = home.ok(&diff);
    let turned = table.lines().find(|line| line.starts_with("turn ")).unwrap();
    assert!(turned.contains('+'), "{table}");
    assert!(table.lines().any(|line| line.starts_with('+') && line.contains(&thought)), "{table}");
    let diff = home.json(&diff);
    assert!(diff["delta"].as_i64().unwrap() > 0, "{diff}");
    let back = home.json(&["context", "diff", "-p", "p1", two, &one]);
    assert_eq!(back["delta"].as_i64().unwrap(), -diff["delta"].as_i64().unwrap());
    let same = home.json(&["context", "diff", "-p", "p1", &turn, three["call_id"].as_str().unwrap()]);
    assert_eq!(same["delta"], 0, "a turn is its last call: {same}");

    // RP-04
    let why = home.ok(&["context", "why", "-p", "p1", two, &thought]);
    assert!(why.starts_with("included in layer turn (own, ") && why.contains("tokens): "), "{why}");
    let why_not = home.ok(&["context", "why-not", "-p", "p1", &one, &thought]);
    assert!(why_not.starts_with("left out (not_visible, would have cost "), "{why_not}");
    assert!(why_not.ends_with("after this call."), "{why_not}");
    assert_eq!(home.json(&["context", "why-not", "-p", "p1", two, &thought])["included"], true);
    let stranger = home.put_card("Nobody was told.");
    let answer = home.json(&["context", "why", "-p", "p1", two, &stranger]);
    assert_eq!((&answer["included"], &answer["reason"]), (&json!(false), &json!("not_granted")));

    let nowhere = "0192f0c123457abc8def0123456789ab";
    for word in ["why", "why-not"] {
        home.cardwire(&["context", word, "-p", "p1", two, nowhere]).failed(3, nowhere);
    }

    what_is_no_call_is_not_found(home, &turn, &epoch);

    // RP-02: what is missing is named.
    home.ok(&["card", "delete", "-p", "p1", &thought]);
    let gone = home.cardwire(&show);
    gone.failed(1, "cannot be rendered again");
    assert!(gone.stderr.contains(&thought) && gone.stdout.contains("(does not hold)"), "{gone:?}");
    let gone = home.cardwire(&[&show[..], &["--render"]].concat());
    assert_eq!((gone.code, gone.stdout.as_str()), (1, ""));
    assert_eq!(
        home.json(&["context", "show", "-p", "p1", &one])["hash_ok"],
        true,
        "the other call has all it needs"
    );
}

fn what_is_no_call_is_not_found(home: &Home, turn: &str, epoch: &str) {
    let unknown = home.cardwire(&["context", "show", "-p", "p1", ID]);
    unknown.failed(3, "call not found");
    assert!(unknown.stderr.contains("hint: "), "{unknown:?}");
    home.cardwire(&["context", "show", "-p", "p1", "nope"]).failed(3, "");
    home.cardwire(&["context", "why", "-p", "p1", ID, ID]).failed(3, "call not found");
    home.cardwire(&["context", "diff", "-p", "p1", ID, ID]).failed(3, "call not found");
    home.cardwire(&["context", "diff", "-p", "p1", turn, "odd"]).failed(2, "right");
    let nobody = format!("turn_{ID}");
    home.cardwire(&["turn", "call", "-p", "p1", &nobody, "--epoch", "1"]).failed(3, "turn not found");
    home.cardwire(&["turn", "call", "-p", "p1", turn, "--epoch", "99"]).failed(4, "");
    home.cardwire(&["turn", "call", "-p", "p1", turn, "--epoch", epoch, "--provider", "odd"])
        .failed(2, "provider");
    home.cardwire(&["turn", "call", "-p", "p1", turn, "--epoch", epoch, "--tools", "absent"])
        .failed(3, "absent");
    let overflow = home.cardwire(&["turn", "call", "-p", "p1", turn, "--epoch", epoch, "--window", "1"]);
    assert_eq!(overflow.code, 2, "{overflow:?}");
    assert!(overflow.stderr.contains("hint: compact the session"), "{overflow:?}");
    for args in
        [&["turn", "call", "-p", "p1", turn][..], &["context", "why", "-p", "p1", ID], &["context", "show"]]
    {
        assert_eq!(home.cardwire(args).code, 2, "{args:?}");
    }
}

#[test]
fn calls_are_shown_compared_and_explained_on_sqlite() {
    calls_are_explained(Backend::Sqlite);
}

#[test]
fn calls_are_shown_compared_and_explained_on_postgres() {
    calls_are_explained(Backend::Postgres);
}

/// RP-02, NF-01: a card that was changed from outside does not go unnoticed, and is not shown.
#[test]
fn a_call_of_a_card_that_was_changed_is_a_failure() {
    let server = Server::start(&[]);
    let (turn, epoch) = started(&server);
    let home = server.home.clone();
    let call = home.ok(&["turn", "call", "-p", "p1", &turn, "--epoch", &epoch]);
    assert_eq!(server.terminate().code(), Some(0));
    // The same from the store alone.
    assert!(home.ok(&["context", "show", "-p", "p1", &call]).contains("(holds)"));
    let change = r#"UPDATE cards SET content = '"My boat is blue."' WHERE content = '"My boat is red."'"#;
    assert_eq!(Connection::open(home.database()).unwrap().execute(change, []).unwrap(), 1);
    let changed = home.cardwire(&["context", "show", "-p", "p1", &call]);
    changed.failed(1, "is not what was written");
    assert!(changed.stderr.contains("cardwire verify") && !changed.stdout.contains("blue"), "{changed:?}");
}

/// OB-05: one constant of the server, in every request.
#[test]
fn the_placement_is_the_servers() {
    let body = json!({
        "system_prompt": "s", "query": "q", "contexts": { "todo__context": "t" },
        "checkpoint_messages": [{ "role": "human", "content": "h" }, { "role": "ai", "content": "a" }],
    })
    .to_string();
    for (args, placement, place) in [(&[][..], "seed", 1), (&["--placement", "cache"], "cache", 3)] {
        let server = Server::start(args);
        let answer = server.home.cardwire_with(&["context", "compose", "--from", "-", "--json"], &body).ok();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["manifest"]["placement"], placement);
        assert_eq!(answer["messages"][place]["content"], "t", "{answer}");
    }
    let home = Home::new(Backend::Sqlite);
    let odd = home.cardwire(&["up", "--placement", "odd"]);
    assert!(odd.code == 2 && odd.stderr.contains("seed, cache"), "{odd:?}");
}
