//! What clients may do to a server before it knows them, over real sockets.

use crate::support::{Api, Backend};
use axum::http::Request;
use cardwire_model::limits;
use cardwire_server::{Listening, Room, serve};
use serde_json::json;
use std::{io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
    time::{Instant, timeout},
};

/// A server on a socket.
struct Served {
    api: Api,
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<io::Result<()>>,
}

impl Served {
    async fn start(room: Room) -> Self {
        let api = Api::start(Backend::Sqlite).await;
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let until = Box::pin(async { drop(stopped.await) });
        let listening = Listening::plain(socket, room);
        let ended = tokio::spawn(serve(listening, api.router.clone(), Arc::clone(&api.kernel), until));
        Self { api, address, stop, ended }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// A connection on which this was sent.
    async fn half_open(&self, sent: &str) -> TcpStream {
        let mut stream = self.connect().await;
        stream.write_all(sent.as_bytes()).await.unwrap();
        stream
    }

    /// What comes back for raw bytes, until the server closes the connection or says no more.
    async fn raw(&self, sent: &str) -> String {
        let (mut stream, mut answer) = (self.half_open(sent).await, vec![]);
        let _ = timeout(Duration::from_secs(3), stream.read_to_end(&mut answer)).await;
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The status of a request with a token, on a connection of its own.
    async fn status(&self, path: &str, token: &str) -> String {
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        );
        let answer = self.raw(&head).await;
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    }
}

/// F-37, SEC-07
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_open_connections_do_not_keep_an_honest_client_waiting() {
    let served = Served::start(Room::within(64)).await;
    let sent =
        ["", "G", "GET /ready HTTP/1.1\r\nHost: local", "POST /projects HTTP/1.1\r\nHost: localhost\r\n"];
    let mut open = vec![];
    for n in 0..500 {
        open.push(served.half_open(sent[n % sent.len()]).await);
        if n % 50 == 0 {
            let begun = Instant::now();
            assert_eq!(served.status("/projects/p1", &served.api.admin).await, "200");
            assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
        }
    }
}

/// F-37: a body that does not come is waited for only when its sender is known, also if it names a turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_unknown_is_waited_for() {
    let served = Served::start(Room::within(64)).await;
    let token = format!("cwturn_p1.turn_0192f0c123457abc8def0123456789ab.{}", "0".repeat(64));
    for (method, path, status) in
        [("POST", "/projects", "401"), ("POST", "/projects/p1/l0/reports", "401"), ("GET", "/health", "400")]
    {
        let begun = Instant::now();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Length: 100\r\n\r\n{{"
        );
        let answer = served.raw(&head).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {answer}");
        assert!(answer.contains("connection: close"), "{answer}");
        assert!(begun.elapsed() < Duration::from_secs(2), "{path}: {:?}", begun.elapsed());
    }
}

/// F-26, SEC-07
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_unknown_tokens_is_refused_unseen_and_hurts_no_token_that_was_accepted() {
    let served = Served::start(Room::within(4096)).await;
    let known = served.api.token(json!({ "scopes": ["read"], "project_id": "p1" })).await;
    assert_eq!(served.status("/projects/p1", &known).await, "200");
    let mut answers = std::collections::BTreeMap::<String, u32>::new();
    for n in 0..3 * limits::FAILED_LOOKUPS {
        let token = if n % 3 == 0 { format!("bad{n}") } else { format!("cw_{n:064x}") };
        *answers.entry(served.status("/projects/p1", &token).await).or_default() += 1;
    }
    let refused = answers.remove("401").unwrap_or_default();
    assert!((limits::FAILED_LOOKUPS..=limits::FAILED_LOOKUPS + 50).contains(&refused), "{refused}");
    assert_eq!(
        answers.into_iter().collect::<Vec<_>>(),
        [("429".to_owned(), 3 * limits::FAILED_LOOKUPS - refused)]
    );
    assert_eq!(served.status("/projects/p1", &known).await, "200");
    // What this process asks itself comes from no address.
    served.api.with("bad", "GET", "/projects/p1", "").await.expect_error(401, "unauthenticated");
}

/// F-43
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_names_its_host_once() {
    let served = Served::start(Room::within(64)).await;
    let answer = async |head: &str| {
        let answer = served.raw(&format!("{head}Connection: close\r\n\r\n")).await;
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    assert_eq!(answer("GET /health HTTP/1.1\r\nHost: localhost\r\n").await, "200");
    assert_eq!(answer("GET /health HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n").await, "400");
    assert_eq!(answer("GET http://localhost/health HTTP/1.1\r\nHost: localhost\r\n").await, "200");
    assert_eq!(answer("GET http://localhost/health HTTP/1.1\r\nHost: 127.0.0.1\r\n").await, "400");
    assert_eq!(answer("GET http://evil.example/health HTTP/1.1\r\nHost: evil.example\r\n").await, "403");
    assert_eq!(answer("GET /health HTTP/1.1\r\n").await, "400");
    // HTTP/2 names it in the address.
    let of_http2 = |uri: &str| Request::builder().uri(uri).body(axum::body::Body::empty()).unwrap();
    served.api.send(of_http2("http://localhost/health")).await.expect(200);
    served.api.send(of_http2("http://evil.example/health")).await.expect_error(403, "forbidden");
    served.api.send(of_http2("/health")).await.expect_error(400, "bad_request");
}

/// F-43, SEC-07
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_announced_far_too_long_is_refused_before_it_comes() {
    let served = Served::start(Room::within(64)).await;
    let (token, length) = (&served.api.admin, 10_u64.pow(15));
    let head = format!(
        "POST /projects HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Length: {length}\r\n\r\n"
    );
    let begun = Instant::now();
    let answer = served.raw(&head).await;
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("connection: close"), "{answer}");
    assert!(begun.elapsed() < Duration::from_secs(2));
}

/// F-44, API-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_ends_whatever_clients_do() {
    let served = Served::start(Room::within(64)).await;
    let token = &served.api.admin;
    let stream = format!(
        "GET /projects/p1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    let body = format!(
        "POST /projects HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Length: 100\r\n\r\n{{"
    );
    let mut open = vec![];
    for sent in ["", "GET / HT", &stream, &body] {
        open.push(served.half_open(sent).await);
    }
    // Connections are taken in the order they came, so those before this one were.
    assert_eq!(served.status("/projects/p1", token).await, "200");
    drop(served.stop);
    let limit = Duration::from_secs(limits::STOP_REQUESTS_SECONDS + 1);
    timeout(limit, served.ended).await.expect("the stop ends").unwrap().unwrap();
}
