//! Collectors that give trouble: nothing but spans is lost.

use super::receiver::{Manner, Receiver};
use crate::support::{Backend, Home, Run};
use serde_json::{Value, json};

/// OB-06: a collector that refuses, hangs or is not there changes nothing of a run, and is told of once.
#[test]
fn a_collector_that_gives_trouble_changes_nothing_of_a_run() {
    let (quiet, well) = ran(None);
    assert_eq!(quiet.code, 0, "{quiet:?}");
    for manner in [Manner::Refuses, Manner::Hangs] {
        let receiver = Receiver::start(manner);
        let (run, told) = ran(Some(&receiver.url));
        assert_eq!((run.code, &told), (0, &well), "{manner:?}: {run:?}");
        assert!(receiver.requests() > 0, "{manner:?}: nobody tried");
        if manner == Manner::Refuses {
            assert!(receiver.requests() > 1, "one run sends more than one batch");
            assert_eq!(run.stderr.matches("cannot be exported").count(), 1, "{}", run.stderr);
        }
    }
    let (run, told) = ran(Some("http://127.0.0.1:1"));
    assert_eq!((run.code, &told), (0, &well), "{run:?}");
    assert_eq!(run.stderr.matches("cannot be exported").count(), 1, "{}", run.stderr);
}

/// SEC-03
#[test]
fn an_address_that_cannot_be_one_is_told_at_once() {
    let home = Home::new(Backend::Sqlite);
    for wrong in ["nonsense", "http://me:hunter2@127.0.0.1:4318"] {
        let run = home.cardwire(&["up", "--listen", "127.0.0.1:0", "--otlp-endpoint", wrong]);
        run.failed(2, "--otlp-endpoint");
        assert!(!run.stderr.contains("hunter2"), "{}", run.stderr);
    }
}

/// A run that takes a few batches, and what it told without what differs from run to run.
fn ran(endpoint: Option<&str>) -> (Run, Value) {
    let home = Home::new(Backend::Sqlite);
    let rules = json!([{ "match": { "agent": "a" }, "delay_ms": 1_500, "reply": "Done." }]);
    let team = json!({
        "name": "crew", "process": "sequential", "agents": [{ "id": "a", "description": "Does it.", "profile": { "system_prompt": "Do it." } }],
        "model": { "provider": "scripted", "script": { "rules": rules } },
    });
    home.file("team.yaml", team.to_string());
    let mut args = vec!["run", "team.yaml", "Go.", "--project", "p1", "--json"];
    args.extend(endpoint.iter().flat_map(|url| ["--otlp-endpoint", url]));
    let run = home.cardwire(&args);
    let told: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"));
    let told =
        json!({ "status": told["status"], "deliverable": told["deliverable"], "usage": told["usage"] });
    (run, told)
}
