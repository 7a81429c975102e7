//! `cardwire open`: the way from a terminal to the pages of the inspector (IN-04).

use crate::{
    support::{Backend, Home, Reply, Server, eventually, exchange, send_signal},
    teams::stage::Process,
};
use cardwire_store_sqlite::SqliteStore;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt, sync::Arc};

/// `cardwire open` without a live server: a process that serves until it is told to end.
pub(crate) struct Opened {
    process: Process,
    home: Arc<Home>,
    /// What it printed first.
    pub(crate) address: String,
}

impl Opened {
    pub(crate) fn start(home: &Arc<Home>, args: &[&str]) -> Self {
        let mut process = Process::start(home.command(&[&["open"], args].concat()), home, "open.log");
        let address = eventually("an address is printed", || {
            assert!(!process.has_ended(), "{}", said(home));
            said(home)
                .lines()
                .find(|line| line.starts_with("http://") && line.contains('#'))
                .map(str::to_owned)
        });
        Self { process, home: Arc::clone(home), address }
    }

    /// What it said so far.
    pub(crate) fn said(&self) -> String {
        said(&self.home)
    }

    /// Sends a signal, and gives the exit code.
    pub(crate) fn end(mut self, signal: &str) -> i32 {
        send_signal(self.process.id(), signal);
        let code = eventually("it ends", || self.process.ended());
        fs::remove_file(self.home.root().join("open.log")).unwrap();
        code
    }
}

fn said(home: &Home) -> String {
    fs::read_to_string(home.root().join("open.log")).unwrap_or_default()
}

/// `HOST:PORT` of an address.
pub(crate) fn host(address: &str) -> &str {
    address.strip_prefix("http://").unwrap().split('/').next().unwrap()
}

/// What a browser does with an address that signs it in: posts the code, and follows with the cookie.
pub(crate) fn browse(address: &str) -> Reply {
    let (host, cookie, target) = sign_in(address);
    look(host, &cookie, target)
}

/// A page, for a browser that is signed in.
pub(crate) fn look(host: &str, cookie: &str, path: &str) -> Reply {
    exchange(host, format!("GET {path} HTTP/1.0\r\nhost: {host}\r\ncookie: {cookie}\r\n\r\n").as_bytes())
}

/// Posts the code of an address. Gives the host, the cookie and the page that the address leads to.
pub(crate) fn sign_in(address: &str) -> (&str, String, &str) {
    let (page, code) = address.split_once('#').unwrap();
    let (host, target) = (host(address), page.split_once("?target=").unwrap().1);
    let form = format!("code={code}&target={target}");
    let head = format!("POST /inspect/login HTTP/1.0\r\nhost: {host}\r\norigin: http://{host}\r\n");
    let kind = "content-type: application/x-www-form-urlencoded";
    let signed_in =
        exchange(host, format!("{head}{kind}\r\ncontent-length: {}\r\n\r\n{form}", form.len()).as_bytes());
    assert_eq!((signed_in.status, signed_in.header("location")), (303, Some(target)), "{signed_in:?}");
    let cookie = signed_in.header("set-cookie").unwrap().split(';').next().unwrap();
    (host, cookie.to_owned(), target)
}

#[test]
fn open_gives_an_address_that_signs_a_browser_in() {
    let server = Server::start(&[]);
    let home = server.home.clone();
    home.ok(&["project", "create", "p1"]);
    let opened = home.json(&["open", "-p", "p1"]);
    let url = opened["url"].as_str().unwrap();
    let (address, code) = url.split_once('#').unwrap();
    assert_eq!(address, format!("http://{}/inspect/login?target=/inspect/p/p1", server.address()));
    assert_eq!((code.len(), &opened["expires_in_seconds"]), (64, &json!(60)));
    let page = browse(url);
    assert!(page.status == 200 && page.header("content-security-policy").is_some(), "{page:?}");
    assert!(home.ok(&["open", "turn_1", "-p", "p1"]).contains("/inspect/p/p1/runs/turn_1#"));
}

#[test]
fn open_starts_a_server_where_none_lives_and_ends_in_order_on_sqlite() {
    opens_without_a_server(Backend::Sqlite);
}

#[test]
fn open_starts_a_server_where_none_lives_and_ends_in_order_on_postgres() {
    opens_without_a_server(Backend::Postgres);
}

