//! The two SQL backends have the same statements and migrations, by name.
//!
//! A statement that exists in one backend only is either forgotten in the other or a rule that has leaked
//! out of the pure crates into SQL.

use std::collections::BTreeSet;

use super::{Problems, SourceFile};

const BACKENDS: [&str; 2] = ["store-sqlite", "store-postgres"];

/// Files that one backend needs and the other cannot use: the path below the backend's crate
/// (`sql/claim.sql`), and the reason.
pub(super) const ONLY_IN_ONE_BACKEND: &[(&str, &str)] = &[
    ("sql/access.sql", "row-level security and grants; SQLite has no roles"),
    ("sql/roles.sql", "the three roles; SQLite has none"),
    ("sql/set_tenant.sql", "names the tenant of a transaction for row-level security"),
    ("sql/selftest/probe.sql", "the start-up proof of isolation (SEC-04)"),
    ("sql/selftest/role.sql", "the start-up proof of isolation (SEC-04)"),
    ("sql/selftest/tables.sql", "the start-up proof of isolation (SEC-04)"),
    ("sql/expect/all.sql", "a commit is one server-side function; SQLite checks in Rust, one statement each"),
    (
        "sql/expect/open_turns.sql",
        "counts after it has locked the project; SQLite has one writer, and counts as it reads",
    ),
    ("sql/write/commit.sql", "a commit is one server-side function; SQLite's writer applies statements"),
    ("sql/write/rest.sql", "a commit is one server-side function; SQLite's writer applies statements"),
    ("sql/expect/lock_boxes.sql", "rows are locked in one order; SQLite has one writer"),
    ("sql/write/heads.sql", "a commit is one server-side function; SQLite's writer applies statements"),
    ("sql/expect/lock_heads.sql", "rows are locked in one order; SQLite has one writer"),
    (
        "sql/read/shelf.sql",
        "a look that is cheap where the database is in this process, and a round trip where it is not",
    ),
    ("sql/read/lost.sql", "a load is one statement and one round trip; SQLite reads in process"),
    ("sql/read/claim_projects.sql", "a claim looks across tenants first; SQLite has no row-level security"),
    (
        "sql/read/claim_projects_among.sql",
        "a claim looks across tenants first; SQLite has no row-level security",
    ),
    ("sql/expect/lock_batches.sql", "rows are locked in one order; SQLite has one writer"),
    ("sql/write/branches.sql", "a commit is one server-side function; SQLite's writer applies statements"),
    ("sql/write/pmo.sql", "a commit is one server-side function; SQLite's writer applies statements"),
    ("sql/read/pending_branches.sql", "on Postgres part of `standing`, one statement and one round trip"),
    ("sql/read/unleased_branches.sql", "on Postgres part of `standing`, one statement and one round trip"),
    ("sql/write/begin_close.sql", "on Postgres part of `close_batch`"),
    ("sql/write/index_passage.sql", "on Postgres the index is of a column of the row itself"),
    ("sql/write/unindex_passages.sql", "on Postgres the index is of a column of the row itself"),
    ("sql/expect/lock_shelves.sql", "a shelf is changed by one at a time; SQLite has one writer"),
    ("sql/write/passages.sql", "a commit is one server-side function; SQLite's writer applies statements"),
    ("sql/read/passages_at.sql", "a search looks across tenants first; SQLite has no row-level security"),
    ("sql/read/reach.sql", "the mark beside the database file; a Postgres server keeps its log itself"),
    ("sql/read/writable.sql", "whether the server takes writes; SQLite's writer is asked"),
    ("sql/write/number_events.sql", "the sequencer; SQLite's one writer numbers events while it commits"),
];

pub(super) fn names_match(files: &[SourceFile], only_in_one: &[(&str, &str)]) -> Problems {
    let mut problems = Problems::new();
    for folder in ["sql", "migrations"] {
        let [sqlite, postgres] = BACKENDS.map(|backend| names(files, backend, folder));
        for (backend, names) in [(BACKENDS[0], &sqlite), (BACKENDS[1], &postgres)] {
            // Comparing nothing with nothing would pass for ever after somebody has moved the folder.
            if names.is_empty() {
                problems.push(format!("crates/{backend}/{folder}: there are no .sql files to compare"));
            }
        }
        for name in sqlite.symmetric_difference(&postgres) {
            if only_in_one.iter().any(|(allowed, _)| allowed == name) {
                continue;
            }
            let (has, lacks) = if sqlite.contains(name) { (0, 1) } else { (1, 0) };
            problems.push(format!(
                "crates/{}/{name}: crates/{} has no file of that name; add it, or list it with a reason in tidy",
                BACKENDS[has], BACKENDS[lacks]
            ));
        }
    }
    problems
}

/// The paths of a backend's .sql files in `folder`, relative to the backend's crate.
fn names<'a>(files: &'a [SourceFile], backend: &str, folder: &str) -> BTreeSet<&'a str> {
    let (base, folder) = (format!("crates/{backend}/"), format!("{folder}/"));
    let sql = files.iter().filter(|file| file.is_sql());
    sql.filter_map(|file| file.path.strip_prefix(&base)).filter(|path| path.starts_with(&folder)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(paths: &[&str]) -> Vec<SourceFile> {
        paths.iter().map(|path| SourceFile::new(path, "SELECT 1;")).collect()
    }

    const EQUAL: [&str; 4] = [
        "crates/store-sqlite/sql/inbox/enqueue.sql",
        "crates/store-postgres/sql/inbox/enqueue.sql",
        "crates/store-sqlite/migrations/0001_cards.sql",
        "crates/store-postgres/migrations/0001_cards.sql",
    ];

    #[test]
    fn equal_names_are_fine() {
        assert_eq!(names_match(&tree(&EQUAL), &[]), Problems::new());
    }

    #[test]
    fn a_statement_or_migration_in_one_backend_only_is_a_problem() {
        let mut paths = EQUAL.to_vec();
        paths
            .extend(["crates/store-postgres/sql/claim.sql", "crates/store-sqlite/migrations/0002_inbox.sql"]);
        let problems = names_match(&tree(&paths), &[]);
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].starts_with("crates/store-postgres/sql/claim.sql: crates/store-sqlite has no"));
        assert!(problems[1].starts_with("crates/store-sqlite/migrations/0002_inbox.sql:"));
    }

    #[test]
    fn a_listed_exception_is_fine() {
        let mut paths = EQUAL.to_vec();
        paths.push("crates/store-postgres/sql/set_tenant.sql");
        let only_in_one = [("sql/set_tenant.sql", "SQLite has no row-level security")];
        assert_eq!(names_match(&tree(&paths), &only_in_one), Problems::new());
    }

    #[test]
    fn nothing_to_compare_is_a_problem() {
        assert_eq!(names_match(&tree(&EQUAL[..2]), &[]).len(), 2);
    }
}
