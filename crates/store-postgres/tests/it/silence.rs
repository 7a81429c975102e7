//! A server that went away without a word: connections stay open, and nothing comes over them any more (F-33).

use crate::scratch::{Scratch, create_project};
use cardwire_model::{Commit, Write};
use cardwire_store::{Catalog, CommitError, Outage, Store, StoreError};
use cardwire_store_postgres::{PostgresConfig, PostgresStore};
use cardwire_testkit::{SeededIds, fixtures::text_card};
use std::{sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time::timeout,
};

/// Stands between a store and its server.
struct Proxy {
    port: u16,
    /// Rises when the connections made so far fall silent.
    silence: watch::Sender<u32>,
    _connections: JoinSet<()>,
}

impl Proxy {
    async fn before(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let silence = watch::Sender::new(0);
        let silences = silence.clone();
        let mut connections = JoinSet::new();
        connections.spawn(async move {
            let mut carried = JoinSet::new();
            while let Ok((here, _)) = listener.accept().await {
                let there = TcpStream::connect(&server).await.unwrap();
                carried.spawn(carry(here, there, silences.subscribe()));
            }
        });
        Self { port, silence, _connections: connections }
    }

    fn swallow(&self) {
        self.silence.send_modify(|times| *times += 1);
    }
}

/// Carries bytes until there is to be silence, and then takes what comes without an answer.
async fn carry(mut here: TcpStream, mut there: TcpStream, mut silence: watch::Receiver<u32>) {
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut here, &mut there) => return,
        _ = silence.changed() => {}
    }
    let mut lost = [0; 1024];
    while here.read(&mut lost).await.is_ok_and(|read| read > 0) {}
    let _ = there.shutdown().await;
}

fn put(project: &cardwire_model::ProjectId, seed: u64) -> Commit {
    let mut commit = Commit::new(project.clone());
    commit.writes.push(Write::PutCard(Box::new(text_card(SeededIds::new(seed).card(), "x"))));
    commit
}

/// F-33, NF-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_goes_on_within_ten_seconds_after_all_connections_fell_silent() {
    let scratch = Scratch::new().await;
    let (before, after) = scratch.url().split_once('@').unwrap_or(("postgres://", scratch.url()));
    let (server, database) = after.split_once('/').unwrap();
    let proxy = Proxy::before(server.to_owned()).await;
    let url = format!("{before}@127.0.0.1:{}/{database}", proxy.port);
    let store = Arc::new(PostgresStore::open(PostgresConfig::new(url)).await.unwrap());
    let project = create_project(&store, "p").await;
    store.commit(put(&project, 1)).await.unwrap();
    store.ready().await.unwrap();

    proxy.swallow();
    let asked = {
        let (store, project) = (Arc::clone(&store), project.clone());
        async move { tokio::join!(store.commit(put(&project, 2)), store.project(&project)) }
    };
    let (committed, read) = timeout(Duration::from_secs(8), asked).await.expect("both are told");
    let is_told = matches!(committed, Ok(()) | Err(CommitError::Store(StoreError::Uncertain(_))));
    assert!(is_told && (committed.is_err() || read.is_err()), "{committed:?} {read:?}");
    // Which of the two finds a silent connection and which has a new one made is not said.
    assert!(matches!(read, Ok(_) | Err(StoreError::Unavailable(_))), "{read:?}");
    let why = store.ready().await;
    assert!(matches!(why, Err(StoreError::CannotWrite(Outage::Silent))), "{why:?}");
    let again = async {
        while store.commit(put(&project, 3)).await.is_err() {}
        while store.ready().await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(Duration::from_secs(2), again).await.expect("work goes on");
    store.close().await;
}
