//! Whatever the tables hold, a turn reads its own rows only. Plans are made once per connection and statement, so those
//! made for empty tables must be right for full ones, too.

use crate::{
    scratch::{Scratch, create_project},
    worker::Agent,
};
use cardwire_model::{Generation, InboxStatus, ProjectId};
use cardwire_store::{Catalog, EventFilter, Horizon, RosterFilter, RowFilter, Store, Turns};
use cardwire_store_postgres::PostgresStore;
use cardwire_testkit::fixtures::{agent_id, at};

/// Rows of other agents of the same project in every table that a turn reads.
const FILL: &str = "
INSERT INTO card_boxes SELECT 'p1', gen_random_uuid(), 1, 0, 0, 0, false, NULL, 0 FROM generate_series(1, 3000);
INSERT INTO cards (project_id, card_id, kind, role, content, content_hash, fact_hash, tokens, metadata, origin,
    credential, created_at)
    SELECT 'p1', gen_random_uuid(), 'k', 'user', '1', '', '', 1, '{}', 'operator', false, 0
    FROM generate_series(1, 3000);
INSERT INTO resource_project_agents
    SELECT 'p1', 'other-' || n, 'p', gen_random_uuid(), 'another', NULL, '{}', NULL, '{}', 1, 0, 0
    FROM generate_series(1, 3000) n;
INSERT INTO state_agent_state_head (project_id, agent_id, turn_epoch, status, open_calls, marks, updated_at, queued, busy)
    SELECT 'p1', 'other-' || n, 0, 'idle', 0, 0, 0, 0, false FROM generate_series(1, 3000) n;
INSERT INTO state_snapshots (project_id, agent_id, turn_epoch, status, open_calls, marks, updated_at)
    SELECT 'p1', 'other-' || n, 0, 'idle', 0, 0, 0 FROM generate_series(1, 3000) n;
INSERT INTO state_agent_inbox (project_id, inbox_id, created_at, agent_turn_id, agent_id, kind, correlation_id,
    worker_target, payload, status, retry_count, output_box_id)
    SELECT 'p1', gen_random_uuid(), 0, gen_random_uuid(), 'other-' || n, 'turn', 'c' || n, 'another', '{}',
        (ARRAY['queued', 'pending', 'processing', 'consumed'])[1 + n % 4], 0, gen_random_uuid()
    FROM generate_series(1, 3000) n;
INSERT INTO state_execution_edges (project_id, edge_id, primitive, edge_phase, correlation_id, scope, depth, trace_id,
    created_at)
    SELECT 'p1', gen_random_uuid(), 'enqueue', 'request', 'c' || n, gen_random_uuid(), 0, 't', 0
    FROM generate_series(1, 3000) n;
INSERT INTO state_agent_steps (project_id, step_id, agent_id, agent_turn_id, turn_epoch, trace_id, created_at, phase,
    output_len, metadata, updated_at)
    SELECT 'p1', 'other-' || n, 'other-' || n, gen_random_uuid(), 0, 't', 0, 'p', 0, '{}', 0
    FROM generate_series(1, 3000) n;
INSERT INTO events (project_id, last_position, item_count, items)
    SELECT 'p1', n + 100000, 1, ARRAY[ROW (gen_random_uuid(), 'card.created', 't', 'public', NULL, '{}', 0, NULL, NULL,
        NULL)::cw_event_item]
    FROM generate_series(1, 3000) n;
INSERT INTO state_pmo_batches SELECT 'p1', gen_random_uuid(), 'parent', gen_random_uuid(), 1, 'c', 'public', 't', 1, 1,
    false, 0, 0, 100, NULL, 0, 'success', NULL, NULL, 9 FROM generate_series(1, 3000)";

/// What connections for the work of tenants are set to.
const OF_TENANTS: &str = "SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_memoize = off;
    SET enable_bitmapscan = off; SET enable_seqscan = off; SET max_parallel_workers_per_gather = 0; ";

