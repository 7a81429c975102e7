//! Many streams of events at once: what they cost those who write, and that each is given everything (F-25, NF-08).

use crate::support::{Api, Backend};
use axum::{
    body::{Body, BodyDataStream},
    http::Request,
};
use cardwire_kernel::{Kernel, KernelConfig};
use cardwire_server::{ServerConfig, router};
use cardwire_store_postgres::{PostgresConfig, PostgresStore};
use futures_util::{StreamExt, future::join_all};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tower::ServiceExt;

const STREAMS: usize = 60;

/// A stream, as its client sees it.
struct Client {
    body: BodyDataStream,
    text: String,
    /// Positions of the events that came.
    seen: Vec<u64>,
}

impl Client {
    async fn open(router: &axum::Router, token: &str, path: &str) -> Self {
        let request = Request::get(path)
            .header("host", "localhost")
            .header("authorization", format!("Bearer {token}"))
            .body(Body::empty());
        let response = router.clone().oneshot(request.unwrap()).await.unwrap();
        assert_eq!(response.status(), 200);
        Self { body: response.into_body().into_data_stream(), text: String::new(), seen: vec![] }
    }

    /// Reads until this event came, or until the stream ended.
    async fn until(&mut self, position: u64) -> &mut Self {
        while self.seen.last().is_none_or(|last| *last < position) {
            let Some(chunk) = self.body.next().await else { break };
            self.text.push_str(std::str::from_utf8(&chunk.unwrap()).unwrap());
            while let Some((block, rest)) = self.text.split_once("\n\n") {
                let id = block.lines().find_map(|line| line.strip_prefix("id:"));
                self.seen.extend(id.map(|id| id.trim().parse::<u64>().unwrap()));
                self.text = rest.to_owned();
            }
        }
        self
    }
}

/// So many streams that have seen all there is: each waits for more.
async fn waiting(api: &Api, project: &str, last: u64) -> Vec<Client> {
    let path = format!("/projects/{project}/events");
    let mut clients = join_all((0..STREAMS).map(|_| Client::open(&api.router, &api.admin, &path))).await;
    join_all(clients.iter_mut().map(|client| client.until(last))).await;
    // Each looks once more, and finds that there is nothing.
    beside(&mut clients, tokio::time::sleep(Duration::from_millis(700))).await;
    clients
}

/// Waits for more while something else is done.
async fn beside<T>(clients: &mut [Client], work: impl Future<Output = T>) -> T {
    let waiting = join_all(clients.iter_mut().map(|client| client.until(u64::MAX)));
    tokio::select! {
        _ = waiting => panic!("the streams ended"),
        done = work => done,
    }
}

/// F-25: a stream is not woken by what others write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_of_other_projects_sleep_while_a_project_is_written() {
    let (api, reads) = Api::counted().await;
    let mut clients = waiting(&api, "p2", 1).await;
    let write = async {
        let before = reads();
        for _ in 0..20 {
            api.cards("p1", 5).await;
            // Events are numbered in rounds, each of which used to wake everybody.
            tokio::time::sleep(Duration::from_millis(15)).await;
        }
        reads() - before
    };
    let read = beside(&mut clients, write).await;
    // What the writes need themselves, and a look now and then.
    assert!(read < 100 * 3 + 20, "{read} reads for 100 cards beside {STREAMS} silent streams");
}

/// F-25: what is new in a project is read once for all who have come as far.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn news_are_read_once_for_all_streams_of_a_project() {
    let (api, reads) = Api::counted().await;
    let mut clients = waiting(&api, "p1", 1).await;
    let before = reads();
    let (_, _) =
        tokio::join!(api.card("p1", "x"), join_all(clients.iter_mut().map(|client| client.until(2))));
    let read = reads() - before;
    assert!(clients.iter().all(|client| client.seen == [1, 2]));
    assert!(read < STREAMS as u64 / 2, "{read} reads for one event and {STREAMS} streams");
}

/// NF-08, F-25: whether a stream is given what was read for all or reads for itself, it gets every event once, in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_stream_of_a_project_gets_every_event_once() {
    let api = Api::start(Backend::Sqlite).await;
    let (writers, each) = (4, 60);
    let last = 1 + writers * each;
    let write = join_all((0..writers).map(|_| async {
        for n in 0..each {
            api.card("p1", &n.to_string()).await;
        }
    }));
    let read = join_all((0..STREAMS as u64).map(|number| {
        let api = &api;
        async move {
            // They come one after the other, some far behind, and some ahead of the log.
            tokio::time::sleep(Duration::from_millis(number * 5)).await;
            let after = number % 7 * 20;
            let path = format!("/projects/p1/events?after={after}");
            let mut client = Client::open(&api.router, &api.admin, &path).await;
            client.until(last).await;
            (after, client.seen)
        }
    }));
    let (_, seen) = tokio::join!(write, read);
    for (after, seen) in seen {
        assert_eq!(seen, (after + 1..=last).collect::<Vec<_>>());
    }
}

/// API-13: nothing is left to follow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_project_ends_its_streams_and_no_others() {
    let api = Api::start(Backend::Sqlite).await;
    let mut gone = Client::open(&api.router, &api.admin, "/projects/p2/events").await;
    let mut other = Client::open(&api.router, &api.admin, "/projects/p1/events").await;
    gone.until(1).await;
    other.until(1).await;
    api.delete("/projects/p2").await.expect(204);
    tokio::time::timeout(Duration::from_secs(20), gone.until(u64::MAX)).await.expect("the stream ends");
    api.card("p1", "x").await;
    assert_eq!(other.until(2).await.seen, [1, 2]);
}

/// API-13: what one instance writes is told by the streams of the other, whoever numbers it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_of_one_instance_tells_what_the_other_writes() {
    let api = Api::start(Backend::Postgres).await;
    let config = PostgresConfig::new(api.database_url().to_owned());
    let kernel = Kernel::start(KernelConfig::new(Arc::new(PostgresStore::open(config).await.unwrap())));
    let there = router(Arc::clone(&kernel), ServerConfig::new("test"));
    let mut client = Client::open(&there, &api.admin, "/projects/p1/events").await;
    client.until(1).await;
    let write = async {
        for n in 0..10 {
            api.card("p1", &n.to_string()).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let (_, told) = tokio::join!(write, client.until(11));
    assert_eq!(told.seen, (1..=11).collect::<Vec<_>>());
    // A revoked token is known there within a second.
    let made = api.post("/tokens", json!({ "scopes": ["read"] })).await.expect(201);
    let mut guest = Client::open(&there, made["token"].as_str().unwrap(), "/projects/p1/events").await;
    guest.until(11).await;
    api.delete(&format!("/tokens/{}", made["id"].as_str().unwrap())).await.expect(204);
    tokio::time::timeout(Duration::from_secs(20), guest.until(u64::MAX)).await.expect("the stream ends");
    kernel.shutdown().await;
}
