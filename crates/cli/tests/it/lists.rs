//! The filters and pages of lists (API-08, API-13, API-15).

use crate::support::{Home, Server, eventually};
use serde_json::{Value, json};

const NO_TURN: &str = "turn_0192f0c123457abc8def0123456789ab";
const NO_BATCH: &str = "batch_0192f0c123457abc8def0123456789ab";
const LONG_AGO: &str = "2000-01-01T00:00:00Z";
const IN_A_WHILE: &str = "2100-01-01T00:00:00Z";
/// What every list takes.
const TIMES: [[&str; 3]; 2] = [["--since", LONG_AGO, IN_A_WHILE], ["--until", IN_A_WHILE, LONG_AGO]];

/// A turn of `boss` that took a step and forked two others.
struct Stage {
    server: Server,
    turn: String,
    trace: String,
    batch: String,
}

impl Stage {
    fn set() -> Self {
        let server = Server::start(&[]);
        let home = server.home.clone();
        home.ok(&["project", "create", "p1"]);
        home.ok(&["profile", "put", "Helper", "-p", "p1", "--worker-target", "w1", "--system-prompt", "x"]);
        home.ok(&["agent", "add", "boss", "-p", "p1", "--profile", "Helper"]);
        let turn = home.ok(&["turn", "dispatch", "-p", "p1", "--agent", "boss", "--text", "Go."]);
        let lease = eventually("a lease", || {
            let body = json!({ "worker_target": "w1", "worker_id": "test", "wait_ms": 1000, "start": true });
            server.post("/l0/claim", body).json()["leases"].get(0).cloned()
        });
        let said = |path: &str, body: &Value| {
            let path = format!("/projects/p1/{path}");
            let reply =
                server.request_as(lease["turn_token"].as_str().unwrap(), "POST", &path, &body.to_string());
            assert!(reply.status < 300, "{path} {reply:?}");
            reply.json()
        };
        let step = json!({ "turn_epoch": lease["turn_epoch"], "phase": "think", "status": "done" });
        said(&format!("l0/turns/{turn}/steps"), &step);
        let task = json!({ "target_strategy": "new", "target_ref": "Helper", "instruction": "Go." });
        let call =
            json!({ "caller_agent_id": "boss", "agent_turn_id": turn, "args": { "tasks": [task, task] } });
        let forked = said("pmo/fork_join:call", &call);
        let batch = forked["result"]["batch_id"].as_str().unwrap().to_owned();
        let trace = home.json(&["turn", "get", "-p", "p1", &turn])["trace_id"].as_str().unwrap().to_owned();
        Self { server, turn, trace, batch }
    }

    fn home(&self) -> &Home {
        &self.server.home
    }

    /// The entries of a list with these options.
    fn items(&self, list: &[&str], options: &[&str]) -> Vec<Value> {
        self.home().json(&[list, &["-p", "p1"], options].concat())["items"].as_array().unwrap().clone()
    }

    /// Each filter is an option, a value that some entry has, and one that none has.
    fn filtered(&self, list: &[&str], filters: &[[&str; 3]]) {
        assert!(!self.items(list, &[]).is_empty(), "{list:?}");
        for [option, some, none] in [filters, &TIMES].concat() {
            assert!(!self.items(list, &[option, some]).is_empty(), "{list:?} {option} {some}");
            assert!(self.items(list, &[option, none]).is_empty(), "{list:?} {option} {none}");
        }
        self.refused(list, &["--since", "yesterday"], "since");
        self.refused(list, &["--until", "tomorrow"], "until");
        self.refused(list, &["--cursor", "odd"], "cursor");
    }

    /// A value that cannot be is a usage error, which names what the server calls it.
    fn refused(&self, list: &[&str], options: &[&str], name: &str) {
        self.home().cardwire(&[list, &["-p", "p1"], options].concat()).failed(2, name);
    }
}

/// API-08, API-15
#[test]
fn turns_their_steps_and_their_edges_are_filtered() {
    let stage = Stage::set();
    let (turn, trace, batch) = (stage.turn.as_str(), stage.trace.as_str(), stage.batch.as_str());
    let of = [["--agent", "boss", "nobody"], ["--trace", trace, "nothing"]];
    let at = ["--turn", turn, NO_TURN];

    let list = ["turn", "list"];
    let own = [at, ["--correlation", turn, "nothing"], ["--status", "running", "suspended"]];
    stage.filtered(&list, &[&of[..], &own].concat());
    stage.refused(&list, &["--turn", "odd"], "agent_turn_id");
    stage.refused(&list, &["--correlation", ""], "correlation_id");
    stage.refused(&list, &["--status", "odd"], "status");

    let list = ["turn", "steps"];
    let own = [["--phase", "think", "act"], ["--status", "done", "failed"]];
    stage.filtered(&list, &[&of[..], &own].concat());
    assert_eq!(stage.items(&list, &[turn]).len(), 1);
    assert!(stage.items(&list, &[NO_TURN]).is_empty());
    stage.refused(&list, &["odd"], "agent_turn_id");
    stage.refused(&list, &["--phase", ""], "phase");
    let table = stage.home().ok(&["turn", "steps", "-p", "p1"]);
    assert!(table.contains("think") && table.contains(turn), "{table}");

    let list = ["turn", "edges"];
    let own = [
        at,
        ["--correlation", batch, "nothing"],
        ["--primitive", "join", "report"],
        ["--phase", "request", "response"],
    ];
    stage.filtered(&list, &[&of[..], &own].concat());
    stage.refused(&list, &["--primitive", "odd"], "primitive");
    stage.refused(&list, &["--phase", "odd"], "edge_phase");
    let table = stage.home().ok(&["turn", "edges", "-p", "p1", "--primitive", "join"]);
    assert!(table.contains("boss") && table.contains(batch), "{table}");
    assert_eq!(table.lines().count(), 2, "{table}");
}