/// Pages of everything, and of what is in some state, of an agent and of a turn.
async fn lists(store: &PostgresStore, project: &ProjectId, agent: &Agent) {
    let of_agent = RowFilter { agent_id: Some(agent.head.agent_id.clone()), ..RowFilter::default() };
    let rows = store.inbox(project, &of_agent, None, 2).await.unwrap();
    let of_turn = RowFilter { turn_id: Some(rows[0].turn_id), ..RowFilter::default() };
    for filter in [&RowFilter::default(), &of_agent, &of_turn] {
        assert!(!store.inbox(project, filter, None, 2).await.unwrap().is_empty());
        assert!(!store.edges(project, filter, None, 2).await.unwrap().is_empty());
        assert!(!store.steps(project, filter, None, 2).await.unwrap().is_empty());
    }
    let held = RowFilter { inbox_status: Some(InboxStatus::Processing), ..RowFilter::default() };
    store.inbox(project, &held, None, 2).await.unwrap();
    store.identity_edges(project, &of_agent, None, 2).await.unwrap();
    store.heads(project, Some(&agent_id("z")), 2).await.unwrap();
    let changed = RosterFilter { from: Some(at(-1)), until: Some(at(1_000_000)), ..RosterFilter::default() };
    for filter in [RosterFilter::default(), changed] {
        store.roster(project, &filter, None, 2).await.unwrap();
    }
    store.events(project, 0, &EventFilter::default(), 2).await.unwrap();
    let entries = store.box_cards(project, agent.output_box, Generation::FIRST, 0).await.unwrap();
    let cards: Vec<_> = entries.iter().filter_map(|entry| entry.card.as_ref()).map(|card| card.id).collect();
    assert_eq!(store.cards(project, &cards).await.unwrap().len(), entries.len());
}

/// A server on which hundreds of databases come and go may forget all plans at any moment, and then plans for tables that it
/// has not looked at since they were filled. Three times in a row would be no accident.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_reads_its_own_rows_however_many_others_there_are() {
    const TURNS: i64 = 20;
    for planned in [Planned::WhileEmpty, Planned::WhenFull] {
        let mut too_many = vec![];
        for _ in 0..3 {
            let read = read_by_turns(TURNS, planned).await;
            assert!(read.iter().any(|(table, _)| table == "state_agent_inbox"), "{read:?}");
            // Boxes and inboxes grow by a row per turn, and the lists above read some of them each time.
            too_many = read.into_iter().filter(|(_, rows)| *rows >= TURNS * 150).collect();
            if too_many.is_empty() {
                break;
            }
        }
        assert!(too_many.is_empty(), "{too_many:?} for {TURNS} turns, planned {planned:?}");
    }
}

/// When the plans are made.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Planned {
    WhileEmpty,
    /// By a server that has not looked at the tables since.
    WhenFull,
}

/// How many rows of each table so many turns read, among many others.
async fn read_by_turns(turns: i64, planned: Planned) -> Vec<(String, i64)> {
    let scratch = Scratch::new().await;
    let mut config = scratch.config();
    (config.app_connections, config.system_connections) = (1, 1);
    let mut store = PostgresStore::open(config.clone()).await.unwrap();
    let project = create_project(&store, "p1").await;
    let mut agent = Agent::new(&store, &project, agent_id("a"), 1).await;
    agent.turn(&store).await;
    lists(&store, &project, &agent).await;
    if planned == Planned::WhenFull {
        finished(&scratch, store).await;
        store = PostgresStore::open(config).await.unwrap();
    }
    fill(&scratch, FILL).await;
    for _ in 0..turns {
        agent.turn(&store).await;
        lists(&store, &project, &agent).await;
    }
    rows_read(&scratch, store).await
}

