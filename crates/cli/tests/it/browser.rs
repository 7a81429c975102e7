//! The inspector in a real browser, on the data of real runs (IN-02..IN-11): each journey is a program in `browser/`, which drives
//! Chromium against a real server and asks this side for commands, and for servers that are killed. A journey fails on the first
//! thing that the browser complains of.
//!
//! `UPDATE_GOLDEN=1` writes anew what assistive technology is told of a page.

use crate::support::{Backend, Home, Lines, Server};
use serde_json::{Value, json};
use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
};

/// What journeys need; `cargo xtask test` and `cargo xtask services` install it and set these.
const NODE_MODULES: &str = "CARDWIRE_TEST_NODE_MODULES";
const CHROMIUM: &str = "CARDWIRE_TEST_CHROMIUM";
/// IN-01
const SCRIPT_BYTES: u64 = 60_000;

macro_rules! journeys {
    ($($(#[$doc:meta])* $name:ident, $file:literal;)*) => {
        $(mod $name {
            $(#[$doc])*
            #[test]
            fn on_sqlite() {
                super::travel($file, crate::support::Backend::Sqlite);
            }

            $(#[$doc])*
            #[test]
            fn on_postgres() {
                super::travel($file, crate::support::Backend::Postgres);
            }
        })*
    };
}

journeys! {
    /// IN-02, IN-04, IN-05, IN-10
    a_reader_finds_out_why_an_agent_did_not_know, "reading";
    /// IN-04, IN-11
    a_person_answers_and_stops, "acting";
    /// IN-07, IN-11
    open_pages_follow_what_happens, "living";
    /// IN-03
    what_cards_say_stays_text, "hostile";
}

/// IN-08, IN-09: pages are made above the stores.
#[test]
fn no_page_shuts_anybody_out() {
    travel("barriers", Backend::Sqlite);
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/browser")
}

fn installed(variable: &str) -> PathBuf {
    let found = std::env::var_os(variable);
    found
        .unwrap_or_else(|| panic!("{variable} is not set: run `cargo xtask test`, or `cargo xtask services`"))
        .into()
}

/// Runs a journey to its end.
fn travel(name: &str, backend: Backend) {
    let home = Home::new(backend);
    let mut stage = Stage { server: Some(home.up(&[])), address: String::new(), home, others: vec![] };
    let server = stage.server.as_ref().unwrap();
    stage.address = server.address().to_owned();
    let mut command = Command::new("node");
    command.arg(folder().join(format!("{name}.mjs")));
    command.env(NODE_MODULES, installed(NODE_MODULES)).env(CHROMIUM, installed(CHROMIUM));
    command.env("JOURNEY_SERVER", &server.url).env("JOURNEY_TOKEN", &server.token);
    command.env("JOURNEY_EXAMPLES", Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut journey = Ended(command.spawn().unwrap());
    let lines = Lines::of(journey.0.stdout.take().unwrap());
    let mut answers = journey.0.stdin.take().unwrap();
    while let Some(line) = lines.next() {
        match serde_json::from_str::<Value>(&line) {
            Ok(asked) if asked["do"].is_string() => {
                writeln!(answers, "{}", stage.answer(&asked)).unwrap();
            }
            Ok(_) | Err(_) => println!("{line}"),
        }
    }
    let status = journey.0.wait().unwrap();
    assert!(status.success(), "the journey `{name}` failed ({status}); what it saw is above");
}

/// What a journey may ask for.
struct Stage {
    home: Arc<Home>,
    server: Option<Server>,
    address: String,
    /// Commands that go on in the background.
    others: Vec<Ended>,
}

impl Stage {
    fn answer(&mut self, asked: &Value) -> Value {
        let args: Vec<&str> =
            asked["args"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        match asked["do"].as_str().unwrap() {
            "cardwire" => {
                let run = self.home.cardwire(&args);
                return match run.code {
                    0 => json!({ "ok": run.stdout.trim_end_matches('\n') }),
                    _ => json!({ "error": format!("{run:?}") }),
                };
            }
            "begin" => {
                let mut command = self.home.command(&args);
                command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
                self.others.push(Ended(command.spawn().unwrap()));
            }
            "file" => self.home.file(asked["name"].as_str().unwrap(), asked["text"].as_str().unwrap()),
            "kill" => self.server.take().unwrap().kill(),
            "up" => self.server = Some(self.home.up(&["--listen", &self.address])),
            other => return json!({ "error": format!("nobody knows how to do {other}") }),
        }
        json!({ "ok": null })
    }
}

/// A process that ends with its value.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // After its end there is nothing left to do.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn scripts() -> Vec<PathBuf> {
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../inspector/assets");
    let files = std::fs::read_dir(assets).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "js")).collect()
}

/// IN-01
#[test]
fn the_scripts_of_the_inspector_pass_the_type_checker() {
    let mut checker = Command::new("node");
    checker.arg(installed(NODE_MODULES).join("typescript/bin/tsc"));
    checker.args(["--allowJs", "--checkJs", "--strict", "--noEmit", "--module", "es2022"]);
    checker.args(["--target", "es2023", "--lib", "es2023,dom,dom.iterable"]).args(scripts());
    let output = checker.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// IN-01
#[test]
fn the_scripts_of_the_inspector_are_small() {
    let bytes: u64 = scripts().iter().map(|path| path.metadata().unwrap().len()).sum();
    assert!((1..=SCRIPT_BYTES).contains(&bytes), "{bytes} bytes, and {SCRIPT_BYTES} are the most");
}