/// API-08, API-15
#[test]
fn what_agents_do_are_sent_and_are_is_filtered() {
    let stage = Stage::set();
    let (turn, trace) = (stage.turn.as_str(), stage.trace.as_str());
    let of = [["--agent", "boss", "nobody"], ["--trace", trace, "nothing"]];
    let at = ["--turn", turn, NO_TURN];

    let list = ["agent", "states"];
    stage.filtered(&list, &[&of[..], &[at, ["--status", "running", "suspended"]]].concat());
    stage.refused(&list, &["--status", "odd"], "status");
    let table = stage.home().ok(&["agent", "states", "-p", "p1", "--turn", turn]);
    assert!(table.contains("boss") && table.contains("running"), "{table}");

    let list = ["agent", "inbox"];
    let own = [at, ["--correlation", turn, "nothing"], ["--status", "pending", "error"]];
    stage.filtered(&list, &[&of[..], &own].concat());
    stage.refused(&list, &["--agent", "a.b"], "agent_id");
    stage.refused(&list, &["--status", "odd"], "status");
    let table = stage.home().ok(&["agent", "inbox", "-p", "p1", "--agent", "boss"]);
    assert!(table.contains("boss") && table.contains(turn), "{table}");

    let list = ["agent", "edges"];
    stage.filtered(&list, &of);
    stage.refused(&list, &["--trace", ""], "trace_id");
    let table = stage.home().ok(&["agent", "edges", "-p", "p1", "--agent", "boss"]);
    assert!(table.contains("provision") && table.contains("boss"), "{table}");
}

/// API-08, API-13, API-15
#[test]
fn batches_events_and_audit_rows_are_filtered() {
    let stage = Stage::set();
    let (home, turn, trace) = (stage.home(), stage.turn.as_str(), stage.trace.as_str());

    let list = ["batch", "list"];
    let filters = [
        ["--agent", "boss", "nobody"],
        ["--turn", turn, NO_TURN],
        ["--trace", trace, "nothing"],
        ["--status", "running", "timeout"],
    ];
    stage.filtered(&list, &filters);
    stage.refused(&list, &["--turn", "odd"], "agent_turn_id");
    stage.refused(&list, &["--trace", ""], "trace_id");

    let list = ["audit", "list"];
    let rows = stage.items(&list, &["--action", "project.create"]);
    let own = |name: &str| rows[0][name].as_str().unwrap();
    let filters = [
        ["--actor", own("actor"), "nobody"],
        ["--action", "agent.provision", "admin.tick"],
        ["--subject", own("subject"), "nothing"],
        ["--verdict", "allowed", "denied"],
    ];
    stage.filtered(&list, &filters);
    stage.refused(&list, &["--actor", ""], "actor");
    stage.refused(&list, &["--action", "odd"], "action");
    stage.refused(&list, &["--subject", ""], "subject");
    stage.refused(&list, &["--verdict", "odd"], "verdict");

    let tail = ["event", "tail", "-p", "p1", "--json"];
    let of_batch = ["--batch", stage.batch.as_str(), NO_BATCH];
    for [option, some, none] in [["--turn", turn, NO_TURN], ["--trace", trace, "nothing"], of_batch] {
        let told = home.ok(&[&tail[..], &[option, some]].concat());
        assert!(!told.is_empty() && told.lines().all(|line| line.contains(some)), "{option} {told}");
        assert_eq!(home.ok(&[&tail[..], &[option, none]].concat()), "", "{option}");
    }
    home.cardwire(&[&tail[..], &["--batch", "odd"]].concat()).failed(2, "batch_id");
}

/// API-08, API-17: one page after the other comes to the whole list.
#[test]
fn a_list_goes_on_where_a_page_ended() {
    let stage = Stage::set();
    for (list, id) in [
        (["agent", "states"], "agent_id"),
        (["agent", "inbox"], "inbox_id"),
        (["agent", "edges"], "edge_id"),
        (["turn", "edges"], "edge_id"),
    ] {
        let ids = |options: &[&str]| -> Vec<Value> {
            stage.items(&list, options).iter().map(|item| item[id].clone()).collect()
        };
        let all = ids(&[]);
        assert!(all.len() > 2, "{list:?} {all:?}");
        assert_eq!(ids(&["--limit", "2"]), all[..2], "{list:?}");
        let page = stage.home().cardwire(&[&list[..], &["-p", "p1", "--limit", "2"]].concat());
        let (_, cursor) = page.stderr.split_once("go on with `--cursor ").unwrap();
        let (cursor, _) = cursor.split_once('`').unwrap();
        assert_eq!(ids(&["--cursor", cursor]), all[2..], "{list:?}");
    }
}
