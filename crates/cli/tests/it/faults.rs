//! NF-13: when no more can be written, a clear error and no partial fact; when the fault ends, work goes on.

use crate::support::{Backend, Home, Lines, Server};
use serde_json::{Value, json};
use std::{
    fs,
    process::{Child, Command, Stdio},
};

/// A command that may write files up to so many KiB each. The limit is the operating system's: writing past it fails as a
/// full disk does.
fn limited(command: &Command, kib: u32) -> Command {
    let mut bash = Command::new("bash");
    // Ignored signals stay ignored over exec: without this the process is killed instead of told.
    bash.args(["-c", &format!("trap '' XFSZ; ulimit -S -f {kib}; exec \"$@\""), "limited"])
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(command.get_current_dir().unwrap());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => bash.env(name, value),
            None => bash.env_remove(name),
        };
    }
    bash
}

/// A server that may write so much.
struct Limited {
    child: Child,
    url: String,
    token: String,
    _lines: Lines,
}

impl Limited {
    fn start(home: &Home, kib: u32) -> Self {
        let mut server = limited(&home.command(&["up", "--listen", "127.0.0.1:0"]), kib);
        let mut child = server.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = Lines::of(child.stdout.take().unwrap());
        let url = lines.next().unwrap().strip_prefix("listening on ").unwrap().to_owned();
        Self { child, url, token: home.token(), _lines: lines }
    }

    /// The disk has room again.
    fn lift(&self) {
        let lifted = Command::new("prlimit")
            .args(["--fsize=unlimited:", "--pid", &self.child.id().to_string()])
            .status();
        assert!(lifted.unwrap().success());
    }

    fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.send("POST", path, &body.to_string())
    }

    fn get(&self, path: &str) -> (u16, Value) {
        self.send("GET", path, "")
    }

    fn send(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let address = self.url.strip_prefix("http://").unwrap();
        let request = format!(
            "{method} {path} HTTP/1.0\r\nhost: localhost\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        );
        let reply = crate::support::exchange(address, request.as_bytes());
        (reply.status, reply.json())
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// NF-13, F-34
#[test]
fn a_full_disk_is_said_clearly_loses_nothing_and_is_survived() {
    let home = Home::new(Backend::Sqlite);
    home.ok(&["project", "create", "p1"]);
    let server = Limited::start(&home, 4_000);
    let put = |n: usize, length: usize| {
        let text = format!("{n} {}", "x".repeat(length));
        server.post("/projects/p1/l0/cards", &json!({ "content": text, "metadata": { "type": "x" } }))
    };
    let mut acknowledged = vec![];
    let mut fill = |length: usize| {
        let refused = (0..1_000).find_map(|n| match put(n, length) {
            (201, card) => {
                acknowledged.push(card["card_id"].as_str().unwrap().to_owned());
                None
            }
            other => Some(other),
        });
        let (status, body) = refused.expect("the limit was never reached");
        assert_eq!((status, &body["error"]["code"]), (503, &json!("unavailable")), "{body}");
        // A limit on files is told by the system as an error of the disk.
        assert_eq!(body["error"]["detail"]["reason"], "disk_error", "{body}");
        assert!(body["error"]["message"].as_str().unwrap().contains("limit on the size of files"), "{body}");
    };
    fill(100_000);
    fill(1);
    assert!(acknowledged.len() > 5);
    // Reading goes on, nothing acknowledged is lost, nothing refused is there.
    let read = |ids: &[String]| -> usize {
        let read = |ids: &[String]| server.post("/projects/p1/cards/batch", &json!({ "card_ids": ids })).1;
        ids.chunks(100).map(|ids| read(ids)["cards"].as_array().unwrap().len()).sum()
    };
    assert_eq!(read(&acknowledged), acknowledged.len());
    // Who asks whether a write would go through is told the same, and who asks whether the process lives is not.
    let (status, body) = server.get("/ready");
    assert_eq!((status, &body["error"]["detail"]["reason"]), (503, &json!("disk_error")), "{body}");
    assert_eq!(server.get("/health").0, 200);
    let doctor = home.cardwire(&["doctor"]);
    assert_eq!(doctor.code, 1, "{doctor:?}");
    assert!(doctor.stdout.contains("fail  store: no write goes through: "), "{doctor:?}");
    // Looking at what there is needs no room, not even for the row that says so.
    let unrecorded = (0..1_000).find(|_| {
        let (status, report) = server.post("/admin/verify", &json!({}));
        assert_eq!((status, &report["ok"]), (200, &json!(true)), "{report}");
        report["recorded"] == false
    });
    assert!(unrecorded.is_some(), "the limit was never reached");
    server.lift();
    crate::support::eventually("the store is ready again", || (server.get("/ready").0 == 200).then_some(()));
    let (status, card) = put(1_000, 100_000);
    assert_eq!(status, 201, "work goes on: {card}");
    acknowledged.push(card["card_id"].as_str().unwrap().to_owned());
    assert_eq!(read(&acknowledged), acknowledged.len());
    let report = server.post("/admin/verify", &json!({})).1;
    assert_eq!((&report["ok"], &report["recorded"]), (&json!(true), &json!(true)));
    assert_eq!(report["realms"][1]["cards"], acknowledged.len(), "no partial fact");
}

/// F-43: writes into files that nobody can open any more are not acknowledged.
#[test]
fn a_database_that_is_removed_under_a_server_is_noticed_at_once() {
    let server = Server::start(&[]);
    let home = server.home.clone();
    home.ok(&["project", "create", "p1"]);
    let aside = home.root().join("aside.db");
    fs::rename(home.database(), &aside).unwrap();
    let body = json!({ "content": "x", "metadata": { "type": "x" } });
    let refused = server.post("/projects/p1/l0/cards", body.clone());
    assert_eq!((refused.status, refused.code().as_str()), (503, "unavailable"), "{refused:?}");
    let ready = server.get("/ready");
    assert_eq!((ready.status, &ready.json()["error"]["detail"]["reason"]), (503, &json!("files_gone")));
    fs::rename(&aside, home.database()).unwrap();
    assert_eq!(server.get("/ready").status, 200);
    assert_eq!(server.post("/projects/p1/l0/cards", body).status, 201);
    fs::remove_file(home.database()).unwrap();
    assert_eq!(server.terminate().code(), Some(0));
    let refused = home.cardwire(&["up", "--listen", "127.0.0.1:0"]);
    refused.failed(1, "admin.token` is there without the database it belongs to");
    assert!(!home.database().exists(), "no empty store was made in its place");
}

/// F-35, NF-01
#[test]
fn commits_that_are_lost_with_the_log_are_noticed_and_given_up_only_on_demand() {
    let server = Server::start(&[]);
    let home = server.home.clone();
    home.ok(&["project", "create", "p1"]);
    let cards: Vec<_> = (0..20).map(|n| home.put_card(&n.to_string())).collect();
    let mark = home.data_dir().join("cardwire.mark");
    crate::support::eventually("the mark is moved", || {
        fs::read_to_string(&mark).is_ok_and(|text| text.contains("\"event\":21,")).then_some(())
    });
    server.kill();
    fs::remove_file(home.data_dir().join("cardwire.db-wal")).unwrap();
    let lost = "acknowledged up to event 21 of project p1, found up to";
    for command in [&["up", "--listen", "127.0.0.1:0"][..], &["card", "get", "-p", "p1", &cards[0]]] {
        let refused = home.cardwire(command);
        refused.failed(1, lost);
        assert!(refused.stderr.contains("--accept-loss"), "{refused:?}");
    }
    let verified = home.cardwire(&["verify"]);
    verified.failed(1, lost);
    let doctor = home.cardwire(&["doctor"]);
    assert!(doctor.stdout.contains(lost), "{doctor:?}");
    let server = home.up(&["--accept-loss"]);
    assert_eq!(server.get("/ready").status, 200);
    home.ok(&["project", "create", "p2"]);
    assert_eq!(server.terminate().code(), Some(0));
    home.ok(&["verify"]);
}

/// F-34, F-36: a copy that may not be written is verified as it is.
#[test]
fn a_store_that_cannot_be_written_is_verified_without_changing_it() {
    let home = Home::new(Backend::Sqlite);
    home.ok(&["project", "create", "p1"]);
    home.put_card("x");
    let listed = || {
        let entry = |entry: std::io::Result<fs::DirEntry>| {
            let entry = entry.unwrap();
            let changed = entry.metadata().unwrap().modified().unwrap();
            (entry.file_name() != "cardwire.lock").then(|| (entry.file_name(), changed))
        };
        let mut files: Vec<_> = fs::read_dir(home.data_dir()).unwrap().filter_map(entry).collect();
        files.sort();
        files
    };
    let before = listed();
    let mut command = limited(&home.command(&["verify"]), 0);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = command.output().unwrap();
    let (told, noted) = (String::from_utf8(run.stdout).unwrap(), String::from_utf8(run.stderr).unwrap());
    assert_eq!(run.status.code(), Some(0), "{told}{noted}");
    assert!(told.contains("found up to"), "{told}");
    assert!(noted.contains("opened for reading alone") && noted.contains("not in the audit log"), "{noted}");
    assert_eq!(listed(), before);
}
