//! The self-test goes red when somebody opens a door (SEC-04): each door is opened on purpose in a database of its own.

use crate::scratch::{Scratch, refusal};
use cardwire_store::Store;

/// Opens the store, breaks the database, and answers why the store then refuses to serve.
async fn refusal_after(break_it: &str) -> String {
    let scratch = Scratch::new().await;
    scratch.open().await.close().await;
    scratch.execute(break_it).await;
    let why = refusal(scratch.try_open().await);
    assert!(why.contains("refusing to serve"), "{break_it}: {why}");
    why
}

#[tokio::test]
async fn row_level_security_that_is_off_on_one_table() {
    let why = refusal_after("ALTER TABLE answers DISABLE ROW LEVEL SECURITY").await;
    assert!(why.ends_with("not as it must be on answers"), "{why}");
}

#[tokio::test]
async fn row_level_security_that_is_not_forced() {
    let why = refusal_after("ALTER TABLE cards NO FORCE ROW LEVEL SECURITY").await;
    assert!(why.ends_with("not as it must be on cards"), "{why}");
}

#[tokio::test]
async fn a_rule_that_lets_everybody_in() {
    let why = refusal_after("CREATE POLICY oops ON tokens FOR SELECT USING (true)").await;
    assert!(why.ends_with("not as it must be on tokens"), "{why}");
}

#[tokio::test]
async fn a_table_that_was_added_without_protection() {
    let why = refusal_after("CREATE TABLE notes (project_id text, note text)").await;
    assert!(why.ends_with("not as it must be on notes"), "{why}");
}

#[tokio::test]
async fn an_app_that_owns_a_table() {
    let why = refusal_after(
        "GRANT CREATE ON SCHEMA public TO cardwire_app; ALTER TABLE event_heads OWNER TO cardwire_app",
    )
    .await;
    assert!(why.contains("cardwire_app owns tables"), "{why}");
}

/// Roles belong to the whole server, so the broken one has a name of its own.
#[tokio::test]
async fn roles_that_may_do_too_much() {
    let name = format!("cw_test_{}", std::process::id());
    for (break_it, expected) in [
        ("ALTER ROLE {}_app SUPERUSER", "is a superuser"),
        ("ALTER ROLE {}_app NOSUPERUSER BYPASSRLS", "may bypass row-level security"),
        ("ALTER ROLE {}_app NOBYPASSRLS; GRANT {}_owner TO {}_app", "is a member of other roles"),
        ("REVOKE {}_owner FROM {}_app; ALTER ROLE {}_system BYPASSRLS", "_system may bypass"),
    ] {
        let scratch = Scratch::empty().await;
        let mut config = scratch.config();
        config.role_prefix = name.clone();
        let open = || cardwire_store_postgres::PostgresStore::open(config.clone());
        if expected == "is a superuser" {
            open().await.expect("sound at first").close().await;
        }
        scratch.execute(&break_it.replace("{}", &name)).await;
        let why = refusal(open().await);
        assert!(why.contains("refusing to serve") && why.contains(expected), "{break_it}: {why}");
    }
}

/// What the catalog's flags do not show, the probe finds by trying.
#[tokio::test]
async fn a_probe_that_gets_through() {
    let why = refusal_after(
        "CREATE FUNCTION oops() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN NEW.project_id := current_setting(''cardwire.project''); RETURN NEW; END';
         CREATE TRIGGER oops BEFORE INSERT ON cards FOR EACH ROW EXECUTE FUNCTION oops()",
    )
    .await;
    assert!(why.ends_with("a project writes into another project"), "{why}");
}