fn opens_without_a_server(backend: Backend) {
    let home = Home::new(backend);
    {
        let _server = home.up(&[]);
        home.ok(&["project", "create", "p1"]);
    }
    for signal in ["INT", "TERM"] {
        let opened = Opened::start(&home, &["-p", "p1"]);
        assert!(opened.said().contains("until Ctrl-C"), "{}", opened.said());
        assert!(browse(&opened.address).body.contains("p1"));
        // A second `open` finds the server that the first one started.
        let second = home.json(&["open", "-p", "p1"]);
        assert_eq!(host(second["url"].as_str().unwrap()), host(&opened.address));
        assert_eq!(browse(second["url"].as_str().unwrap()).status, 200);
        assert_eq!(home.json(&["project", "list"])["items"].as_array().unwrap().len(), 1);
        assert_eq!(opened.end(signal), 0);
        assert!(!home.server_file().exists(), "nobody is sent there any more");
    }
}

#[test]
fn open_tells_programs_the_address_and_serves_on() {
    let home = Home::new(Backend::Sqlite);
    home.ok(&["project", "create", "p1"]);
    let mut process = Process::start(home.command(&["open", "--json"]), &home, "open.log");
    let told = eventually("an address is told", || serde_json::from_str::<Value>(&said(&home)).ok());
    assert_eq!(told["expires_in_seconds"], 60);
    assert_eq!(browse(told["url"].as_str().unwrap()).status, 200);
    send_signal(process.id(), "TERM");
    assert_eq!(eventually("it ends", || process.ended()), 0);
}

#[test]
fn open_makes_no_store_and_takes_none_that_is_in_use() {
    let home = Home::new(Backend::Sqlite);
    home.cardwire(&["open"]).failed(3, "there is no store in it");
    assert!(!home.data_dir().exists());
    home.ok(&["project", "create", "p1"]);
    let _held = held_store(&home);
    let refused = home.cardwire(&["open"]);
    refused.failed(4, "in use by");
    assert!(refused.stderr.contains("hint: `cardwire run` without a server"), "{refused:?}");
}

/// The store as a command holds it that works alone.
fn held_store(home: &Home) -> SqliteStore {
    SqliteStore::open(&home.database()).unwrap()
}

#[test]
fn open_finds_the_project_of_a_run() {
    let server = Server::start(&[]);
    let home = server.home.clone();
    home.cardwire(&["open", "turn_1"]).failed(3, "the run `turn_1` is not in any of 0 projects");
    for project in ["p1", "p2"] {
        home.ok(&["project", "create", project]);
    }
    home.ok(&["profile", "put", "echo", "--worker-target", "x", "--system-prompt", "Echo.", "-p", "p2"]);
    home.ok(&["agent", "add", "a", "--profile", "echo", "-p", "p2"]);
    let turn = home.ok(&["turn", "dispatch", "--agent", "a", "--text", "Hello", "-p", "p2"]);
    assert!(home.ok(&["open", &turn]).contains(&format!("/inspect/p/p2/runs/{turn}#")));
    let unknown = turn.replace(|digit: char| digit.is_ascii_hexdigit(), "0");
    home.cardwire(&["open", &unknown]).failed(3, "is not in any of 2 projects");
    // The same without a server.
    assert_eq!(server.terminate().code(), Some(0));
    let opened = Opened::start(&home, &[&turn]);
    assert!(browse(&opened.address).body.contains(&turn));
    assert_eq!(opened.end("INT"), 0);
    home.cardwire(&["open", &unknown]).failed(3, "is not in any of 2 projects");
}

/// The browser is for a person who sits at a desktop.
#[test]
fn open_opens_the_browser_of_the_desktop_for_a_person_alone() {
    let server = Server::start(&[]);
    let home = server.home.clone();
    let opener = home.root().join("bin/xdg-open");
    home.file("bin/xdg-open", "#!/bin/sh\necho \"$1\" > opened.part && mv opened.part opened\n");
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", opener.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let shown = home.root().join("opened");
    let desktop = [("PATH", path.as_str()), ("DISPLAY", ":7")];

    let nowhere = [("PATH", path.as_str()), ("DISPLAY", ""), ("WAYLAND_DISPLAY", "")];
    assert_eq!(home.on_terminal_with(&["open"], &nowhere, &[]).code, 0);
    assert_eq!(home.on_terminal_with(&["open", "--json"], &desktop, &[]).code, 0);
    let mut piped = home.command(&["open"]);
    assert!(piped.envs(desktop).output().unwrap().status.success());
    assert!(!shown.exists(), "no person looks at a desktop there");

    let opened = home.on_terminal_with(&["open"], &desktop, &[]);
    assert_eq!(opened.code, 0, "{opened:?}");
    let address = eventually("the browser is opened", || fs::read_to_string(&shown).ok());
    assert!(opened.stdout.contains(address.trim()), "{opened:?} opened {address}");
    // Where no browser comes of it, the address is enough.
    fs::write(&opener, "#!/bin/sh\nexit 3\n").unwrap();
    assert_eq!(home.on_terminal_with(&["open"], &desktop, &[]).code, 0);
}