/// A project full of agents whose turns have ended, which the planner knows.
async fn with_nothing_to_do(besides: &str) -> (Scratch, PostgresStore) {
    let scratch = Scratch::new().await;
    let store = scratch.open().await;
    create_project(&store, "p1").await;
    scratch.execute(FILL).await;
    scratch.execute("UPDATE state_agent_inbox SET status = 'consumed'").await;
    scratch.execute(besides).await;
    scratch.execute("VACUUM ANALYZE").await;
    (scratch, store)
}

/// What waits is looked for where it stands, even by a plan that was made while next to nothing was open: the index of all open
/// turns then looks as good to the planner, and a fork of 10,000 once read through all of them for each.
#[tokio::test]
async fn what_waits_for_an_agent_is_found_by_its_own_index() {
    // As if none had ever waited.
    let (scratch, store) = with_nothing_to_do("REINDEX INDEX state_agent_inbox_queued").await;
    let waiting = include_str!("../../sql/read/next_turns.sql")
        .replace("{tenant}", "tenant.id")
        .replace("{agent}", "asker.name")
        .replace("{limit}", "6");
    // As a load asks, for several at once.
    let statement = format!(
        "SELECT ARRAY({waiting}) FROM (SELECT set_config('cardwire.project', $1, true) AS id OFFSET 0) AS tenant
         CROSS JOIN unnest($2) AS asker (name)"
    );
    let plan = plan(&scratch, &statement, "text, text[]", "'p1', ARRAY['a']").await;
    assert!(plan.contains("using state_agent_inbox_queued "), "{plan}");
    store.close().await;
}

/// A run that somebody waits for is looked at ten times a second.
#[tokio::test]
async fn open_turns_in_a_trace_are_looked_for_among_open_turns() {
    for besides in ["", "REINDEX INDEX state_agent_inbox_queued"] {
        let (scratch, store) = with_nothing_to_do(besides).await;
        let statement = include_str!("../../sql/read/open_turns_in_trace.sql");
        let plan = plan_with(&scratch, OF_TENANTS, statement, "text, text, bigint", "'p1', 't', 10").await;
        for index in ["state_agent_inbox_open", "state_agent_inbox_queued"] {
            assert!(plan.contains(&format!("using {index} ")), "{plan}");
        }
        assert_eq!(plan.matches(" Scan ").count(), 2, "{plan}");
        store.close().await;
    }
}

/// API-08: whatever is asked of them, agents come in the order of their index, each with its head by its key, and audit rows in
/// the order of theirs.
#[tokio::test]
async fn the_roster_and_the_audit_log_are_read_in_their_order() {
    let audit = "INSERT INTO audit (project_id, actor, action, subject, verdict, detail, at)
        SELECT 'p1', 'a', 'card.delete', 'c' || n, 'allowed', '{}', n FROM generate_series(1, 3000) n";
    let (scratch, store) = with_nothing_to_do(audit).await;
    let roster = include_str!("../../sql/read/roster.sql");
    let of_roster = "text, bigint, text, text, bigint, uuid, text, bigint, bigint";
    let agents = &["resource_project_agents_by_time", "state_agent_state_head_pkey"][..];
    let log = include_str!("../../sql/read/audit.sql");
    let of_log = "text, bigint, bigint, text, bigint, bigint, text, text, text";
    for (statement, types, values, indexes) in [
        (roster, of_roster, "'p1', 99, '', NULL, 9, NULL, NULL, NULL, NULL", agents),
        (roster, of_roster, "'p1', 99, '', 'running', 9, NULL, 't', 0, 9", agents),
        (log, of_log, "'p1', 99, 9, NULL, NULL, NULL, NULL, NULL, NULL", &["audit_pkey"][..]),
        (log, of_log, "'p1', 99, 9, 'a', 0, 9, 'card.delete', 'c9', 'denied'", &["audit_pkey"][..]),
    ] {
        let plan = plan_with(&scratch, OF_TENANTS, statement, types, values).await;
        for index in indexes {
            assert!(plan.contains(&format!("using {index} ")), "{plan}");
        }
        assert!(plan.matches(" Scan ").count() == indexes.len() && !plan.contains("Sort"), "{plan}");
    }
    store.close().await;
}

