//! Search where this backend is alone: by which index, as whom, and with two machines at one shelf.

use crate::scratch::{Scratch, create_project};
use cardwire_model::{Commit, Passage, PassageKind, Write};
use cardwire_store::{Search, SearchQuery, Store};
use cardwire_testkit::{
    SeededIds,
    fixtures::{passage, shelf},
};
use futures_util::future::join_all;

const SEARCH: &str = include_str!("../../sql/read/search.sql");

/// Many passages of another shelf and of other projects, all with the lexeme that is looked for.
const FILL: &str = "
INSERT INTO resource_passages
    SELECT (ARRAY['p1', 'p2', 'p3'])[1 + n % 3], 'knowledge', 'other', 'source-' || n, 0, gen_random_uuid(), '', '',
        NULL, 0, ('''0123456789abcdef'':1 ''' || md5(n::text) || ''':2')::tsvector
    FROM generate_series(1, 5000) n";

/// The plan of a search as a role makes it, once and for all values, with the settings of our connections.
async fn plan(scratch: &Scratch, role: &str) -> String {
    let connection = scratch.connect(Some(role)).await;
    let prepare = format!(
        "SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan; SET cardwire.project = 'p1';
         PREPARE it (text, text, text, text, bigint) AS {SEARCH}"
    );
    connection.client.batch_execute(&prepare).await.unwrap();
    let explain = "EXPLAIN EXECUTE it ('p1', 'knowledge', 'default', '''0123456789abcdef''', 10)";
    let rows = connection.client.query(explain, &[]).await.unwrap();
    rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_search_reads_the_index_of_lexemes_whatever_the_table_holds() {
    let scratch = Scratch::new().await;
    let store = scratch.open().await;
    create_project(&store, "p1").await;
    for fill in ["SELECT 1", FILL, "VACUUM ANALYZE resource_passages"] {
        scratch.execute(fill).await;
        let plan = plan(&scratch, "cardwire_system").await;
        assert!(plan.contains("Bitmap Index Scan on resource_passages_lexemes"), "{fill}: {plan}");
        assert!(!plan.contains("Seq Scan") && !plan.contains("_pkey"), "{fill}: {plan}");
    }
    store.close().await;
}

/// Why the system is asked: the rule of a tenant comes before operators that are not leakproof, and none of an index of
/// lexemes is. If this fails, the server has learnt something, and a search can be one statement of the tenant.
#[tokio::test]
async fn as_a_tenant_a_search_would_read_every_row() {
    let scratch = Scratch::new().await;
    let store = scratch.open().await;
    scratch.execute(FILL).await;
    scratch.execute("ANALYZE resource_passages").await;
    let plan = plan(&scratch, "cardwire_app").await;
    assert!(!plan.contains("resource_passages_lexemes") && plan.contains("Seq Scan"), "{plan}");
    store.close().await;
}

/// Two servers that take in one document at once: neither sees what the other has not committed, and still what stays is
/// what one of them wrote.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_machines_that_replace_one_source_do_not_mix_its_parts() {
    const ROUNDS: u32 = 40;
    let scratch = Scratch::new().await;
    let stores = [scratch.open().await, scratch.open().await];
    let project = create_project(&stores[0], "p1").await;
    let mut ids = SeededIds::new(1);
    let shelf = shelf(PassageKind::Knowledge, "default");
    for round in 0..ROUNDS {
        let mut version = |number: u32| -> Vec<Passage> {
            let terms = format!("word r{round}v{number}");
            (0..1 + 5 * number).map(|part| passage(&mut ids, "a", part, &terms)).collect()
        };
        let versions = [version(0), version(1), version(2), version(3)];
        let replace = |parts: &Vec<Passage>| {
            let mut commit = Commit::new(project.clone());
            commit.writes.push(Write::DropPassages { shelf: shelf.clone(), source: "a".to_owned() });
            commit.writes.extend(parts.iter().map(|part| Write::PutPassage(Box::new(part.clone()))));
            commit
        };
        let work =
            versions.iter().enumerate().map(|(number, parts)| stores[number % 2].commit(replace(parts)));
        for outcome in join_all(work).await {
            outcome.unwrap();
        }
        let left = stores[0].passages(&project, &shelf, None, 999).await.unwrap();
        assert!(versions.contains(&left), "round {round}: {left:#?}");
        let query = SearchQuery { shelf: shelf.clone(), terms: vec!["word".to_owned()], limit: 999 };
        assert_eq!(stores[1].search(&project, &query).await.unwrap().len(), left.len());
    }
    for store in &stores {
        store.close().await;
    }
}
