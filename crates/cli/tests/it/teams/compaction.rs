//! Requests that are too long for their model (CP-01, CP-06).

use super::{
    crew::crew,
    stage::{Stage, alone, on_both_servers, on_both_stores, text},
};
use serde_json::{Value, json};

fn team(overflows: u32, summary: Value) -> Value {
    crew(
        "sequential",
        &["a"],
        json!([
            { "match": { "role": "summariser" }, "reply": summary },
            { "match": { "contains": "last", "times": overflows }, "error": "context_length" },
            { "reply": "Alpha answers." },
        ]),
    )
}

/// A session with so many runs in it.
fn talk(stage: &Stage, team: &Value) {
    for question in ["one", "two", "three"] {
        stage.run(team, question, &["--session", "s"]).deliverable();
    }
}

/// CP-01, CP-04
#[test]
fn an_overflow_is_summarised_once_and_the_request_made_anew() {
    let team = team(1, json!("SUMMARY"));
    on_both_stores(|stage| {
        talk(stage, &team);
        stage.run(&team, "the last", &["--session", "s"]).deliverable();
        let session = stage.session("s");
        assert_eq!(session["compression__context"], "SUMMARY");
        let people =
            session["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "human");
        assert_eq!(people.count(), 4, "CP-07");
        let sent = stage.sent("a");
        let last = sent.last().unwrap();
        assert_eq!((last.count("SUMMARY"), last.query()), (1, "the last"));
        // The turn that was composed anew comes to the same when it is run again.
        let turn = stage.turns_of("a").pop().unwrap();
        let replay = stage.json(&["turn", "replay", turn["agent_turn_id"].as_str().unwrap()]);
        assert_eq!(replay["same"], true, "{replay:#}");
    });
}

/// CP-01
#[test]
fn a_second_overflow_is_told() {
    let team = team(2, json!("SUMMARY"));
    alone(|stage| {
        talk(stage, &team);
        stage.run(&team, "the last", &["--session", "s"]).failed("agent_failed", "context length");
        assert_eq!(stage.session("s")["compression__context"], "SUMMARY");
    });
}

/// CP-01, OB-02: a session that is longer than the project wants is summarised before the model is asked, once per turn.
#[test]
fn a_long_session_is_summarised_before_it_overflows() {
    let team = team(0, json!("SUMMARY"));
    on_both_servers(|stage, server| {
        assert_eq!(server.post("/projects", json!({ "project_id": "p1" })).status, 201);
        talk(stage, &team);
        assert_eq!(stage.session("s")["compression__context"], Value::Null, "nobody asked for it");
        let settings =
            json!({ "settings": { "context": { "compact_threshold": 1, "min_keep_entries": 1 } } });
        let changed = server.request("PATCH", "/projects/p1", &settings.to_string());
        assert_eq!(changed.status, 200, "{changed:?}");
        stage.run(&team, "the last", &["--session", "s"]).deliverable();
        let session = stage.session("s");
        assert_eq!(session["compression__context"], "SUMMARY");
        let people =
            session["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "human");
        assert_eq!(people.count(), 4, "CP-07");
        let sent = stage.sent("a");
        let last = sent.last().unwrap();
        assert_eq!((last.count("SUMMARY"), last.query()), (1, "the last"));
        let turn = stage.turns_of("a").pop().unwrap();
        let steps = stage.steps(text(&turn["agent_turn_id"]));
        let statuses: Vec<_> = steps.iter().filter_map(|step| step["status"].as_str()).collect();
        assert_eq!(statuses, ["failed", "done", "done"], "composed, summarised, composed anew: {steps:#?}");
        assert_eq!(steps[0]["metadata"]["error"], "compacted");
        // RP-01, OB-04: the call that made the summary has a record and a price, too.
        let summary = &steps[1];
        assert_eq!(summary["phase"], "summary", "{summary:#}");
        assert!(summary["metadata"]["usage"]["input_tokens"].as_u64() > Some(0), "{summary:#}");
        let shown = stage.json(&["context", "show", text(&summary["call_id"])]);
        assert_eq!(shown["hash_ok"], true, "{shown:#}");
        assert!(text(&shown["request"]).contains("# Conversation"), "{shown:#}");
        let replay = stage.json(&["turn", "replay", text(&turn["agent_turn_id"])]);
        assert_eq!(replay["same"], true, "{replay:#}");
    });
}

/// CP-06
#[test]
fn without_a_summary_everything_stays_as_it_was() {
    let team = team(1, json!(" "));
    alone(|stage| {
        talk(stage, &team);
        let before = stage.session("s")["messages"].clone();
        stage.run(&team, "the last", &["--session", "s"]).failed("agent_failed", "context length");
        let session = stage.session("s");
        assert_eq!(session["compression__context"], Value::Null);
        let after = session["messages"].as_array().unwrap();
        assert_eq!(&after[..before.as_array().unwrap().len()], before.as_array().unwrap().as_slice());
    });
}
