//! Where calls of agents may go, and with which keys: a server whose projects belong to others than its operator.

use super::{
    crew::{calls, crew, says},
    stage::{Stage, alone_with, text},
    tools::{Request, tool},
};
use crate::support::{Backend, DEADLINE, Home, Server};
use serde_json::{Value, json};
use std::sync::{Arc, mpsc::Receiver};

const KEY: &str = "hunter2hunter2";
const ANSWER: &str = r#"{"choices":[{"message":{"content":"Hello."},"finish_reason":"stop"}]}"#;

/// A team whose one agent asks a model at this address.
fn at(url: &str, more: Value) -> Value {
    let mut team = crew("sequential", &["a"], json!([]));
    team["model"] = json!({ "provider": "openai", "model": "m", "base_url": url, "retries": 0 });
    team["model"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    team
}

/// A server with project `p1`, and a token that operates in it and nowhere else.
struct Shared {
    server: Server,
    token: String,
}

impl Shared {
    fn up(args: &[&str], variables: &[(&str, &str)]) -> Self {
        let server = Home::new(Backend::Sqlite).up_with(args, variables);
        assert_eq!(server.post("/projects", json!({ "project_id": "p1" })).status, 201);
        let made = server.post("/tokens", json!({ "project_id": "p1", "scopes": ["read", "operate"] }));
        assert_eq!(made.status, 201, "{made:?}");
        let token = text(&made.json()["token"]).to_owned();
        Self { server, token }
    }

    /// Runs the team with the project's token; answers the result of the run.
    fn run(&self, team: &Value) -> Value {
        let ask = |method: &str, path: &str, body: &Value| {
            let reply = self.server.request_as(&self.token, method, path, &body.to_string());
            assert!((200..300).contains(&reply.status), "{reply:?}");
            reply.json()
        };
        ask("PUT", "/projects/p1/teams/crew", team);
        ask("POST", "/projects/p1/teams/crew:run", &json!({ "query": "Go.", "wait_ms": 60_000 }))
    }

    /// The run did not get to a model, for this reason.
    #[track_caller]
    fn refused(&self, team: &Value, words: &str) {
        let ran = self.run(team);
        assert_eq!(ran["status"], "failed", "{ran}");
        assert!(ran.to_string().contains(words) && !ran.to_string().contains(KEY), "{ran}");
        assert!(!self.server.log().contains(KEY), "{}", self.server.log());
    }

    fn stage(self) -> Stage {
        Stage::with_server(self.server)
    }
}

/// F-38, SEC-09: the listener is on this machine, where the server may call; the key is not for it all the same.
#[test]
fn a_project_reads_no_key_by_naming_a_listener_of_its_own() {
    let (url, requests) = tool("200 OK", ANSWER);
    let shared =
        Shared::up(&[], &[("CARDWIRE_KEY_PROD", KEY), ("OPENAI_API_KEY", KEY), ("ANTHROPIC_API_KEY", KEY)]);
    for (model, words) in [
        (json!({ "key": "prod" }), "CARDWIRE_KEY_PROD_HOSTS"),
        (json!({ "key": "openai" }), "CARDWIRE_KEY_OPENAI_HOSTS"),
        (json!({ "key": "anthropic", "provider": "anthropic" }), "CARDWIRE_KEY_ANTHROPIC_HOSTS"),
    ] {
        shared.refused(&at(&url, model), words);
    }
    assert!(requests.try_recv().is_err(), "nothing was sent");
    assert_eq!(shared.run(&at(&url, json!({})))["status"], "success", "without a key it is asked");
    assert!(!without_key(&requests).head.concat().contains(KEY));
}

/// F-38
#[test]
fn a_key_goes_where_the_operator_says_and_for_those_projects() {
    let (url, requests) = tool("200 OK", ANSWER);
    let host = url.split('/').nth(2).unwrap();
    let variables = [
        ("CARDWIRE_KEY_PROD", KEY),
        ("CARDWIRE_KEY_PROD_HOSTS", host),
        ("CARDWIRE_KEY_OTHERS", KEY),
        ("CARDWIRE_KEY_OTHERS_HOSTS", host),
        ("CARDWIRE_KEY_OTHERS_PROJECTS", "p2"),
    ];
    let shared = Shared::up(&[], &variables);
    assert_eq!(shared.run(&at(&url, json!({ "key": "prod" })))["status"], "success");
    let request = requests.recv_timeout(DEADLINE).unwrap();
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    shared.refused(&at(&url, json!({ "key": "others" })), "CARDWIRE_KEY_OTHERS_PROJECTS");
    let (elsewhere, unasked) = tool("200 OK", ANSWER);
    shared.refused(&at(&elsewhere, json!({ "key": "prod" })), "CARDWIRE_KEY_PROD_HOSTS");
    assert!(unasked.try_recv().is_err());
}

/// F-38: what a person runs himself goes where his file says.
#[test]
fn a_file_that_is_run_sends_its_key_where_it_says() {
    let (url, requests) = tool("200 OK", ANSWER);
    alone_with(&[("CARDWIRE_KEY_PROD", KEY)], |stage| {
        assert_eq!(stage.run(&at(&url, json!({ "key": "prod" })), "Go.", &[]).deliverable(), "Hello.");
        let request = requests.recv_timeout(DEADLINE).unwrap();
        assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    });
}

/// F-39: an address, and a name that resolves to it; a server that others reach, and one that is told so.
#[test]
fn a_tool_of_a_project_does_not_reach_into_the_servers_network() {
    let (url, requests) = tool("200 OK", "{}");
    let places =
        [url.clone(), url.replace("127.0.0.1", "localhost"), url.replace("127.0.0.1", "[::ffff:7f00:1]")];
    let names = ["number", "name", "mapped"];
    let rules = json!([calls("a", 1, &names.map(|name| (name, json!({})))), says("a", "Done.")]);
    let mut team = crew("sequential", &["a"], rules);
    let document =
        |(name, url): (&&str, &String)| json!({ "name": name, "description": "", "target": { "url": url } });
    team["tools"] = names.iter().zip(&places).map(document).collect();
    team["agents"][0]["profile"]["allowed_tools"] = json!(names);
    for args in [
        &["--egress-allow", "none"][..],
        &["--egress-allow", "10.0.0.0/8,x.example"],
        &["--allow-host", "x.example"],
    ] {
        let shared = Shared::up(args, &[("CARDWIRE_KEY_TOOLS", KEY)]);
        assert_eq!(shared.run(&team)["status"], "success");
        let stage = shared.stage();
        let results = stage.tool_results(&stage.turns_of("a")[0]);
        assert_eq!(results.len(), 3, "{results:#?}");
        for result in &results {
            assert_eq!(result["error"]["code"], "egress_refused", "{args:?}: {result}");
            assert!(text(&result["error"]["message"]).contains("CARDWIRE_EGRESS_ALLOW"), "{result}");
        }
    }
    assert!(requests.try_recv().is_err(), "nothing was sent");
}

/// F-39: the metadata of a cloud's machines is no part of this machine.
#[test]
fn a_server_that_nobody_else_reaches_opens_this_machine_and_nothing_beside_it() {
    let (url, requests) = tool("200 OK", ANSWER);
    let shared = Shared::up(&[], &[]);
    assert_eq!(shared.run(&at(&url.replace("127.0.0.1", "localhost"), json!({})))["status"], "success");
    requests.recv_timeout(DEADLINE).unwrap();
    for inside in
        ["http://169.254.169.254/latest", "http://10.0.0.1/", "http://192.168.0.1/", "http://[fd00::1]/"]
    {
        shared.refused(&at(inside, json!({})), "CARDWIRE_EGRESS_ALLOW");
    }
}

/// F-39: a worker elsewhere does not know who reaches the server, but for one that lives in its own data directory.
#[test]
fn a_worker_opens_this_machine_only_where_nobody_else_reaches_the_server() {
    for (args, opens) in [(&[][..], true), (&["--allow-host", "x.example"], false)] {
        let (url, requests) = tool("200 OK", ANSWER);
        let shared = Shared::up(&[args, &["--worker-turns", "0"]].concat(), &[]);
        let home = Arc::clone(&shared.server.home);
        let _worker = super::stage::Process::worker(&home, "w");
        let ran = shared.run(&at(&url, json!({})));
        assert_eq!(ran["status"], if opens { "success" } else { "failed" }, "{ran}");
        assert_eq!(requests.try_recv().is_ok(), opens);
    }
}

/// SEC-08, SEC-09
#[test]
fn settings_that_make_no_sense_end_the_start_and_are_not_repeated() {
    let home = Home::new(Backend::Sqlite);
    for (name, value) in
        [("CARDWIRE_KEY_PROD_HOSTS", "https://hunter2"), ("CARDWIRE_KEY_PROD_PROJECTS", "hunter 2")]
    {
        let mut command = home.command(&["up", "--listen", "127.0.0.1:0"]);
        command.env(name, value);
        let run = crate::support::Run::of(command, "");
        run.failed(2, name);
        assert!(!run.stderr.contains("hunter"), "{run:?}");
    }
    home.cardwire(&["up", "--listen", "127.0.0.1:0", "--egress-allow", "10.0.0.0/99"])
        .failed(2, "CARDWIRE_EGRESS_ALLOW");
    assert!(!home.data_dir().exists());
}

/// The one request that came.
fn without_key(requests: &Receiver<Request>) -> Request {
    let request = requests.recv_timeout(DEADLINE).unwrap();
    assert!(requests.try_recv().is_err(), "one request");
    assert_eq!(request.header("authorization"), None);
    request
}
