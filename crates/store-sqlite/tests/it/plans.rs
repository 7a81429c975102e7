//! How SQLite goes about our statements: through the indexes they were written for, and without building tables.

use rusqlite::Connection;
use std::{collections::BTreeMap, path::Path};

/// Every statement by its name, e.g. `read/head`.
fn statements() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql");
    let mut found = BTreeMap::new();
    for kind in ["read", "write", "expect"] {
        for file in std::fs::read_dir(folder.join(kind)).unwrap() {
            let path = file.unwrap().path();
            let name = format!("{kind}/{}", path.file_stem().unwrap().to_string_lossy());
            found.insert(name, std::fs::read_to_string(&path).unwrap());
        }
    }
    assert!(found.len() > 80, "{} statements", found.len());
    found
}

/// One column of what SQLite says of a statement. Parameters are left NULL: plans must not depend on them.
fn explain(conn: &Connection, how: &str, statement: &str, column: &str) -> Vec<String> {
    let mut statement = conn.prepare(&format!("{how} {statement}")).unwrap();
    let mut rows = statement.raw_query();
    let mut lines = vec![];
    while let Some(row) = rows.next().unwrap() {
        lines.push(row.get(column).unwrap());
    }
    lines
}

fn plan(conn: &Connection, statement: &str) -> Vec<String> {
    explain(conn, "EXPLAIN QUERY PLAN", statement, "detail")
}

fn database() -> (Connection, tempfile::TempDir) {
    let (_store, directory) = crate::fresh();
    (crate::connect(&directory), directory)
}

#[test]
fn what_workers_the_watchdog_and_batches_ask_for_is_found_by_indexes_made_for_it() {
    let (conn, _directory) = database();
    let statements = statements();
    for (name, index) in [
        ("read/claimable", "state_agent_inbox_claimable (worker_target=?)"),
        ("read/held", "state_agent_inbox_held (worker_target=? AND worker_id=? AND seq>?)"),
        ("read/due_heads", "state_agent_state_head_busy ((project_id,agent_id)>(?,?))"),
        ("read/due_items", "state_agent_inbox_due ((project_id,inbox_id)>(?,?))"),
        ("read/next_turns", "state_agent_inbox_queued (project_id=? AND agent_id=?)"),
        ("read/writers", "state_agent_inbox_writers (project_id=? AND output_box_id=?)"),
        ("read/open_turns", "state_agent_inbox_writers (project_id=?)"),
        ("read/running_batches", "state_pmo_batches_running ((project_id,batch_id)>(?,?))"),
        (
            "read/pending_branches",
            "state_pmo_batch_tasks_by_status (project_id=? AND batch_id=? AND status=?)",
        ),
        ("read/unleased_branches", "state_pmo_batch_tasks_unleased (project_id=? AND batch_id=?)"),
        (
            "read/open_children",
            "state_agent_inbox_children (project_id=? AND parent_agent_turn_id=? AND agent_turn_id>?)",
        ),
        ("expect/output_free", "state_agent_inbox_writers (project_id=? AND output_box_id=?)"),
        ("expect/chain_at", "audit_by_position (project_id=? AND position>?)"),
        ("read/chain_head", "audit_by_position (project_id=? AND position>?)"),
        ("read/unsealed_audit", "audit_unsealed (project_id=?)"),
        ("read/unsealed_realms", "audit_unsealed"),
    ] {
        let plan = plan(&conn, &statements[name]);
        assert!(plan.iter().any(|line| line.contains(index)), "{name}: {plan:#?}");
        // In the order of the index: a sort would read everything first.
        assert!(!plan.iter().any(|line| line.contains("TEMP B-TREE")), "{name}: {plan:#?}");
    }
}

/// A page is read where it is, however much there is before and after it.
#[test]
fn lists_go_along_indexes() {
    let (conn, _directory) = database();
    let statements = statements();
    for (name, index) in [
        ("read/inbox", "state_agent_inbox_by_id (project_id=? AND inbox_id<?)"),
        ("read/inbox_with_workers", "state_agent_inbox_due (project_id=? AND inbox_id<?)"),
        ("read/inbox_of_agent", "state_agent_inbox_by_agent (project_id=? AND agent_id=? AND inbox_id<?)"),
        ("read/steps", "state_agent_steps_by_time (project_id=? AND (created_at,step_id)<(?,?))"),
        ("read/edges", "SEARCH state_execution_edges USING PRIMARY KEY (project_id=? AND edge_id<?)"),
    ] {
        let plan = plan(&conn, &statements[name]);
        assert!(plan.iter().any(|line| line.contains(index)), "{name}: {plan:#?}");
        assert!(!plan.iter().any(|line| line.contains("TEMP B-TREE")), "{name}: {plan:#?}");
    }
}