/// How many rows of each table were read, now that the store is done.
async fn rows_read(scratch: &Scratch, store: PostgresStore) -> Vec<(String, i64)> {
    finished(scratch, store).await;
    let read = scratch
        .column(
            "SELECT relname || ' ' || coalesce(idx_tup_fetch, 0) + coalesce(seq_tup_read, 0) FROM pg_stat_user_tables
             WHERE coalesce(idx_tup_fetch, 0) + coalesce(seq_tup_read, 0) > 0",
        )
        .await;
    pairs(&read)
}

/// Ends the store and waits for its connections: each tells what it did when it ends.
pub(crate) async fn finished(scratch: &Scratch, store: PostgresStore) {
    store.close().await;
    let connections = "SELECT count(*)::text FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'";
    while scratch.column(connections).await != ["0"] {
        tokio::task::yield_now().await;
    }
}

/// Fills tables, and forgets what that took. The server tells what a connection did when it comes round to it, which may be
/// after it was told to forget.
pub(crate) async fn fill(scratch: &Scratch, rows: &str) {
    scratch.execute(&format!("{rows}; SELECT pg_stat_force_next_flush()")).await;
    scratch.execute("SELECT pg_stat_reset()").await;
}

/// Names and numbers.
pub(crate) fn pairs(lines: &[String]) -> Vec<(String, i64)> {
    let pairs = lines.iter().map(|line| line.split_once(' ').unwrap());
    pairs.map(|(name, number)| (name.to_owned(), number.parse().unwrap())).collect()
}

/// The plan of a statement of `sql/read`, on tables full of agents that have nothing to do.
async fn plan(scratch: &Scratch, statement: &str, types: &str, values: &str) -> String {
    plan_with(scratch, "", statement, types, values).await
}

/// The same, with settings of its own.
async fn plan_with(scratch: &Scratch, settings: &str, statement: &str, types: &str, values: &str) -> String {
    let admin = scratch.connect(None).await;
    let statement = format!("PREPARE it ({types}) AS {statement}");
    admin.client.batch_execute("SET plan_cache_mode = force_generic_plan").await.unwrap();
    admin.client.batch_execute(settings).await.unwrap();
    admin.client.batch_execute(&statement).await.unwrap();
    let rows = admin.client.query(&format!("EXPLAIN EXECUTE it ({values})"), &[]).await.unwrap();
    rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n")
}

/// Audit rows and their places are gone through once, side by side. Tenants' connections allow joins row by row only, which
/// would go through all places for each row: two seconds for 2,000 of them.
#[tokio::test]
async fn what_is_sealed_is_read_once() {
    let scratch = Scratch::new().await;
    let store = scratch.open().await;
    let function = include_str!("../../sql/write/seal_audit.sql");
    let between = |from: &str, until: &str| {
        let rest = &function[function.find(from).unwrap()..];
        rest[..rest.find(until).unwrap()].to_owned()
    };
    let of_function = between("SET enable_", " AS $$").replace(" SET ", "; SET ");
    let statement = between("UPDATE audit a", ";")
        .replace("in_project", "$1")
        .replace("in_rows", "$2")
        .replace("first_seq", "$3")
        .replace("last_seq", "$4");
    for filled in [
        "",
        "INSERT INTO audit (project_id, actor, action, subject, verdict, detail, at)
        SELECT 'p1', 'a', 'b', 'c', 'ok', '{}', 0 FROM generate_series(1, 2000); ANALYZE audit",
    ] {
        scratch.execute(filled).await;
        let settings = format!("{OF_TENANTS}{of_function}");
        let types = "text, audit[], bigint, bigint";
        let plan = plan_with(&scratch, &settings, &statement, types, "'p1', '{}', 1, 2000").await;
        assert!(plan.contains("Merge Join") && !plan.contains("Nested Loop"), "{plan}");
    }
    store.close().await;
}

