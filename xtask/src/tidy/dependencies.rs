//! Which crate may use which: the tables in ARCHITECTURE.md against what the manifests say.
//!
//! The tables are read from the document, so it cannot describe another system than the one that builds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Context, ensure};
use serde::Deserialize;

use super::Problems;
use crate::workspace;

/// External packages that cost minutes of C compilation; TLS is rustls on ring.
const BANNED_PACKAGES: [&str; 2] = ["aws-lc-sys", "openssl-sys"];

/// Crates that are not part of the product.
const TOOLS: [&str; 3] = ["xtask", "bench", "testkit"];

/// The crates of this workspace, as `cargo metadata` describes them.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
pub(super) struct Package {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<Kind>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Dev,
    Build,
}

impl Package {
    /// The name of the crate's folder, by which the documents call it.
    fn short_name(&self) -> &str {
        self.manifest_path.parent().and_then(|dir| dir.file_name()?.to_str()).unwrap_or(&self.name)
    }

    /// What is linked or run when the crate is built for use.
    fn shipped_dependencies(&self) -> impl Iterator<Item = &Dependency> {
        self.dependencies.iter().filter(|dependency| dependency.kind != Some(Kind::Dev))
    }
}

pub(super) fn packages() -> anyhow::Result<Vec<Package>> {
    let mut command = workspace::cargo();
    command.args(["metadata", "--no-deps", "--offline", "--format-version=1"]);
    let output = command.output().context("cannot run cargo metadata")?;
    let message = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo metadata failed: {message}");
    let metadata: Metadata = serde_json::from_slice(&output.stdout).context("cannot read cargo metadata")?;
    Ok(metadata.packages)
}

/// Every crate has a row, and uses no crate of the workspace that its row does not name.
pub(super) fn directions(packages: &[Package], architecture: &str) -> Problems {
    let allowed = match Table::parse(architecture, "allowed-dependencies") {
        Ok(table) => table,
        Err(problem) => return vec![problem],
    };
    let short_names = short_names(packages);
    let mut problems = allowed.rows_without_crate(packages);
    for package in packages {
        let user = package.short_name();
        let Some(row) = allowed.rows.get(user) else {
            problems
                .push(format!("ARCHITECTURE.md: the table of allowed dependencies has no row for `{user}`"));
            continue;
        };
        let used: BTreeSet<&str> = package
            .shipped_dependencies()
            .filter_map(|dependency| short_names.get(dependency.name.as_str()).copied())
            .collect();
        for used in used.into_iter().filter(|used| !row.contains(*used)) {
            problems.push(format!(
                "`{user}` depends on `{used}`, which ARCHITECTURE.md does not allow; move the code or decide anew"
            ));
        }
    }
    problems
}

/// The reference store and the fixtures must never end up in what users run.
pub(super) fn testkit_is_for_tests(packages: &[Package]) -> Problems {
    let short_names = short_names(packages);
    let is_testkit = |dependency: &Dependency| short_names.get(dependency.name.as_str()) == Some(&"testkit");
    packages
        .iter()
        .filter(|package| !TOOLS.contains(&package.short_name()))
        .filter(|package| package.shipped_dependencies().any(is_testkit))
        .map(|package| format!("`{}` ships `testkit`; make it a dev-dependency", package.short_name()))
        .collect()
}

/// No crate uses an external package that its row rules out.
pub(super) fn banned_externals(packages: &[Package], architecture: &str) -> Problems {
    let banned = match Table::parse(architecture, "banned-dependencies") {
        Ok(table) => table,
        Err(problem) => return vec![problem],
    };
    let mut problems = banned.rows_without_crate(packages);
    for package in packages {
        let user = package.short_name();
        let Some(row) = banned.rows.get(user) else { continue };
        let used: BTreeSet<&str> =
            package.shipped_dependencies().map(|dependency| dependency.name.as_str()).collect();
        for used in used.into_iter().filter(|used| row.contains(*used)) {
            problems.push(format!("`{user}` depends on `{used}`, which ARCHITECTURE.md rules out for it"));
        }
    }
    problems
}

/// The packages that crates of the product name in their manifests.
pub(super) fn shipped_by_name(packages: &[Package]) -> BTreeSet<&str> {
    let product = packages.iter().filter(|package| !TOOLS.contains(&package.short_name()));
    product.flat_map(Package::shipped_dependencies).map(|dependency| dependency.name.as_str()).collect()
}

pub(super) fn banned_packages(lockfile: &str) -> Problems {
    let locked = |name: &&str| lockfile.lines().any(|line| line == format!("name = \"{name}\""));
    let problem = |name| {
        format!(
            "Cargo.lock: `{name}` takes minutes of C to build; find who asks for it with `cargo tree -i {name}`"
        )
    };
    BANNED_PACKAGES.into_iter().filter(locked).map(problem).collect()
}

fn short_names(packages: &[Package]) -> BTreeMap<&str, &str> {
    packages.iter().map(|package| (package.name.as_str(), package.short_name())).collect()
}

/// A two-column table between `<!-- name -->` and `<!-- /name -->`: crates to lists of names.
struct Table {
    name: &'static str,
    rows: BTreeMap<String, BTreeSet<String>>,
}

