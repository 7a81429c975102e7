//! Which tests took longest, and how much all of them took together, by nextest's report.

use std::fs;

use anyhow::Context;

use crate::workspace;

/// Where nextest puts its report (`.config/nextest.toml`).
const REPORT: &str = "nextest/default/junit.xml";

/// One test of the report.
#[derive(Debug, Clone, PartialEq)]
struct Test {
    /// The binary and the test's name.
    name: String,
    seconds: f64,
}

/// Prints the tests that took longest.
pub(super) fn print(count: usize) -> anyhow::Result<()> {
    let path = workspace::target_dir().join(REPORT);
    let report = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut tests = read(&report);
    tests.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let total: f64 = tests.iter().map(|test| test.seconds).sum();
    println!("test: the {count} slowest of {} tests, which took {total:.0} s together", tests.len());
    for Test { name, seconds } in tests.iter().take(count) {
        println!("  {seconds:>7.1}  {name}");
    }
    Ok(())
}

/// The report is XML that one program writes: each test has one opening tag with its attributes.
fn read(report: &str) -> Vec<Test> {
    let tags = report.split("<testcase").skip(1).filter_map(|rest| rest.split('>').next());
    tags.filter_map(|tag| {
        let attribute = |name: &str| tag.split(&format!(" {name}=\"")).nth(1)?.split('"').next();
        let name = format!("{} {}", attribute("classname")?, attribute("name")?);
        Some(Test { name, seconds: attribute("time")?.parse().ok()? })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_seconds_are_read_from_a_report() {
        let report = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="2" time="2.1">
    <testsuite name="a::it" tests="1">
        <testcase name="kills::one" classname="a::it" timestamp="2026-01-01T00:00:00.0Z" time="1.500">
        </testcase>
        <testcase name="two" classname="a" timestamp="2026-01-01T00:00:00.0Z" time="0.250"><failure type="x"/></testcase>
    </testsuite>
</testsuites>"#;
        let test = |name: &str, seconds| Test { name: name.to_owned(), seconds };
        assert_eq!(read(report), [test("a::it kills::one", 1.5), test("a two", 0.25)]);
    }
}
