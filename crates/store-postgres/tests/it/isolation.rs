//! SEC-04 at the server: what the app's role can and cannot do, whatever this program would ask of it.

use crate::scratch::{Connection, Scratch, create_project};
use cardwire_model::{Commit, EdgePhase, Embedding, Grant, Passage, Primitive, ResourceKind, Sweep, Write};
use cardwire_store::{Catalog, Store};
use cardwire_testkit::{
    BoxBuilder, SeededIds, TokenBuilder,
    fixtures::{
        agent_id, agent_row, answer, at, audit, batch, branch, edge, event, identity_edge, idle_head,
        passage, profile, resource, session, step, text_card, tool_call, turn_item,
    },
};

const TABLES: [&str; 26] = [
    "resource_projects",
    "cards",
    "card_boxes",
    "box_entries",
    "tokens",
    "answers",
    "audit",
    "events",
    "event_heads",
    "state_agent_state_head",
    "state_snapshots",
    "state_agent_inbox",
    "state_execution_edges",
    "state_agent_steps",
    "state_tool_calls",
    "resource_profiles",
    "resource_project_agents",
    "state_identity_edges",
    "resource_documents",
    "state_pmo_batches",
    "state_pmo_batch_tasks",
    "state_pmo_sweeps",
    "state_box_grants",
    "state_pmo_trees",
    "state_sessions",
    "resource_passages",
];

/// A database in which project `p1` has a row in every table.
async fn filled() -> Scratch {
    let scratch = Scratch::new().await;
    let store = scratch.open().await;
    let project = create_project(&store, "p1").await;
    let mut ids = SeededIds::new(1);
    let (card, card_box) = (ids.card(), ids.card_box());
    let mut commit = Commit::new(project.clone());
    commit.writes = vec![
        Write::PutCard(Box::new(text_card(card, "secret"))),
        Write::CreateBox(BoxBuilder::new(card_box).cards(&[card]).build()),
        Write::CreateToken(TokenBuilder::new(ids.token(), project).build()),
        Write::RememberAnswer(answer("tok_a", "k", "body", at(1))),
    ];
    let item = turn_item(&mut ids, "a", card_box);
    commit.writes.extend([
        Write::CreateHead(Box::new(idle_head(agent_id("a")))),
        Write::Enqueue(Box::new(item.clone())),
        Write::AddEdge(Box::new(edge(&mut ids, Primitive::Enqueue, EdgePhase::Request, "c"))),
        Write::CreateStep(Box::new(step("step_1", &item))),
        Write::OpenCall(Box::new(tool_call(&item, "call_1"))),
        Write::PutProfile { was: None, profile: Box::new(profile(&mut ids, "p")) },
        Write::PutAgent { was: None, agent: Box::new(agent_row(&mut ids, "a")) },
        Write::AddIdentityEdge(Box::new(identity_edge(&mut ids, "a"))),
        Write::PutResource { was: None, resource: Box::new(resource(&mut ids, ResourceKind::Recipe, "r")) },
    ]);
    let fork = batch(&mut ids, 1);
    let grant = Grant { agent_id: agent_id("a"), box_id: card_box, at: at(1) };
    commit.writes.extend([
        Write::AddBranch(Box::new(branch(&mut ids, &fork, 0))),
        Write::AddSweep(Sweep::Batch(fork.id)),
        Write::CreateBatch(Box::new(fork)),
        Write::AddGrant(Box::new(grant)),
        Write::Spend { root: item.turn_id, turns: 1, limit: 9 },
    ]);
    let embedding = Some(Embedding::from_floats(&[0.5]));
    let passage = Passage { embedding, ..passage(&mut ids, "document", 0, "secret words") };
    commit.writes.extend([
        Write::PutSession { was: None, session: Box::new(session(&mut ids, "default", "s")) },
        Write::PutPassage(Box::new(passage)),
    ]);
    commit.events.push(event(ids.event(), "p1", None));
    commit.audit.push(audit("p1"));
    store.commit(commit).await.expect("rows in every table");
    assert_eq!(store.number_events().await.unwrap(), 1);
    store.close().await;
    scratch
}

async fn count(connection: &Connection, table: &str) -> i64 {
    let query = format!("SELECT count(*) FROM {table}");
    connection.client.query_one(&query, &[]).await.unwrap().get(0)
}