/// However many branches a batch has, what is asked of all of them at once is in one index, by status.
#[test]
fn how_a_batch_stands_is_told_without_reading_its_branches() {
    let (conn, _directory) = database();
    let plan = plan(&conn, &statements()["read/standing"]);
    let searches: Vec<_> = plan.iter().filter(|line| line.starts_with("SEARCH")).collect();
    assert_eq!(searches.len(), 7, "two statuses are open, three are failures, two are counted: {plan:#?}");
    let index = "COVERING INDEX state_pmo_batch_tasks_by_status (project_id=? AND batch_id=? AND status=?)";
    assert!(searches.iter().all(|line| line.contains(index)), "{plan:#?}");
}

#[test]
fn rows_of_an_agent_or_a_turn_are_found_by_an_index() {
    let (conn, _directory) = database();
    let listed = statements().into_iter().filter(|(name, _)| name.contains("_of_"));
    let mut count = 0;
    for (name, statement) in listed {
        let column = if name.ends_with("_of_turn") { "agent_turn_id=?" } else { "agent_id=?" };
        let plan = plan(&conn, &statement);
        let searches: Vec<_> = plan.iter().filter(|line| line.starts_with("SEARCH")).collect();
        assert!(
            !searches.is_empty() && searches.iter().all(|line| line.contains(column)),
            "{name}: {plan:#?}"
        );
        count += 1;
    }
    assert_eq!(count, 8);
}

/// A session by its primary key; a search first by the index of terms, and then row by row.
#[test]
fn sessions_are_found_by_key_and_passages_by_their_terms() {
    let (conn, _directory) = database();
    let statements = statements();
    let key = "USING PRIMARY KEY (project_id=? AND namespace=? AND session_id=?)";
    let place = "resource_passages_by_key (project_id=? AND kind=? AND namespace=? AND";
    for (name, steps) in [
        ("read/session", vec![format!("SEARCH state_sessions {key}")]),
        ("write/update_session", vec![format!("SEARCH state_sessions {key}")]),
        (
            "read/sessions",
            vec![format!("SEARCH state_sessions {}", key.replace("session_id=", "session_id>"))],
        ),
        (
            "read/search",
            vec![
                "SCAN found VIRTUAL TABLE INDEX 0:M0".to_owned(),
                "SEARCH p USING INTEGER PRIMARY KEY (rowid=?)".to_owned(),
                "USE TEMP B-TREE FOR ORDER BY".to_owned(),
            ],
        ),
        ("read/passages", vec![format!("SEARCH resource_passages USING INDEX {place} (source,part)>(?,?))")]),
        ("write/drop_passages", vec![format!("SEARCH resource_passages USING INDEX {place} source=?)")]),
    ] {
        assert_eq!(plan(&conn, &statements[name]), steps, "{name}");
    }
}

#[test]
fn no_statement_reads_a_whole_table() {
    let (conn, _directory) = database();
    for (name, statement) in statements() {
        let plan = plan(&conn, &statement);
        let is_scan = |line: &&String| {
            line.starts_with("SCAN")
                && *line != "SCAN CONSTANT ROW"
                && !line.starts_with("SCAN json_each")
                // What a statement has found itself.
                && !line.starts_with("SCAN (subquery")
                // By the terms or the number of a passage; without either nothing stands behind the colon.
                && !line.ends_with("VIRTUAL TABLE INDEX 0:M0")
                && !line.ends_with("VIRTUAL TABLE INDEX 0:=")
                // A partial index that holds only what is looked for.
                && !line.contains("audit_unsealed")
        };
        assert_eq!(plan.iter().find(is_scan), None, "{name}: {plan:#?}");
    }
}

/// The seal of the audit log once read all of it, again and again.
#[test]
fn no_statement_reads_all_rows_of_a_project() {
    // The last row by the order of the key; no more than so many, of an index that holds only those.
    let known = [
        "write/event",
        "write/audit",
        "read/last_position",
        "read/last_positions",
        "read/open_turns",
        "read/open_turns_in_trace",
        "read/reach",
        "read/unsealed_audit",
    ];
    let (conn, _directory) = database();
    for (name, statement) in statements() {
        let plan = plan(&conn, &statement);
        let is_whole = |line: &&String| {
            // A project is one row of its own table.
            line.ends_with("(project_id=?)")
                && !line.starts_with("SEARCH resource_projects ")
                && !line.starts_with("SEARCH p USING PRIMARY KEY")
        };
        assert_eq!(
            plan.iter().any(|line| is_whole(&line)),
            known.contains(&name.as_str()),
            "{name}: {plan:#?}"
        );
    }
}

/// A list of more than two values in the condition of a partial index, or RETURNING, makes SQLite build a table for
/// every row that is written. It once was a quarter of the writer's work.
#[test]
fn no_hot_write_builds_a_table() {
    let (conn, _directory) = database();
    for (name, statement) in statements() {
        let is_rare =
            ["write/put_profile", "write/put_agent", "write/put_resource", "write/unindex_passages"]
                .contains(&name.as_str());
        if name.starts_with("read/") || is_rare {
            continue;
        }
        let steps = explain(&conn, "EXPLAIN", &statement, "opcode");
        assert!(!steps.iter().any(|step| step == "OpenEphemeral"), "{name}");
    }
}
