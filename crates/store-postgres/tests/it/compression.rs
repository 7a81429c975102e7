//! How long values are kept.

use crate::scratch::{Scratch, create_project};
use cardwire_model::{Commit, Write};
use cardwire_store::Store;
use cardwire_testkit::{SeededIds, fixtures::text_card};

/// By lz4 on a server that knows it, by what the server does by default on others.
#[tokio::test]
async fn long_values_are_compressed_by_the_fastest_way_there_is() {
    let scratch = Scratch::new().await;
    let store = scratch.open().await;
    let project = create_project(&store, "p").await;
    let mut commit = Commit::new(project);
    let card = text_card(SeededIds::new(1).card(), &"long ".repeat(2_000));
    commit.writes.push(Write::PutCard(Box::new(card)));
    store.commit(commit).await.unwrap();
    let fastest = "SELECT CASE WHEN 'lz4' = ANY (enumvals) THEN 'lz4' ELSE boot_val END FROM pg_settings
        WHERE name = 'default_toast_compression'";
    assert_eq!(
        scratch.column("SELECT pg_column_compression(content) FROM cards").await,
        scratch.column(fastest).await
    );
    store.close().await;
}