/// Idle agents and turns that have ended cost the watchdog and the workers nothing.
#[tokio::test]
async fn workers_and_the_watchdog_look_only_where_there_is_work() {
    let (scratch, store) = with_nothing_to_do("").await;
    for (statement, types, values, index) in [
        (
            include_str!("../../sql/read/due_heads.sql"),
            "text, text, bigint, bigint, bigint, bigint",
            "'', '', 0, 0, 0, 500",
            "state_agent_state_head_busy",
        ),
        (
            include_str!("../../sql/read/due_items.sql"),
            "text, uuid, bigint, bigint, bigint, bigint, bigint",
            "'', '00000000-0000-0000-0000-000000000000', 0, 0, 500, 0, 0",
            "state_agent_inbox_open",
        ),
        (
            include_str!("../../sql/read/claimable.sql"),
            "text, text, bigint, bigint",
            "'p1', 'generic', 0, 10",
            "state_agent_inbox_claimable",
        ),
        (
            include_str!("../../sql/read/inbox_with_workers.sql"),
            "text, uuid, bigint, text, text, text, boolean, bigint, bigint",
            "'p1', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 10, NULL, NULL, 'processing', true, NULL, NULL",
            "state_agent_inbox_open",
        ),
        (
            include_str!("../../sql/read/running_batches.sql"),
            "text, uuid, bigint",
            "'', '00000000-0000-0000-0000-000000000000', 500",
            "state_pmo_batches_running",
        ),
    ] {
        let plan = plan(&scratch, statement, types, values).await;
        assert!(plan.contains(&format!("using {index} ")), "{plan}");
        assert!(!plan.contains("Seq Scan"), "{plan}");
    }
    // F-27: what a worker has in its hands, whatever others have.
    let statement = include_str!("../../sql/read/held.sql");
    let (types, values) = ("text, text, bigint, text[], bigint", "'generic', 'w1', 0, NULL, 10");
    let plan = plan_with(&scratch, "SET enable_seqscan = off", statement, types, values).await;
    for index in ["state_agent_inbox_held", "resource_projects_pkey", "state_agent_state_head_pkey"] {
        assert!(plan.contains(&format!("using {index} ")), "{plan}");
    }
    assert!(!plan.contains("Sort") && !plan.contains(" Join "), "{plan}");
    // F-25: what those who follow logs ask for.
    for (file, types, values, indexes) in [
        (
            include_str!("../../sql/read/last_positions.sql"),
            "text[]",
            "ARRAY['p1', 'p2']",
            ["resource_projects_pkey", "event_heads_pkey"],
        ),
        (
            include_str!("../../sql/read/tokens_by_hashes.sql"),
            "bytea[]",
            "ARRAY[decode('00', 'hex')]",
            ["tokens_by_hash", "tokens_by_hash"],
        ),
    ] {
        let plan = plan_with(&scratch, "SET enable_seqscan = off", file, types, values).await;
        for index in indexes {
            assert!(plan.contains(&format!("using {index} ")), "{plan}");
        }
    }
    // With the one project that there is, as if there were many.
    let statement = include_str!("../../sql/read/claim_projects.sql");
    let (types, values) = ("text, bigint, bigint, bigint", "'generic', 0, 0, 10");
    let plan = plan_with(&scratch, "SET enable_seqscan = off", statement, types, values).await;
    for index in ["state_agent_inbox_claimable_anywhere", "resource_projects_pkey"] {
        assert!(plan.contains(&format!("using {index} ")), "{plan}");
    }
    assert!(!plan.contains("Seq Scan") && !plan.contains(" Join "), "{plan}");
    let now = at(1_000_000);
    let horizon =
        Horizon { dispatched: now, running: now, resume: now, pending: now, processing: now, given: now };
    assert_eq!(store.due_heads(&horizon, None, 9).await.unwrap(), []);
    assert_eq!(store.due_items(&horizon, None, 9).await.unwrap(), []);
    store.close().await;
}
