//! The README's tour works when pasted, line by line, on both stores.

use crate::support::{Backend, Home, paste};

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
    // The binary under test instead of a release build.
    let (build, script) = script.split_once('\n').unwrap();
    assert!(build.starts_with("cargo build --release --bin cardwire"), "{build}");
    let pasted = paste(&home, script);
    let (output, errors) = (pasted.output, pasted.errors);
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
