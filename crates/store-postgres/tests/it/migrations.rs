//! The migration runner: many starters at once, drift, and databases of the future.

use crate::scratch::{Scratch, create_project, refusal};
use cardwire_model::Commit;
use cardwire_store::{Catalog, EventFilter, Store};
use cardwire_testkit::{SeededIds, fixtures::event};
use tokio::task::JoinSet;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_starters_on_an_empty_database_all_succeed() {
    let scratch = Scratch::empty().await;
    let mut starters = JoinSet::new();
    for _ in 0..8 {
        let mut config = scratch.config();
        config.app_connections = 2;
        starters.spawn(cardwire_store_postgres::PostgresStore::open(config));
    }
    for store in starters.join_all().await {
        let store = store.expect("every starter succeeds");
        assert_eq!(store.health().await.unwrap().schema, 16);
        store.close().await;
    }
    let numbers = scratch.column("SELECT number || ' ' || name FROM schema_migrations ORDER BY number").await;
    assert_eq!(
        numbers,
        [
            "0 functions",
            "1 facts",
            "2 access",
            "3 events",
            "4 turns",
            "5 hot_paths",
            "6 resources",
            "7 batches",
            "8 sessions",
            "9 queued",
            "10 roster",
            "11 event_groups",
            "12 lists",
            "13 parent_steps",
            "14 card_origins",
            "15 listed_heads",
            "16 held"
        ]
    );
}

#[tokio::test]
async fn a_database_made_by_another_version_is_refused() {
    let scratch = Scratch::empty().await;
    scratch.open().await.close().await;
    scratch.execute("UPDATE schema_migrations SET checksum = 'x' WHERE number = 2").await;
    let why = refusal(scratch.try_open().await);
    assert!(why.contains("migration 0002_access of this database differs"), "{why}");
}

#[tokio::test]
async fn a_database_newer_than_the_program_is_refused() {
    let scratch = Scratch::empty().await;
    scratch.open().await.close().await;
    scratch.execute("INSERT INTO schema_migrations VALUES (99, 'later', 'x', 0)").await;
    let why = refusal(scratch.try_open().await);
    assert!(why.contains("newer than this program's 0016"), "{why}");
}

/// Whatever an older program left behind, the functions are those of this one.
#[tokio::test]
async fn changed_functions_and_rights_are_made_again() {
    let scratch = Scratch::empty().await;
    scratch.open().await.close().await;
    scratch
        .execute(
            "UPDATE schema_migrations SET checksum = 'x' WHERE number = 0;
             SET ROLE cardwire_owner;
             DROP FUNCTION cw_event(events[]);
             CREATE FUNCTION cw_event(integer) RETURNS boolean LANGUAGE sql AS 'SELECT true';
             GRANT UPDATE (content) ON cards TO cardwire_app;
             ALTER TABLE tokens NO FORCE ROW LEVEL SECURITY",
        )
        .await;
    scratch.open().await.close().await;
    let functions =
        scratch.column("SELECT oid::regprocedure::text FROM pg_proc WHERE proname = 'cw_event'").await;
    assert_eq!(functions, ["cw_event(events[])"]);
    let may = scratch
        .column("SELECT has_column_privilege('cardwire_app', 'cards', 'content', 'UPDATE')::text")
        .await;
    assert_eq!(may, ["false"]);
}

#[tokio::test]
async fn tables_belong_to_the_owner_and_nobody_can_log_in_as_a_role() {
    let scratch = Scratch::empty().await;
    scratch.open().await.close().await;
    let owners =
        scratch.column("SELECT DISTINCT tableowner::text FROM pg_tables WHERE schemaname = 'public'").await;
    assert_eq!(owners, ["cardwire_owner"]);
    let able = scratch
        .column(
            "SELECT rolname::text FROM pg_roles
             WHERE rolname LIKE 'cardwire%' AND (rolcanlogin OR rolsuper OR rolbypassrls OR rolcreaterole)",
        )
        .await;
    assert_eq!(able, [] as [&str; 0]);
}

/// 0011: what was a row for each event is groups of them, in the same places; what had no place gets the next ones.
#[tokio::test]
async fn a_log_of_single_events_is_grouped() {
    let scratch = Scratch::empty().await;
    let store = scratch.open().await;
    let (p, q) = (create_project(&store, "p").await, create_project(&store, "q").await);
    store.close().await;
    // As 0010 left it.
    scratch
        .execute(
            "INSERT INTO event_heads VALUES ('p', 300), ('q', 1);
             SET ROLE cardwire_owner;
             DELETE FROM schema_migrations WHERE number IN (0, 11, 12);
             DROP INDEX state_agent_steps_by_time;
             DROP TABLE events CASCADE;
             DROP TYPE cw_event_item;
             CREATE TABLE events (
                 project_id text COLLATE \"C\" NOT NULL, seq bigint GENERATED ALWAYS AS IDENTITY, position bigint,
                 event_id uuid NOT NULL, kind text NOT NULL, target text NOT NULL, channel text NOT NULL,
                 agent_id text COLLATE \"C\", data text NOT NULL, at bigint NOT NULL, agent_turn_id uuid,
                 batch_id uuid, trace_id text);
             CREATE UNIQUE INDEX events_by_position ON events (project_id, position) WHERE position IS NOT NULL;
             CREATE INDEX events_unnumbered ON events (seq) WHERE position IS NULL;
             INSERT INTO events (project_id, position, event_id, kind, target, channel, agent_id, data, at)
             SELECT 'p', 301 - n, gen_random_uuid(), 'card.created', 't' || 301 - n, 'public', 'a', '{}', n
             FROM generate_series(1, 300) AS n;
             INSERT INTO events (project_id, position, event_id, kind, target, channel, data, at)
             SELECT p, CASE WHEN p = 'q' AND n = 1 THEN 1 END, gen_random_uuid(), 'card.created', 't' || n, 'public',
                 '{}', n
             FROM (VALUES ('q', 1), ('p', 301), ('q', 2), ('p', 302)) AS v (p, n);
             ALTER TABLE events FORCE ROW LEVEL SECURITY",
        )
        .await;

    let store = scratch.open().await;
    assert_eq!(store.health().await.unwrap().unnumbered_events, 3);
    let before = store.events(&p, 0, &EventFilter::default(), 1_000).await.unwrap();
    assert_eq!(before.len(), 300);
    assert_eq!(store.number_events().await.unwrap(), 3);
    let mut commit = Commit::new(p.clone());
    commit.events.push(event(SeededIds::new(1).event(), "t303", None));
    store.commit(commit).await.unwrap();
    assert_eq!(store.number_events().await.unwrap(), 1);
    for (project, count) in [(p, 303), (q, 2)] {
        let events = store.events(&project, 0, &EventFilter::default(), 1_000).await.unwrap();
        let told: Vec<_> = events.iter().map(|found| (found.position, found.event.target.clone())).collect();
        assert_eq!(told, (1..=count).map(|n| (n, format!("t{n}"))).collect::<Vec<_>>());
        assert!(events.iter().take(300).all(|found| found.event.agent_id.is_some() == (count > 2)));
    }
    store.close().await;
}
