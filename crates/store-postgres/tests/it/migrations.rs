//! The migration runner: many starters at once, drift, and databases of the future.

use crate::scratch::{Scratch, refusal};
use cardwire_store::{Catalog, Store};
use tokio::task::JoinSet;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_starters_on_an_empty_database_all_succeed() {
    let scratch = Scratch::new().await;
    let mut starters = JoinSet::new();
    for _ in 0..8 {
        let mut config = scratch.config();
        config.app_connections = 2;
        starters.spawn(cardwire_store_postgres::PostgresStore::open(config));
    }
    for store in starters.join_all().await {
        let store = store.expect("every starter succeeds");
        assert_eq!(store.health().await.unwrap().schema, 10);
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
            "10 roster"
        ]
    );
}

#[tokio::test]
async fn a_database_made_by_another_version_is_refused() {
    let scratch = Scratch::new().await;
    scratch.open().await.close().await;
    scratch.execute("UPDATE schema_migrations SET checksum = 'x' WHERE number = 2").await;
    let why = refusal(scratch.try_open().await);
    assert!(why.contains("migration 0002_access of this database differs"), "{why}");
}

#[tokio::test]
async fn a_database_newer_than_the_program_is_refused() {
    let scratch = Scratch::new().await;
    scratch.open().await.close().await;
    scratch.execute("INSERT INTO schema_migrations VALUES (99, 'later', 'x', 0)").await;
    let why = refusal(scratch.try_open().await);
    assert!(why.contains("newer than this program's 0010"), "{why}");
}

/// Whatever an older program left behind, the functions are those of this one.
#[tokio::test]
async fn changed_functions_and_rights_are_made_again() {
    let scratch = Scratch::new().await;
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
    let scratch = Scratch::new().await;
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