impl Table {
    fn parse(document: &str, name: &'static str) -> Result<Self, String> {
        let (start, end) = (format!("<!-- {name} -->"), format!("<!-- /{name} -->"));
        let inner = document.split_once(&start).and_then(|(_, rest)| rest.split_once(&end));
        let Some((inner, _)) = inner else {
            return Err(format!("ARCHITECTURE.md: there is no table between `{start}` and `{end}`"));
        };
        let mut rows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        // The first two lines of a table are its header and a rule.
        for line in inner.lines().map(str::trim).filter(|line| line.starts_with('|')).skip(2) {
            let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
            let [crates, names] = cells[..] else {
                return Err(format!("ARCHITECTURE.md: `{line}` is not a row of two cells"));
            };
            for user in list(crates) {
                rows.entry(user).or_default().extend(list(names));
            }
        }
        if rows.is_empty() {
            return Err(format!("ARCHITECTURE.md: the table after `{start}` has no rows"));
        }
        Ok(Self { name, rows })
    }

    /// A row for a crate that does not exist rules nothing, most likely because of a typing error.
    fn rows_without_crate(&self, packages: &[Package]) -> Problems {
        let exists = |name: &str| packages.iter().any(|package| package.short_name() == name);
        let unknown = self.rows.keys().filter(|name| !exists(name));
        let problem = |name: &String| format!("ARCHITECTURE.md: {}: there is no crate `{name}`", self.name);
        unknown.map(problem).collect()
    }
}

/// The names in a cell; `nothing` stands for none.
fn list(cell: &str) -> Vec<String> {
    let names = cell.split(',').map(|name| name.trim().trim_matches('`').trim());
    names.filter(|name| !name.is_empty() && *name != "nothing").map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARCHITECTURE: &str = "\
# Architecture
<!-- allowed-dependencies -->
| crate | may depend on |
|---|---|
| `model` | nothing |
| `protocol` | `model` |
| `testkit` | model, protocol |
| xtask | testkit |
<!-- /allowed-dependencies -->
<!-- banned-dependencies -->

| crate | must not use |
|-------|--------------|
| model, protocol | tokio, `axum` |
<!-- /banned-dependencies -->
";

    fn package(short_name: &str, dependencies: &[(&str, Option<Kind>)]) -> Package {
        let name = if short_name == "xtask" { "xtask".to_owned() } else { format!("cardwire-{short_name}") };
        let dependencies =
            dependencies.iter().map(|&(name, kind)| Dependency { name: name.to_owned(), kind }).collect();
        Package { name, manifest_path: format!("/src/crates/{short_name}/Cargo.toml").into(), dependencies }
    }

    /// The four crates of the document above, the first with the given dependencies.
    fn workspace_with_model(dependencies: &[(&str, Option<Kind>)]) -> Vec<Package> {
        vec![
            package("model", dependencies),
            package("protocol", &[("cardwire-model", None), ("serde", None)]),
            package("testkit", &[("cardwire-model", None), ("cardwire-protocol", None)]),
            package("xtask", &[("cardwire-testkit", None)]),
        ]
    }

    #[test]
    fn an_allowed_workspace_is_fine() {
        let packages = workspace_with_model(&[("serde", None), ("tokio", Some(Kind::Dev))]);
        assert_eq!(directions(&packages, ARCHITECTURE), Problems::new());
        assert_eq!(testkit_is_for_tests(&packages), Problems::new());
        assert_eq!(banned_externals(&packages, ARCHITECTURE), Problems::new());
    }

    #[test]
    fn a_dependency_against_the_table_is_a_problem_unless_it_is_for_tests() {
        for (kind, expected) in [(None, 1), (Some(Kind::Build), 1), (Some(Kind::Dev), 0)] {
            let problems = directions(&workspace_with_model(&[("cardwire-protocol", kind)]), ARCHITECTURE);
            assert_eq!(problems.len(), expected, "{problems:?}");
        }
    }

    #[test]
    fn a_crate_without_a_row_and_a_row_without_a_crate_are_problems() {
        let mut packages = workspace_with_model(&[]);
        packages[3] = package("kernel", &[]);
        let problems = directions(&packages, ARCHITECTURE);
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].contains("no crate `xtask`") && problems[1].contains("no row for `kernel`"));
    }

    #[test]
    fn shipping_testkit_is_a_problem_for_all_but_xtask_and_bench() {
        let problems = testkit_is_for_tests(&workspace_with_model(&[("cardwire-testkit", None)]));
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("`model` ships"));
        let packages = workspace_with_model(&[("cardwire-testkit", Some(Kind::Dev))]);
        assert_eq!(testkit_is_for_tests(&packages), Problems::new());
    }

    #[test]
    fn a_ruled_out_external_package_is_a_problem() {
        let problems = banned_externals(&workspace_with_model(&[("axum", None)]), ARCHITECTURE);
        assert_eq!(problems, ["`model` depends on `axum`, which ARCHITECTURE.md rules out for it"]);
    }

    #[test]
    fn a_missing_or_empty_table_is_a_problem() {
        let packages = workspace_with_model(&[]);
        let empty = "<!-- banned-dependencies -->\n|a|b|\n|-|-|\n<!-- /banned-dependencies -->";
        assert_eq!(directions(&packages, "# Architecture").len(), 1);
        assert_eq!(banned_externals(&packages, empty).len(), 1);
    }

    #[test]
    fn a_banned_package_in_the_lock_file_is_a_problem() {
        let problems = banned_packages("[[package]]\nname = \"openssl-sys\"\nversion = \"0.9\"\n");
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(banned_packages("name = \"openssl-probe\"\n"), Problems::new());
    }
}
