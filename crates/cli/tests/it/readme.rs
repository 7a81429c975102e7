//! The README's tour works when pasted, line by line, on both stores; and when it is pasted again.

use crate::support::{Backend, Home, Pasted, paste};

#[test]
fn the_tour_works_on_sqlite() {
    // F-15: the second paste finds what the first one left. What is left does not depend on the store.
    tour(Backend::Sqlite, 2);
}

#[test]
fn the_tour_works_on_postgres() {
    tour(Backend::Postgres, 1);
}

fn tour(backend: Backend, pastes: usize) {
    let home = Home::new(backend);
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap();
    let (_, rest) = readme.split_once("<!-- tour -->\n```sh\n").unwrap();
    let (script, _) = rest.split_once("```\n<!-- /tour -->").unwrap();
    // The binary under test instead of a release build.
    let (build, script) = script.split_once('\n').unwrap();
    assert!(build.starts_with("cargo build --release --bin cardwire"), "{build}");
    for _ in 0..pastes {
        check(&paste(&home, script));
    }
}

fn check(pasted: &Pasted) {
    let Pasted { output, errors } = pasted;
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
