//! What a patch may do to a record.

use super::*;

fn refused(patch: &Value) -> Option<String> {
    Record::new("s", "g").merge(patch).err().map(|invalid| invalid.field_name().to_owned())
}

/// EX-01
#[test]
fn a_record_is_read_back() {
    let full = Record::new("s", "g")
        .merge(&json!({
            "goal": "h", "outcome": "failure", "summary": "x", "tools": ["t"], "agents": ["a"],
            "duration_ms": 7, "feedback": { "stars": 1 }, "knowledge_refs": [{ "chunk_id": "c", "source_id": "d" }],
        }))
        .unwrap();
    for record in [full, Record::new("s", "g")] {
        assert_eq!(Record::from_value(&record.to_value()), Ok(record));
    }
    for (bad, field) in
        [(json!({}), "session_id"), (json!({ "session_id": 1 }), "session_id"), (json!([]), "body")]
    {
        assert_eq!(Record::from_value(&bad).unwrap_err().field_name(), field);
    }
}

/// EX-01, KN-04
#[test]
fn lists_are_added_and_hold_everything_once() {
    let first = json!({
        "tools": ["a", "b", "a"], "agents": ["x", "x"],
        "knowledge_refs": [{ "chunk_id": "1", "source_id": "d" }, { "chunk_id": "1", "source_id": "e" }],
    });
    let second = json!({
        "tools": ["c", "a"], "agents": ["y"],
        "knowledge_refs": [{ "chunk_id": "2", "source_id": "d" }, { "chunk_id": "1", "source_id": "d" }],
    });
    let record = Record::new("s", "g").merge(&first).and_then(|record| record.merge(&second)).unwrap();
    assert_eq!(record.tools, ["a", "b", "c"]);
    assert_eq!(record.agents, ["x", "y"]);
    let reference = |chunk: &str| KnowledgeRef { chunk_id: chunk.to_owned(), source_id: "d".to_owned() };
    assert_eq!(record.knowledge_refs, [reference("1"), reference("2")]);
    assert_eq!(record.clone().merge(&second), Ok(record));
}

#[test]
fn null_empties_a_member() {
    let full =
        Record::new("s", "g").merge(&json!({ "tools": ["a"], "feedback": "x", "duration_ms": 1 })).unwrap();
    let nulls = json!({
        "goal": null, "outcome": null, "summary": null, "tools": null, "agents": null, "duration_ms": null,
        "feedback": null, "knowledge_refs": null,
    });
    assert_eq!(full.merge(&nulls), Ok(Record::new("s", "")));
}

/// EX-01, SEC-08
#[test]
fn an_unknown_member_or_a_wrong_type_is_refused_by_name() {
    for (patch, field) in [
        (json!("x"), "body"),
        (json!({ "gaol": "x" }), "gaol"),
        (json!({ "session_id": "t" }), "session_id"),
        (json!({ "goal": 1 }), "goal"),
        (json!({ "summary": ["x"] }), "summary"),
        (json!({ "outcome": "great" }), "outcome"),
        (json!({ "outcome": true }), "outcome"),
        (json!({ "duration_ms": -1 }), "duration_ms"),
        (json!({ "duration_ms": 1.5 }), "duration_ms"),
        (json!({ "duration_ms": "1" }), "duration_ms"),
        (json!({ "feedback": 5 }), "feedback"),
        (json!({ "tools": "sql" }), "tools"),
        (json!({ "tools": ["a", " "] }), "tools/1"),
        (json!({ "agents": [1] }), "agents/0"),
        (json!({ "knowledge_refs": ["c"] }), "knowledge_refs/0"),
        (json!({ "knowledge_refs": [{ "chunk_id": "c" }] }), "knowledge_refs/0/source_id"),
        (json!({ "knowledge_refs": [{ "chunk_id": "c", "source_id": "d", "x": 1 }] }), "knowledge_refs/0/x"),
    ] {
        assert_eq!(refused(&patch).as_deref(), Some(field), "{patch}");
    }
    assert_eq!(refused(&json!({ "session_id": "s", "goal": "new" })), None);
}

/// SEC-07
#[test]
fn a_list_has_at_most_1_000_entries() {
    let names = |from: usize, to: usize| (from..to).map(|n| n.to_string()).collect::<Vec<_>>();
    assert_eq!(refused(&json!({ "tools": names(0, 1_000) })), None);
    assert_eq!(refused(&json!({ "tools": names(0, 1_001) })).as_deref(), Some("tools"));
    let mut full = Record::new("s", "g").merge(&json!({ "agents": names(0, 1_000) })).unwrap();
    assert!(full.clone().merge(&json!({ "agents": ["5"] })).is_ok());
    assert!(full.clone().merge(&json!({ "agents": ["one more"] })).is_err());
    // What is noticed along the way fills up to the limit and never fails.
    full.add_agents(names(990, 1_100));
    assert_eq!(full.agents.len(), 1_000);
}
