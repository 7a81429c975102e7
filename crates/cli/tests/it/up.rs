//! `cardwire up`: start, files, refusals, end (API-17, SEC-01, CB-18).

use crate::support::{Backend, Home, Lines, Server, eventually};
use serde_json::{Value, json};
use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Stdio,
    time::Duration,
};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// API-17, CB-18
#[test]
fn a_server_announces_itself_serves_and_tidies_up() {
    let server = Server::start(&[]);
    assert_eq!(server.get("/ready").json()["status"], "ready");
    let announced: Value = serde_json::from_slice(&fs::read(server.home.server_file()).unwrap()).unwrap();
    assert_eq!(announced, json!({ "url": server.url, "pid": server.pid() }));
    assert_eq!(mode(&server.home.server_file()), 0o600);

    let home = server.home.clone();
    let status = server.terminate();
    assert_eq!(status.code(), Some(0));
    assert!(!home.server_file().exists());
}

/// API-06: what comes of a request that is refused before its body is there.
#[test]
fn a_connection_carries_the_next_request_after_a_refusal_or_says_that_it_ends() {
    let server = Server::start(&[]);
    let address = server.address().to_owned();
    let connect = || {
        let stream = TcpStream::connect(&address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    };
    let told = |stream: &mut TcpStream| {
        let mut text = String::new();
        stream.set_read_timeout(None).unwrap();
        let _ = stream.read_to_string(&mut text);
        text
    };
    for path in ["/nowhere", "/projects", "/health"] {
        let head = format!("POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-length: 2\r\n\r\n");
        let mut stream = connect();
        stream.write_all(head.as_bytes()).unwrap();
        // Whoever answers already does so now, and does not wait for the body.
        stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let _ = stream.peek(&mut [0]);
        let next = format!("{{}}GET /health HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        let _ = stream.write_all(next.as_bytes());
        let text = told(&mut stream);
        assert!(text.starts_with("HTTP/1.1 40") && text.contains("HTTP/1.1 200"), "{path}: {text}");

        let mut silent = connect();
        silent.write_all(head.as_bytes()).unwrap();
        let text = told(&mut silent);
        assert!(text.starts_with("HTTP/1.1 40") && text.contains("connection: close"), "{path}: {text}");
    }
}

#[test]
fn an_interrupt_ends_a_server_as_well() {
    assert_eq!(Server::start(&[]).signal("INT").code(), Some(0));
}

/// SEC-01
#[test]
fn the_admin_token_is_all_there_is_in_a_file_for_its_owner() {
    let server = Server::start(&[]);
    assert_eq!(mode(&server.dir), 0o700);
    let path = server.dir.join("admin.token");
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&server.home.database()), 0o600);
    let token = fs::read_to_string(&path).unwrap();
    let digits = token.strip_prefix("cw_").unwrap();
    assert!(digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit()), "{}", token.len());
    assert_eq!(server.get("/tokens").status, 200);
    assert!(!server.log().contains(digits), "the log holds the token");
}

/// SEC-01, F-14
#[test]
fn whether_it_lives_and_is_ready_and_how_to_talk_to_it_is_told_without_a_token() {
    let server = Server::start(&[]);
    let bare = |path: &str| server.request_with("GET", path, &[], b"");
    assert_eq!(bare("/health").status, 200);
    assert_eq!(bare("/ready").json(), json!({ "status": "ready" }), "and nothing of what is inside");
    assert_eq!(bare("/openapi.json").json()["openapi"], "3.1.0");
    let refused = bare("/metrics");
    assert_eq!(
        (refused.code().as_str(), refused.header("www-authenticate")),
        ("unauthenticated", Some("Bearer"))
    );
    let unknown = server.request_as("cw_nobody", "GET", "/ready", "");
    assert_eq!(unknown.code(), "unauthenticated", "a wrong token is told from none");
}

/// SEC-07, F-14
#[test]
fn callers_without_a_token_have_a_rate_by_address() {
    let server = Server::start(&[]);
    let until_refused =
        || (0..10_000).map(|_| server.request_with("GET", "/ready", &[], b"")).find(|r| r.status == 429);
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..8).map(|_| scope.spawn(until_refused)).collect();
        for caller in callers {
            let reply = caller.join().unwrap().expect("some request is refused");
            assert_eq!((reply.code().as_str(), reply.header("retry-after")), ("rate_limited", Some("1")));
        }
    });
    // Neither those who are known nor those who ask for what costs nothing are held up by them.
    assert_eq!(server.get("/ready").status, 200);
    assert_eq!(server.request_with("GET", "/health", &[], b"").status, 200);
}

/// API-17
#[test]
fn a_second_server_on_the_same_data_is_refused_with_the_pid_of_the_first() {
    let server = Server::start(&[]);
    let second = server.home.cardwire(&["up", "--listen", "127.0.0.1:0"]);
    second.failed(4, &format!("process {}", server.pid()));
    assert!(second.stderr.contains("\nhint: "), "{second:?}");
    assert_eq!(server.get("/ready").status, 200, "the first goes on");
    assert!(server.home.server_file().exists(), "and its address stays");
}

