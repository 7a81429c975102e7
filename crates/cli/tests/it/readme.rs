//! The README's tour works when pasted, line by line, on both stores.

use crate::support::{Backend, Home};
use std::{net::TcpListener, path::Path, process::Command};

#[test]
fn the_tour_works_on_sqlite() {
    tour(Backend::Sqlite);
}

#[test]
fn the_tour_works_on_postgres() {
    tour(Backend::Postgres);
}

fn tour(backend: Backend) {
    let home = Home::new(backend);
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap();
    let (_, rest) = readme.split_once("<!-- tour -->\n```sh\n").unwrap();
    let (script, _) = rest.split_once("```\n<!-- /tour -->").unwrap();
    // The binary under test instead of a release build, and a port that is free here.
    let (build, script) = script.split_once('\n').unwrap();
    assert!(build.starts_with("cargo build --release --bin cardwire"), "{build}");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    assert!(script.contains("7117"));
    let script = script.replace("7117", &port.to_string());

    let examples = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples"));
    std::os::unix::fs::symlink(examples, home.root().join("examples")).unwrap();

    let binary = Path::new(env!("CARGO_BIN_EXE_cardwire"));
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut bash = Command::new("bash");
    bash.args(["-eu", "-o", "pipefail", "-c", &script]).current_dir(home.root());
    for (name, value) in home.command(&[]).get_envs() {
        match value {
            Some(value) => bash.env(name, value),
            None => bash.env_remove(name),
        };
    }
    // The tour uses the default data directory.
    let run = bash.env_remove("CARDWIRE_DATA_DIR").env("PATH", path).output().unwrap();
    let (output, errors) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{output}\n{errors}");
    for expected in [
        "refused with exit code 4",
        "I will read it first.",
        "box.appended",
        "box.fork",
        "\"content\":{\"answer\":42}",
        "event: card.created",
        "Hello from a turn",
        "\"task_index\":2",
        "{\\\"answer\\\":\\\"south\\\"}",
        "argument",
        "parent",
        "success",
        "(holds)",
        "after this call.",
        "It is red.",
        "Storing time series",
        "framework",
        "the same: 3 calls",
        "ORIGINAL",
    ] {
        assert!(output.contains(expected), "no {expected} in\n{output}\n{errors}");
    }
}
