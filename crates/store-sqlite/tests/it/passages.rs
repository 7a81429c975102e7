//! The index of passages beside their rows: nothing joins the two but what we write.

use cardwire_store::Store;
use cardwire_testkit::{ReferenceStore, differential_in_groups, test_seed};

/// Whatever is put, replaced, dropped and refused, in whatever groups: every passage has one entry, and no entry stays
/// without its passage. An entry that nothing points to would never be found, and never go.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_index_has_an_entry_for_every_passage_and_no_other() {
    let seed = test_seed();
    println!("CARDWIRE_TEST_SEED={seed}");
    let (store, directory) = crate::fresh();
    differential_in_groups(&ReferenceStore::new(), &store, seed, 2_000, 50).await;
    store.close().await;

    let conn = crate::connect(&directory);
    let ids = |statement: &str| -> Vec<i64> {
        let mut statement = conn.prepare(statement).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let entries = ids("SELECT id FROM resource_passage_terms_docsize ORDER BY id");
    assert_eq!(entries, ids("SELECT passage_id FROM resource_passages ORDER BY passage_id"));
    assert!(entries.len() > 50, "{} entries", entries.len());
    let check = "INSERT INTO resource_passage_terms (resource_passage_terms) VALUES ('integrity-check')";
    conn.execute(check, []).unwrap();
}
