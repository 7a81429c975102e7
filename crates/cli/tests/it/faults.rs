//! NF-13: when no more can be written, a clear error and no partial fact; when the fault ends, work goes on.

use crate::support::{Backend, Home, Lines};
use serde_json::{Value, json};
use std::process::{Child, Command, Stdio};

/// A server that may write files up to so many KiB each. The limit is the operating system's: writing past it
/// fails as a full disk does.
struct Limited {
    child: Child,
    url: String,
    token: String,
    _lines: Lines,
}

impl Limited {
    fn start(home: &Home, kib: u32) -> Self {
        let server = home.command(&["up", "--listen", "127.0.0.1:0"]);
        let mut bash = Command::new("bash");
        // Ignored signals stay ignored over exec: without this the process is killed instead of told.
        bash.args(["-c", &format!("trap '' XFSZ; ulimit -S -f {kib}; exec \"$@\""), "limited"])
            .arg(server.get_program())
            .args(server.get_args())
            .current_dir(home.root())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        for (name, value) in server.get_envs() {
            match value {
                Some(value) => bash.env(name, value),
                None => bash.env_remove(name),
            };
        }
        let mut child = bash.spawn().unwrap();
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
        let address = self.url.strip_prefix("http://").unwrap();
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.0\r\nhost: localhost\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n{body}",
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

#[test]
fn a_full_disk_is_said_clearly_loses_nothing_and_is_survived() {
    let home = Home::new(Backend::Sqlite);
    home.ok(&["project", "create", "p1"]);
    let server = Limited::start(&home, 4_000);
    let put = |n: usize| {
        let text = format!("{n} {}", "x".repeat(100_000));
        server.post("/projects/p1/l0/cards", &json!({ "content": text, "metadata": { "type": "x" } }))
    };
    let mut acknowledged = vec![];
    let refused = (0..1_000).find_map(|n| match put(n) {
        (201, card) => {
            acknowledged.push(card["card_id"].as_str().unwrap().to_owned());
            None
        }
        other => Some(other),
    });
    let (status, body) = refused.expect("the limit was never reached");
    assert_eq!((status, &body["error"]["code"]), (503, &json!("unavailable")), "{body}");
    assert!(acknowledged.len() > 5);
    // Reading goes on, nothing acknowledged is lost, nothing refused is there.
    let read = |ids: &[String]| server.post("/projects/p1/cards/batch", &json!({ "card_ids": ids })).1;
    let count = |ids: &[String]| read(ids)["cards"].as_array().unwrap().len();
    assert_eq!(count(&acknowledged), acknowledged.len());
    let report = |server: &Limited| server.post("/admin/verify", &json!({})).1;
    server.lift();
    let (status, card) = put(1_000);
    assert_eq!(status, 201, "work goes on: {card}");
    acknowledged.push(card["card_id"].as_str().unwrap().to_owned());
    assert_eq!(count(&acknowledged), acknowledged.len());
    let report = report(&server);
    assert_eq!(report["ok"], true);
    assert_eq!(report["realms"][1]["cards"], acknowledged.len(), "no partial fact");
}