/// SEC-01
#[test]
fn a_bind_that_others_can_reach_is_refused_before_anything_is_made() {
    let home = Home::new(Backend::Sqlite);
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let refused = home.cardwire(&["up", "--listen", listen]);
        refused.failed(2, "other machines");
        assert!(refused.stderr.contains("--insecure-behind-proxy"), "{refused:?}");
    }
    assert!(!home.data_dir().exists());
}

/// SEC-01
#[test]
fn behind_a_proxy_a_server_may_listen_everywhere() {
    let home = Home::new(Backend::Sqlite);
    let server = home.up(&["--listen", "0.0.0.0:0", "--insecure-behind-proxy"]);
    assert!(server.url.starts_with("http://0.0.0.0:"), "{}", server.url);
    // Commands on this machine are told an address they can call.
    let announced: Value = serde_json::from_slice(&fs::read(home.server_file()).unwrap()).unwrap();
    assert!(announced["url"].as_str().unwrap().starts_with("http://127.0.0.1:"), "{announced}");
    assert_eq!(home.json(&["project", "list"]), json!({ "items": [] }));
}

#[test]
fn an_address_that_is_none_is_a_usage_error() {
    let home = Home::new(Backend::Sqlite);
    for listen in ["7117", "127.0.0.1", "127.0.0.1:99999", ""] {
        home.cardwire(&["up", "--listen", listen]).failed(2, "is not an address");
    }
    assert_eq!(home.cardwire(&["up", "--rate-limit", "0"]).code, 2);
    assert_eq!(home.cardwire(&["up", "--store", "mysql://x"]).code, 2);
    assert!(!home.data_dir().exists());
}

#[test]
fn a_port_that_is_taken_is_said_to_be() {
    let server = Server::start(&[]);
    let other = Home::new(Backend::Sqlite);
    let refused = other.cardwire(&["up", "--listen", server.address()]);
    refused.failed(1, "cannot listen on");
    assert!(refused.stderr.contains("hint: choose another port"), "{refused:?}");
    assert!(!other.server_file().exists());
}

/// CB-18
#[test]
fn cards_boxes_and_the_token_survive_a_restart() {
    let server = Server::start(&[]);
    let home = server.home.clone();
    home.ok(&["project", "create", "p1"]);
    let cards = [home.put_card("one"), home.put_card("two")];
    let card_box = home.ok(&["box", "create", "--project", "p1", &cards[0], &cards[1]]);
    let (token, before) =
        (server.token.clone(), home.json(&["box", "show", "-p", "p1", &card_box, "--cards"]));
    assert_eq!(server.terminate().code(), Some(0));

    let again = home.up(&[]);
    assert_eq!(again.token, token);
    assert_eq!(home.json(&["box", "show", "-p", "p1", &card_box, "--cards"]), before);
    assert_eq!(before[1]["content"], "two");
}

/// API-17: after a crash the address in the data directory is nobody's.
#[test]
fn what_a_killed_server_left_behind_is_ignored() {
    let server = Server::start(&[]);
    let home = server.home.clone();
    assert_eq!(server.post("/projects", json!({ "project_id": "p1" })).status, 201);
    server.kill();
    assert!(home.server_file().exists());
    assert_eq!(home.json(&["project", "show", "p1"])["project_id"], "p1");
    assert!(home.ok(&["doctor"]).contains("warn  server: "), "{}", home.ok(&["doctor"]));
    let again = home.up(&[]);
    assert_eq!(again.get("/projects/p1").status, 200);
}

/// API-13: a client that listens does not keep the server from ending.
#[test]
fn an_open_event_stream_does_not_hold_up_the_end() {
    let server = Server::start(&[]);
    let home = server.home.clone();
    home.ok(&["project", "create", "p1"]);
    let mut tail = home.command(&["event", "tail", "--follow", "--project", "p1"]);
    let mut tail = tail.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = Lines::of(tail.stdout.take().unwrap());
    assert!(lines.next().unwrap().contains("project.created"));
    assert_eq!(server.terminate().code(), Some(0));
    tail.kill().unwrap();
    tail.wait().unwrap();
}

#[test]
fn logs_are_json_when_asked_for_and_hold_no_secret_of_the_bus() {
    let server = Server::start(&["--log-format", "json", "--bus", "nats://me:hunter2@localhost"]);
    server.get("/ready");
    eventually("the request is logged", || server.log().contains("/ready").then_some(()));
    let log = server.log();
    for line in log.lines() {
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
    assert!(!log.contains("hunter2"), "{log}");
}

/// API-14
#[test]
fn metrics_count_requests() {
    let server = Server::start(&[]);
    server.get("/ready");
    let metrics = server.get("/metrics").body;
    assert!(metrics.contains("cardwire_http_requests_total{"), "{metrics}");
    assert!(metrics.contains("cardwire_http_request_seconds"), "{metrics}");
}

/// SEC-03
#[test]
fn only_known_hosts_are_served() {
    let server = Server::start(&["--allow-host", "cards.example"]);
    let status = |host: &str| server.request_with("GET", "/health", &[("host", host)], b"").status;
    assert_eq!(status("cards.example"), 200);
    assert_eq!(status("evil.example"), 403);
}

/// SEC-07
#[test]
fn the_rate_limit_can_be_set() {
    let server = Server::start(&["--rate-limit", "1"]);
    let statuses: Vec<u16> = (0..20).map(|_| server.get("/ready").status).collect();
    assert!(statuses.contains(&429), "{statuses:?}");
}
