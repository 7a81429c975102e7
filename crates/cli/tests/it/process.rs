//! Which process answers a command, and with which token (API-17).

use crate::support::{Backend, Home, Run, Server};

/// API-17
#[test]
fn a_server_and_the_embedded_store_answer_with_the_same_json() {
    let server = Server::start(&[]);
    let home = server.home.clone();
    home.ok(&["project", "create", "p1", "--title", "One"]);
    let cards = [home.put_card("one"), home.put_card("zwei ☃")];
    let card_box = home.ok(&["box", "create", "-p", "p1", &cards[0], &cards[1]]);
    home.ok(&["token", "create", "--scope", "read", "--project", "p1"]);
    let asks: &[&[&str]] = &[
        &["project", "list"],
        &["project", "show", "p1"],
        &["token", "list"],
        &["card", "get", "-p", "p1", &cards[1], &cards[0]],
        &["box", "show", "-p", "p1", &card_box],
        &["box", "show", "-p", "p1", &card_box, "--cards"],
        &["box", "provenance", "-p", "p1", &card_box],
        &["event", "list", "-p", "p1"],
    ];
    let answer = |args: &&[&str]| home.ok(&[args, &["--json"][..]].concat());
    let from_server: Vec<String> = asks.iter().map(answer).collect();
    // Sealing adds to audit rows a moment after they are written, and a server seals before it ends.
    assert_eq!(server.terminate().code(), Some(0));
    let embedded: Vec<String> = asks.iter().map(answer).collect();
    assert_eq!(from_server, embedded);

    let audit = home.ok(&["audit", "list", "-p", "p1", "--json"]);
    let _server = home.up(&[]);
    assert_eq!(home.ok(&["audit", "list", "-p", "p1", "--json"]), audit);
}

#[test]
fn without_a_server_and_a_store_a_command_fails_and_makes_nothing() {
    let home = Home::new(Backend::Sqlite);
    let run = home.cardwire(&["project", "list"]);
    run.failed(3, "no server is running");
    assert!(run.stderr.contains("hint: start a server with `cardwire up`"), "{run:?}");
    assert!(!home.data_dir().exists());
}

#[test]
fn making_a_project_starts_a_store_that_a_server_takes_over() {
    let home = Home::new(Backend::Sqlite);
    home.ok(&["project", "create", "p1"]);
    let token = home.token();
    let server = home.up(&[]);
    assert_eq!(server.token, token);
    assert_eq!(server.get("/projects/p1").status, 200);
}

#[test]
fn a_given_server_goes_before_the_data_directory() {
    let (one, two) = (Server::start(&[]), Server::start(&[]));
    two.home.ok(&["project", "create", "two"]);
    let ask = |configure: &dyn Fn(&mut std::process::Command)| {
        let mut command = one.home.command(&["project", "list", "--json"]);
        configure(&mut command);
        Run::of(command, "").ok()
    };
    assert_eq!(ask(&|_| {}), r#"{"items":[]}"#);
    let by_flag = ask(&|command| {
        command.args(["--server", &two.url]).env("CARDWIRE_TOKEN", &two.token);
    });
    let by_environment = ask(&|command| {
        command.env("CARDWIRE_URL", &two.url).env("CARDWIRE_TOKEN", &two.token);
    });
    assert!(by_flag.contains("\"two\""), "{by_flag}");
    assert_eq!(by_flag, by_environment);
}

#[test]
fn a_server_that_is_not_there_is_an_error_with_a_hint() {
    let server = Server::start(&[]);
    let (home, url) = (server.home.clone(), server.url.clone());
    server.kill();
    let run = home.cardwire(&["project", "list", "--server", &url]);
    run.failed(1, "cannot reach");
    assert!(run.stderr.contains("hint: "), "{run:?}");
    home.cardwire(&["project", "list", "--server", "127.0.0.1:1"]).failed(2, "is not an address");
    home.cardwire(&["project", "list", "--server", "http://me:x@127.0.0.1:1"]).failed(2, "takes no user");
}

/// SEC-02
#[test]
fn a_token_that_is_none_or_opens_nothing_is_refused() {
    let server = Server::start(&[]);
    let with_token = |token: &str| {
        let mut command = server.home.command(&["project", "list"]);
        command.env("CARDWIRE_TOKEN", token);
        Run::of(command, "")
    };
    let malformed = with_token("hunter2");
    malformed.failed(2, "CARDWIRE_TOKEN");
    assert!(!malformed.stderr.contains("hunter2"), "{malformed:?}");
    let unknown = with_token(&format!("cw_{}", "0".repeat(64)));
    unknown.failed(1, "token");
    assert!(
        unknown.stderr.contains("hint: the token in `CARDWIRE_TOKEN` is none of this server's"),
        "{unknown:?}"
    );
}

/// Commands on the embedded store take turns.
#[test]
fn many_commands_at_once_wait_for_each_other() {
    let home = Home::new(Backend::Sqlite);
    home.ok(&["project", "create", "p1"]);
    let ids: Vec<String> = std::thread::scope(|scope| {
        let put = |n: usize| home.put_card(&n.to_string());
        let threads: Vec<_> = (0..8).map(|n| scope.spawn(move || put(n))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let found = home.json(&[&["card", "get", "-p", "p1"], &ids[..]].concat());
    assert_eq!(found.as_array().unwrap().len(), 8);
}
