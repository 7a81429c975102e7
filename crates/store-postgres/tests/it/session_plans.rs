//! However many sessions and passages there are, a patch and a search read their own few. Counted in pages, with plans
//! that were made while the tables were empty.

use crate::{
    plans::{fill, finished, pairs},
    scratch::{Scratch, create_project},
};
use cardwire_model::{Commit, Keys, PassageKind, ProjectId, Realm, Revision, Session, Write};
use cardwire_store::{Search, SearchQuery, Sessions, Store};
use cardwire_store_postgres::PostgresStore;
use cardwire_testkit::{
    SeededIds,
    fixtures::{namespace, passage, session, session_key, shelf},
};

/// Sessions and passages of the same project, and passages of others. Vacuuming them would count as reading.
const FILL: &str = "
ALTER TABLE state_sessions SET (autovacuum_enabled = false);
ALTER TABLE resource_passages SET (autovacuum_enabled = false);
INSERT INTO state_sessions
    SELECT 'p1', 'default', 'other-' || n, 1, gen_random_uuid(), 0, 0, NULL FROM generate_series(1, 20000) n;
INSERT INTO resource_passages
    SELECT (ARRAY['p1', 'p2'])[1 + n % 2], 'knowledge', (ARRAY['default', 'other'])[1 + n % 3 % 2], 'other-' || n / 10,
        n % 10, gen_random_uuid(), '', 'word', NULL, 0, ('''' || md5((n % 100)::text) || ''':1')::tsvector
    FROM generate_series(1, 20000) n";

/// A patch, a replaced document and all reads.
async fn round(store: &PostgresStore, project: &ProjectId, ids: &mut SeededIds, number: u64) {
    let key = session_key("default", "mine");
    let keys = Keys { project: true, session: Some(key.clone()), ..Keys::default() };
    let loaded = store.load(&Realm::from(project.clone()), &keys).await.unwrap().session;
    let was = loaded.map(|session| session.version);
    assert_eq!(was.map_or(0, Revision::get), number);
    let next = Session { version: Revision::new(number + 1), ..session(ids, "default", "mine") };
    let on_shelf = shelf(PassageKind::Knowledge, "default");
    let mut commit = Commit::new(project.clone());
    commit.writes = vec![
        Write::PutSession { was, session: Box::new(next.clone()) },
        Write::DropPassages { shelf: on_shelf.clone(), source: "mine".to_owned() },
        Write::PutPassage(Box::new(passage(ids, "mine", 0, "own words"))),
        Write::PutPassage(Box::new(passage(ids, "mine", 1, "own"))),
    ];
    store.commit(commit).await.unwrap();
    assert_eq!(store.session(project, &key).await.unwrap(), Some(next.clone()));
    let listed = store.sessions(project, &namespace("default"), Some(&"min".parse().unwrap()), 1).await;
    assert_eq!(listed.unwrap(), [next]);
    let terms = vec!["own".to_owned(), "words".to_owned()];
    let query = SearchQuery { shelf: on_shelf.clone(), terms, limit: 10 };
    let hits = store.search(project, &query).await.unwrap();
    assert_eq!(hits.iter().map(|hit| hit.part).collect::<Vec<_>>(), [0, 1]);
    let page = store.passages(project, &on_shelf, Some(&("mine".to_owned(), 0)), 1).await.unwrap();
    assert_eq!(page[0].part, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn patches_and_searches_read_their_own_few_rows() {
    const ROUNDS: u64 = 20;
    let scratch = Scratch::new().await;
    let mut config = scratch.config();
    (config.app_connections, config.system_connections) = (1, 1);
    let store = PostgresStore::open(config).await.unwrap();
    let project = create_project(&store, "p1").await;
    let mut ids = SeededIds::new(1);
    // The plans are made now: once for a session that is made, once for one that is changed.
    round(&store, &project, &mut ids, 0).await;
    round(&store, &project, &mut ids, 1).await;
    fill(&scratch, FILL).await;
    for number in 2..2 + ROUNDS {
        round(&store, &project, &mut ids, number).await;
    }
    finished(&scratch, store).await;
    let pages = "SELECT relname || ' ' ||
            coalesce(heap_blks_hit + heap_blks_read, 0) + coalesce(idx_blks_hit + idx_blks_read, 0)
        FROM pg_statio_user_tables WHERE relname IN ('state_sessions', 'resource_passages')";
    let read = pairs(&scratch.column(pages).await);
    assert_eq!(read.len(), 2, "{read:?}");
    for (name, pages) in read {
        // Either table has more than 200 pages, and so has its key; the index of lexemes is written to as well.
        assert!(pages > 0 && pages < 150 * ROUNDS as i64, "{pages} pages of {name} in {ROUNDS} rounds");
    }
}
