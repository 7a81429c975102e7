//! Rules about single files: how they open, how long they are, what they are called.

use super::{Problems, SourceFile};

const RUST_LINES: usize = 600;
const SQL_LINES: usize = 400;

pub(super) fn open_with_a_doc_comment(files: &[SourceFile]) -> Problems {
    let bad = files.iter().filter(|file| file.is_rust() && !file.text.starts_with("//!"));
    let problem = |file: &SourceFile| {
        format!("{}: open the file with a `//!` comment: what it is, what it must not know", file.path)
    };
    bad.map(problem).collect()
}

pub(super) fn are_short(files: &[SourceFile]) -> Problems {
    let mut problems = Problems::new();
    for file in files {
        let limit = match file {
            _ if file.is_rust() => RUST_LINES,
            // The whole schema is one file, proven equal to the replay of the migrations.
            _ if file.is_sql() && file.name() != "schema.sql" => SQL_LINES,
            _ => continue,
        };
        let lines = file.text.lines().count();
        if lines > limit {
            let path = &file.path;
            problems.push(format!("{path}: {lines} lines, and {limit} is the limit; split it by subject"));
        }
    }
    problems
}

pub(super) fn are_not_mod_rs(files: &[SourceFile]) -> Problems {
    let bad = files.iter().filter(|file| file.is_rust() && file.name() == "mod.rs");
    let problem = |file: &SourceFile| {
        format!(
            "{}: many tabs called mod.rs look alike; name it after the module, beside its folder",
            file.path
        )
    };
    bad.map(problem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_doc_comment_is_a_problem() {
        let files = [
            SourceFile::new("crates/model/src/lib.rs", "//! Nouns.\n"),
            SourceFile::new("crates/model/src/card.rs", "use std::fmt;\n//! Late.\n"),
            SourceFile::new("xtask/src/main.rs", ""),
            SourceFile::new("docs/example.rs", "fn main() {}\n"),
        ];
        let problems = open_with_a_doc_comment(&files);
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].starts_with("crates/model/src/card.rs:"));
        assert!(problems[1].starts_with("xtask/src/main.rs:"));
    }

    #[test]
    fn a_long_file_is_a_problem_but_a_long_schema_is_not() {
        let files = [
            SourceFile::new("crates/a/src/at_the_limit.rs", &"//!\n".repeat(600)),
            SourceFile::new("crates/a/src/long.rs", &"//!\n".repeat(601)),
            SourceFile::new("crates/a/sql/long.sql", &"--\n".repeat(401)),
            SourceFile::new("crates/a/schema.sql", &"--\n".repeat(401)),
            SourceFile::new("docs/long.md", &"-\n".repeat(2000)),
        ];
        let problems = are_short(&files);
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].starts_with("crates/a/src/long.rs: 601 lines"));
        assert!(problems[1].starts_with("crates/a/sql/long.sql: 401 lines"));
    }

    #[test]
    fn a_file_called_mod_rs_is_a_problem() {
        let files = [
            SourceFile::new("crates/a/src/turn/mod.rs", "//!"),
            SourceFile::new("crates/a/src/turn.rs", "//!"),
            SourceFile::new("crates/a/src/cmod.rs", "//!"),
        ];
        let problems = are_not_mod_rs(&files);
        assert_eq!(problems.len(), 1, "{problems:?}");
    }
}