/// The SQLSTATE with which a statement is refused.
async fn refused(connection: &Connection, statement: &str) -> String {
    match connection.client.batch_execute(statement).await {
        Ok(()) => panic!("{statement} was allowed"),
        Err(error) => error.code().expect("the server's answer").code().to_owned(),
    }
}

#[tokio::test]
async fn a_tenant_sees_its_own_rows_and_no_others() {
    let scratch = filled().await;
    let app = scratch.connect(Some("cardwire_app")).await;
    for table in TABLES {
        assert_eq!(count(&app, table).await, 0, "{table} without a tenant");
        for (tenant, expected) in [("p1", 1), ("p2", 0), ("", 0)] {
            app.client
                .batch_execute(&format!("BEGIN; SELECT set_config('cardwire.project', '{tenant}', true)"))
                .await
                .unwrap();
            assert_eq!(count(&app, table).await, expected, "{table} as {tenant:?}");
            app.client.batch_execute("COMMIT").await.unwrap();
        }
        assert_eq!(count(&app, table).await, 0, "{table} after the transaction");
    }
}

#[tokio::test]
async fn even_the_owner_of_the_tables_sees_nothing() {
    let scratch = filled().await;
    let owner = scratch.connect(Some("cardwire_owner")).await;
    for table in TABLES {
        assert_eq!(count(&owner, table).await, 0, "{table}");
    }
}

/// CB-07, SEC-05: facts, entries, events and audit rows cannot be rewritten or removed, not even by their tenant.
#[tokio::test]
async fn the_app_can_change_only_what_may_move() {
    let scratch = filled().await;
    let app = scratch.connect(Some("cardwire_app")).await;
    app.client.batch_execute("SELECT set_config('cardwire.project', 'p1', false)").await.unwrap();
    for statement in [
        "UPDATE cards SET content = '\"forged\"'",
        "UPDATE cards SET project_id = 'p2'",
        "UPDATE box_entries SET seq = 9",
        "UPDATE events SET last_position = 9",
        "UPDATE event_heads SET last_position = 9",
        "UPDATE audit SET subject = 'forged'",
        "UPDATE tokens SET secret_hash = ''",
        "UPDATE answers SET body = ''",
        "UPDATE state_agent_inbox SET payload = ''",
        "UPDATE state_agent_inbox SET agent_turn_id = gen_random_uuid()",
        "UPDATE state_agent_state_head SET agent_id = 'b'",
        "UPDATE state_execution_edges SET correlation_id = ''",
        "UPDATE state_agent_steps SET agent_turn_id = gen_random_uuid()",
        "UPDATE state_tool_calls SET created_at = 9",
        "UPDATE state_identity_edges SET metadata = ''",
        "UPDATE state_pmo_batches SET parent_agent_id = 'b'",
        "UPDATE state_pmo_batch_tasks SET created_at = 9",
        "UPDATE state_pmo_sweeps SET scope = 'turn'",
        "UPDATE state_box_grants SET agent_id = 'b'",
        "UPDATE state_pmo_trees SET root_agent_turn_id = gen_random_uuid()",
        "UPDATE state_sessions SET session_id = 'other'",
        "UPDATE resource_passages SET source = 'other'",
        "UPDATE resource_passages SET project_id = 'p2'",
        "INSERT INTO event_heads VALUES ('p1', 9)",
        "SELECT * FROM schema_migrations",
        "ALTER TABLE cards DISABLE ROW LEVEL SECURITY",
        "DROP POLICY tenant ON cards",
        "CREATE TABLE mine (x integer)",
    ] {
        assert_eq!(refused(&app, statement).await, "42501", "{statement}");
    }
    for table in TABLES {
        // A sweep goes when it is done, a passage when it is made anew.
        if !["state_pmo_sweeps", "resource_passages"].contains(&table) {
            assert_eq!(refused(&app, &format!("DELETE FROM {table}")).await, "42501", "{table}");
        }
        assert_eq!(refused(&app, &format!("TRUNCATE {table}")).await, "42501", "{table}");
    }
    let foreign = "INSERT INTO audit (project_id, actor, action, subject, verdict, detail, at)
                   VALUES ('p2', 'a', 'b', 'c', 'd', '{}', 0)";
    assert_eq!(refused(&app, foreign).await, "42501");
}

