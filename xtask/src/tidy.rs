//! `cargo xtask tidy`: the rules about the tree that no compiler checks.
//!
//! Each rule is a pure function from file names and texts to problems, so that it can be shown to go red.
//! The same check runs as an ordinary test, hence nobody has to remember this command.

mod banned;
mod dependencies;
mod features;
mod files;
mod invariants;
mod leaks;
mod links;
mod sql;
mod tree;

use std::fs;
use std::process::ExitCode;

use anyhow::Context;

use crate::workspace;
use tree::SourceFile;

/// One sentence per problem: where it is, why it is one, and what to do instead.
type Problems = Vec<String>;

pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let problems = check()?;
    for problem in &problems {
        eprintln!("{problem}");
    }
    if problems.is_empty() {
        println!("tidy: the tree is tidy");
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("tidy: {} problems", problems.len());
    Ok(ExitCode::FAILURE)
}

/// Every rule over the whole tree.
fn check() -> anyhow::Result<Problems> {
    let root = workspace::root();
    let files = tree::read(root)?;
    let packages = dependencies::packages()?;
    // Without the document its tables are missing, and the rules say so.
    let architecture = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap_or_default();
    let lockfile = fs::read_to_string(root.join("Cargo.lock")).context("cannot read Cargo.lock")?;

    let (product, tests) = features::resolve()?;

    Ok([
        dependencies::directions(&packages, &architecture),
        dependencies::testkit_is_for_tests(&packages),
        dependencies::banned_externals(&packages, &architecture),
        dependencies::banned_packages(&lockfile),
        features::are_the_same_in_tests(&product, &tests, &dependencies::shipped_by_name(&packages)),
        files::open_with_a_doc_comment(&files),
        files::are_short(&files),
        files::are_not_mod_rs(&files),
        sql::names_match(&files, sql::ONLY_IN_ONE_BACKEND),
        banned::calls(&files),
        invariants::are_upheld_and_tested(&files),
        leaks::machine_paths(&files),
        leaks::registry_hosts(&files),
        links::lead_somewhere(&files),
        links::rules_are_listed(&files),
    ]
    .concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        let problems = check().unwrap();
        assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
    }
}
