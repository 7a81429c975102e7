//! Nothing in the tree may depend on the machine or the network it was written on.
//!
//! The needles are put together from pieces so that this file does not find itself.

use super::{Problems, SourceFile};

/// Directories of people's machines, as they begin an absolute path.
const MACHINE_PATHS: [&str; 4] =
    [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];

const REGISTRY_HOSTS: [&str; 7] = [
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("pythonhosted", ".org"),
    concat!("npmjs", ".org"),
    concat!("npmjs", ".com"),
    concat!("docker", ".io"),
    concat!("ghcr", ".io"),
];

/// How Cargo spells the default registry in every lock file, whichever mirror served the packages.
const LOCKFILE_SOURCE: &str = concat!("registry+https://github.com/rust-lang/crates", ".io-index");

pub(super) fn machine_paths(files: &[SourceFile]) -> Problems {
    find(files, |_, line| {
        let path = MACHINE_PATHS.into_iter().find(|path| begins_a_path(line, path))?;
        Some(format!("`{path}…` exists on one machine only; use a relative path or a setting"))
    })
}

pub(super) fn registry_hosts(files: &[SourceFile]) -> Problems {
    find(files, |file, line| {
        if file.name() == "Cargo.lock" {
            let source = line.strip_prefix("source = \"")?.strip_suffix('"')?;
            let foreign = source != LOCKFILE_SOURCE;
            return foreign.then(|| format!("`{source}` is not the default registry; resolve without it"));
        }
        let host = REGISTRY_HOSTS.into_iter().find(|host| line.contains(host))?;
        Some(format!("`{host}`: where packages come from is for the machine to say; name the package only"))
    })
}

fn find(files: &[SourceFile], problem: impl Fn(&SourceFile, &str) -> Option<String>) -> Problems {
    let mut problems = Problems::new();
    for file in files {
        for (number, line) in file.lines() {
            problems.extend(problem(file, line).map(|text| format!("{}:{number}: {text}", file.path)));
        }
    }
    problems
}

/// Whether `path` occurs at the start of a path, and not in the middle of a longer one or of a URL.
fn begins_a_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|before| !before.is_alphanumeric() && !"._-/})>".contains(before))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_one_machine_is_a_problem() {
        let text = [
            concat!("see /wo", "rk/notes.md"),
            concat!("root = \"/ro", "ot/data\""),
            concat!("cd /ho", "me/ada/cardwire"),
            concat!("https://example.com/wo", "rk/1 and docs/wo", "rk/2 are not paths of a machine"),
        ];
        let problems = machine_paths(&[SourceFile::new("README.md", &text.join("\n"))]);
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems[2].starts_with("README.md:3:"));
    }

    #[test]
    fn a_registry_host_is_a_problem() {
        let text = concat!("index-url = https://pypi", ".org/simple");
        let problems = registry_hosts(&[SourceFile::new("tools/pip.conf", text)]);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("tools/pip.conf:1:"));
    }

    #[test]
    fn a_lock_file_names_the_default_registry_and_no_other() {
        let text = format!(
            "name = \"a\"\nsource = \"{LOCKFILE_SOURCE}\"\nsource = \"registry+https://mirror.example/index\"\n"
        );
        let problems = registry_hosts(&[SourceFile::new("Cargo.lock", &text)]);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("Cargo.lock:3:"));
    }
}