#[tokio::test]
async fn the_system_reads_no_facts_and_writes_only_places_and_forgetting() {
    let scratch = filled().await;
    let system = scratch.connect(Some("cardwire_system")).await;
    for table in [
        "cards",
        "card_boxes",
        "box_entries",
        "state_snapshots",
        "state_execution_edges",
        "state_agent_steps",
        "state_tool_calls",
        "resource_profiles",
        "resource_project_agents",
        "state_identity_edges",
        "resource_documents",
        "state_pmo_batches",
        "state_pmo_batch_tasks",
        "state_box_grants",
        "state_pmo_trees",
        "state_sessions",
        "resource_passages",
    ] {
        assert_eq!(refused(&system, &format!("SELECT * FROM {table}")).await, "42501", "{table}");
    }
    for statement in [
        "UPDATE events SET items = '{}'",
        "DELETE FROM events",
        "UPDATE audit SET position = 1",
        "UPDATE tokens SET revoked_at = NULL",
        "INSERT INTO tokens VALUES ('.system', gen_random_uuid(), '', 'admin', 0, NULL, NULL)",
        "UPDATE resource_projects SET deleted_at = NULL",
        "UPDATE state_agent_inbox SET status = 'pending'",
        "SELECT 1 FROM state_agent_state_head FOR UPDATE",
        "UPDATE state_pmo_batches SET status = 'running'",
        "DELETE FROM state_pmo_sweeps",
        "SELECT terms FROM resource_passages",
        "SELECT embedding FROM resource_passages",
        "SELECT card_id FROM resource_passages",
        "DELETE FROM resource_passages",
    ] {
        assert_eq!(refused(&system, statement).await, "42501", "{statement}");
    }
    let read = [
        "events",
        "audit",
        "tokens",
        "resource_projects",
        "answers",
        "state_agent_state_head",
        "state_agent_inbox",
        "state_pmo_batches",
        "state_pmo_sweeps",
        "resource_passages",
    ];
    for table in read {
        assert_eq!(count(&system, table).await, 1, "{table}");
    }
    // What the index of passages shows across tenants are places and digests.
    let lexemes = system.client.query_one("SELECT lexemes::text FROM resource_passages", &[]).await.unwrap();
    let lexemes: String = lexemes.get(0);
    assert_eq!(lexemes.matches(':').count(), 2, "{lexemes}");
    assert!(!lexemes.contains("secret") && !lexemes.contains("words"), "{lexemes}");
}

/// Whoever logs in need not be a superuser: owning the database and being able to make roles is enough.
#[tokio::test]
async fn a_login_that_is_no_superuser_can_serve() {
    let scratch = Scratch::empty().await;
    let login = format!("cw_login_{}", std::process::id());
    let database = &scratch.column("SELECT current_database()::text").await[0];
    scratch.execute(&format!("CREATE ROLE {login} LOGIN CREATEROLE")).await;
    scratch.execute(&format!("ALTER DATABASE {database} OWNER TO {login}")).await;
    let host = scratch.url().split_once('@').expect("a user in the URL").1;
    let mut config = cardwire_store_postgres::PostgresConfig::new(format!("postgres://{login}@{host}"));
    config.role_prefix = format!("{login}_cw");
    for _ in 0..2 {
        let store = cardwire_store_postgres::PostgresStore::open(config.clone()).await.expect("opens");
        assert_eq!(store.number_events().await.unwrap(), 0);
        store.close().await;
    }
}

/// A tenant set by one transaction is not there in the next one on the same connection.
#[tokio::test]
async fn nothing_of_a_tenant_stays_on_a_connection() {
    let scratch = Scratch::new().await;
    let mut config = scratch.config();
    config.app_connections = 1;
    let store = cardwire_store_postgres::PostgresStore::open(config).await.unwrap();
    let (p1, p2) = (create_project(&store, "p1").await, create_project(&store, "p2").await);
    let card = text_card(SeededIds::new(3).card(), "of p1");
    let mut commit = Commit::new(p1.clone());
    commit.writes.push(Write::PutCard(Box::new(card.clone())));
    store.commit(commit).await.unwrap();
    assert_eq!(store.cards(&p2, &[card.id]).await.unwrap(), []);
    assert_eq!(store.cards(&p1, &[card.id]).await.unwrap(), [card]);
    store.close().await;
}
