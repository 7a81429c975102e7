//! The reference pages below `docs/reference`, made from the code that they tell of: what a page says is what the program
//! does, or the tests are red. `UPDATE_REFERENCE=1` writes the pages anew.

mod commands;
mod errors;
mod limits;
mod settings;

use std::{fs, path::PathBuf};

/// What every page begins with.
const MADE: &str = "<!-- Made from the code. Do not edit: UPDATE_REFERENCE=1 cargo nextest run -p cardwire-cli reference -->\n";

/// Compares a page with what it should be, or writes it.
#[track_caller]
fn compare(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        fs::write(&path, text).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    let differs = found.lines().zip(text.lines()).find(|(found, made)| found != made);
    assert!(
        found == text,
        "docs/reference/{name} is not what the code makes of it; UPDATE_REFERENCE=1 writes it anew. It has, and \
         should have: {differs:?}"
    );
}

/// A cell of a table: one line, no bars.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// A row of a table.
fn row<const N: usize>(cells: [&str; N]) -> String {
    let cells = cells.map(cell);
    format!("| {} |\n", cells.join(" | "))
}

/// The head of a table.
fn head<const N: usize>(names: [&str; N]) -> String {
    format!("{}|{}\n", row(names), "---|".repeat(N))
}
