//! Connections on a clock of their own.

use super::*;
use axum::routing::get;
use cardwire_kernel::spawn::Tasks;
use std::net::Ipv4Addr;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream},
    time::Instant,
};

/// How long an answer is that no buffer takes in.
const LONG: usize = 8 << 20;

/// The client's end of a connection, and when the server's end was closed.
struct Client {
    stream: DuplexStream,
    ended: tokio::task::JoinHandle<Duration>,
    tasks: Tasks,
}

/// A connection on which HTTP/1 was recognised.
fn connect() -> Client {
    connect_for(Speech::Http1)
}

fn connect_for(speech: Speech) -> Client {
    let router =
        Router::new().route("/", get(|| async { "here" })).route("/long", get(|| async { vec![0_u8; LONG] }));
    let (stream, server) = tokio::io::duplex(4096);
    let guests = Arc::new(Guests::new(Room::within(64)));
    let guest = guests.admit(Ipv4Addr::LOCALHOST.into()).unwrap();
    let (tasks, begun) = (Tasks::default(), Instant::now());
    let stop = tasks.stop();
    let ended = tokio::spawn(async move {
        let stream = Watched::new(Box::new(server), Arc::clone(&guest));
        speak(stream, speech, &guest, router, stop).await;
        begun.elapsed()
    });
    Client { stream, ended, tasks }
}

impl Client {
    async fn say(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    async fn ask(&mut self) {
        self.say("GET / HTTP/1.1\r\nHost: here\r\n\r\n").await;
        let mut answer = vec![];
        while !answer.ends_with(b"here") {
            assert!(self.stream.read_buf(&mut answer).await.unwrap() > 0);
        }
    }
}

fn is_about(took: Duration, expected: Duration) -> bool {
    took >= expected && took < expected + 4 * GOODBYE
}

/// F-37, SEC-07
#[tokio::test(start_paused = true)]
async fn a_connection_without_a_whole_request_is_closed() {
    for begun in ["", "G", "GET / HTTP/1.1\r\nHo"] {
        for speech in [Speech::Http1, Speech::Either] {
            let mut client = connect_for(speech);
            client.say(begun).await;
            let took = client.ended.await.unwrap();
            assert!(is_about(took, FIRST_REQUEST), "{begun:?}: {took:?}");
        }
    }
}

/// F-37, SEC-07
#[tokio::test(start_paused = true)]
async fn bytes_that_come_one_by_one_win_no_time() {
    let mut client = connect();
    let head = "GET / HTTP/1.1\r\nHost: here\r\nX: ".bytes().chain(std::iter::repeat(b'x'));
    let drip = async {
        for byte in head {
            if client.stream.write_all(&[byte]).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    drip.await;
    assert!(is_about(client.ended.await.unwrap(), FIRST_REQUEST));
}

/// F-37, SEC-07
#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed_and_a_busy_one_is_not() {
    let mut client = connect();
    for _ in 0..5 {
        client.ask().await;
        tokio::time::sleep(IDLE * 3 / 4).await;
    }
    let last = IDLE * 15 / 4;
    let took = client.ended.await.unwrap();
    assert!(took >= last && took <= last + 2 * IDLE, "{took:?}");
}

/// F-37, F-44
#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_its_answer_is_given_up() {
    let mut client = connect();
    client.say("GET /long HTTP/1.1\r\nHost: here\r\n\r\n").await;
    let took = client.ended.await.unwrap();
    assert!(is_about(took, Duration::from_secs(limits::STALLED_ANSWER_SECONDS)), "{took:?}");
}

/// F-44, API-13
#[tokio::test(start_paused = true)]
async fn a_stop_closes_what_has_no_request_under_way() {
    let mut client = connect();
    client.ask().await;
    client.say("GET / HT").await;
    client.tasks.begin_shutdown();
    assert!(client.ended.await.unwrap() < Duration::from_secs(2));
}
