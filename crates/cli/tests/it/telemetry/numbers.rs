//! `/metrics` against its documentation, in both directions.

use crate::support::{Backend, Home};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

const DOCUMENT: &str = include_str!("../../../../../docs/telemetry.md");

/// A number: its type and its labels.
type Shape = (String, BTreeSet<String>);

/// OB-06, API-14
#[test]
fn the_document_lists_what_is_offered_and_nothing_else() {
    let home = Home::new(Backend::Sqlite);
    let server = home.up(&[]);
    let at_start: BTreeSet<_> = offered(&server.get("/metrics").body).into_keys().collect();
    let rules = json!([{ "match": {}, "reply": "Done." }]);
    let team = json!({
        "name": "crew", "process": "sequential", "agents": [{ "id": "a", "description": "Does it.", "profile": { "system_prompt": "Do it." } }],
        "model": { "provider": "scripted", "script": { "rules": rules } },
    });
    home.file("team.yaml", team.to_string());
    home.ok(&["run", "team.yaml", "Go.", "--project", "p1"]);
    let body = server.get("/metrics").body;
    assert_eq!(offered(&body), documented(), "left: /metrics, right: docs/telemetry.md");
    let late: Vec<_> = offered(&body).into_keys().filter(|name| !at_start.contains(name)).collect();
    assert!(late.iter().all(|name| LATE.contains(&name.as_str())), "not there from the start: {late:?}");

    let value = |series: &str| {
        let line = body.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {series} in {body}")).parse::<f64>().unwrap()
    };
    // The controller and its member.
    assert_eq!(value("cardwire_turns_enqueued_total"), 2.0);
    assert_eq!(value("cardwire_turns_ended_total{status=\"success\"}"), 2.0);
    assert_eq!(value("cardwire_batches_opened_total"), 1.0);
    assert_eq!(value("cardwire_batches_closed_total{status=\"success\"}"), 1.0);
    assert_eq!(value("cardwire_model_calls_total{provider=\"openai\",outcome=\"answered\"}"), 1.0);
    assert_eq!(value("cardwire_tool_calls_total{outcome=\"done\"}"), 1.0);
    assert!(value("cardwire_model_tokens_total{direction=\"output\"}") > 0.0);
    assert!(value("cardwire_commits_total{outcome=\"applied\"}") > 0.0);
    assert_eq!(value("cardwire_commit_seconds_count"), applied_and_not(&body));
    for (state, count) in [("dispatched", 0.0), ("running", 0.0), ("suspended", 0.0)] {
        assert_eq!(value(&format!("cardwire_turns{{state=\"{state}\"}}")), count);
    }
    assert_eq!((value("cardwire_inbox_queued"), value("cardwire_batches_open")), (0.0, 0.0));
}

/// OB-06: gauges are read from the store, also of what happened before a restart.
#[test]
fn gauges_tell_of_what_waits_also_after_a_restart() {
    let home = Home::new(Backend::Sqlite);
    let server = home.up(&[]);
    assert_eq!(server.post("/projects", json!({ "project_id": "p1" })).status, 201);
    let profile = json!({ "worker_target": "nobody", "system_prompt": "x" }).to_string();
    let profile = server.request("PUT", "/projects/p1/profiles/idle", &profile).json();
    let agent = json!({ "agent_id": "a1", "profile_name": "idle" });
    assert_eq!(server.post("/projects/p1/agents", agent).status, 201);
    let card = home.put_card("x");
    let context = home.ok(&["box", "create", "-p", "p1", &card]);
    for _ in 0..3 {
        let wanted = json!({
            "agent_id": "a1", "profile_box_id": profile["profile_box_id"], "context_box_id": context,
            "queue_if_busy": true,
        });
        let made = server.post("/projects/p1/l0/turns", wanted);
        assert!(matches!(made.status, 201 | 202), "{made:?}");
    }
    server.kill();
    let server = home.up(&[]);
    let body = server.get("/metrics").body;
    assert!(body.contains("cardwire_turns{state=\"dispatched\"} 1\n"), "{body}");
    assert!(body.contains("cardwire_inbox_queued 2\n"), "{body}");
}

/// Numbers whose labels are not known before something happens.
const LATE: [&str; 3] =
    ["cardwire_http_requests_total", "cardwire_http_request_seconds", "cardwire_model_calls_total"];

fn applied_and_not(body: &str) -> f64 {
    let commits = body.lines().filter(|line| line.starts_with("cardwire_commits_total{"));
    commits.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
}

/// What `/metrics` offers.
fn offered(body: &str) -> BTreeMap<String, Shape> {
    let mut offered = BTreeMap::new();
    for line in body.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        offered.insert(name.to_owned(), (kind.to_owned(), BTreeSet::new()));
    }
    for line in body.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (series, _) = line.rsplit_once(' ').unwrap();
        let (name, labels) = series.split_once('{').unwrap_or((series, ""));
        let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
        let name = base.filter(|base| offered.contains_key(*base)).unwrap_or(name);
        let shape = offered.get_mut(name).unwrap_or_else(|| panic!("{name} has no type"));
        let labels = labels.trim_end_matches('}').split(',').filter_map(|label| label.split_once('='));
        shape.1.extend(labels.map(|(label, _)| label.to_owned()).filter(|label| label != "le"));
    }
    offered
}

/// What the document says is offered.
fn documented() -> BTreeMap<String, Shape> {
    let mut documented = BTreeMap::new();
    for line in DOCUMENT.lines().filter(|line| line.starts_with("| `cardwire_")) {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let name = cells[1].trim_matches('`').to_owned();
        let labels = cells[3].split(',').map(|label| label.trim().split(' ').next().unwrap_or_default());
        let labels =
            labels.map(|label| label.trim_matches('`')).filter(|label| !label.is_empty() && *label != "–");
        let shape = (cells[2].to_owned(), labels.map(str::to_owned).collect());
        assert!(documented.insert(name, shape).is_none(), "twice: {line}");
    }
    documented
}
