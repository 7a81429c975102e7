//! What the product is built with, it is tested with: the tests must not switch on a feature of a package that the product
//! uses by name. Otherwise code could compile in the tests and not in what people install, and the product would have to
//! be compiled a second time to know.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, ensure};

use super::Problems;
use crate::workspace;

/// Features by package.
pub(super) type Features = BTreeMap<String, String>;

/// The package that makes the binary.
const PRODUCT: &str = "cardwire-cli";

/// What the product is made of when it is built by itself, and what the tests are made of.
pub(super) fn resolve() -> anyhow::Result<(Features, Features)> {
    let alone = tree(&["--package", PRODUCT, "--edges", "normal,build"])?;
    let in_tests = tree(&["--workspace", "--edges", "normal,build,dev"])?;
    Ok((alone, in_tests))
}

fn tree(args: &[&str]) -> anyhow::Result<Features> {
    let mut command = workspace::cargo();
    command.args(["tree", "--offline", "--prefix", "none", "--format", "{p}|{f}"]).args(args);
    let output = command.output().context("cannot run cargo tree")?;
    ensure!(output.status.success(), "cargo tree failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(parse(&String::from_utf8_lossy(&output.stdout)))
}

/// A package is named by its first word; what stands twice has features for the target and for build scripts.
fn parse(tree: &str) -> Features {
    let mut features: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (package, list) in tree.lines().filter_map(|line| line.split_once('|')) {
        let name = package.split(' ').next().unwrap_or_default().to_owned();
        features.entry(name).or_default().insert(list.trim_end_matches(" (*)").to_owned());
    }
    features
        .into_iter()
        .map(|(name, sets)| (name, sets.into_iter().collect::<Vec<_>>().join(" and ")))
        .collect()
}

/// No package of `used`, those that our crates name themselves, has other features in the tests.
pub(super) fn are_the_same_in_tests(
    alone: &Features,
    in_tests: &Features,
    used: &BTreeSet<&str>,
) -> Problems {
    let differs = |(name, features): &(&String, &String)| {
        used.contains(name.as_str()) && in_tests.get(*name).is_some_and(|tested| tested != *features)
    };
    let problem = |(name, features): (&String, &String)| {
        let tested = &in_tests[name];
        format!(
            "`{name}` is built with [{features}] and tested with [{tested}]; give the product those features, or the tests none"
        )
    };
    alone.iter().filter(differs).map(problem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_that_only_the_tests_have_is_a_problem() {
        let alone = parse("cardwire-cli v0.1.0 (/x)|\ntokio v1.0.0|fs,net\nlibc v0.2.0|std (*)\n");
        let in_tests = parse("tokio v1.0.0|fs,net,test-util\nlibc v0.2.0|extra_traits,std\n");
        let problems = are_the_same_in_tests(&alone, &in_tests, &BTreeSet::from(["tokio"]));
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("`tokio` is built with [fs,net] and tested with [fs,net,test-util]"));
    }
}
