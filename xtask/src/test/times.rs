//! How long each part of a run took, this time and the last time.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::workspace;

/// Seconds by part.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Times(BTreeMap<String, f64>);

impl Times {
    /// Those of the last run that passed; none if there was none.
    pub(super) fn load() -> Self {
        let text = fs::read_to_string(file()).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    pub(super) fn save(&self) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        fs::write(file(), text).with_context(|| format!("cannot write {}", file().display()))
    }

    pub(super) fn note(&mut self, part: &str, seconds: f64) {
        self.0.insert(part.to_owned(), seconds);
    }

    pub(super) fn of(&self, part: &str) -> Option<f64> {
        self.0.get(part).copied()
    }

    /// All parts but the services, which start beside the others.
    pub(super) fn total(&self) -> Option<f64> {
        let one_after_another = self.0.iter().filter(|(part, _)| *part != super::SERVICES);
        (!self.0.is_empty()).then(|| one_after_another.map(|(_, seconds)| seconds).sum())
    }

    pub(super) fn print(&self, total: f64) {
        println!("test: where the time went, in seconds ({} start beside the others)", super::SERVICES);
        for (part, seconds) in &self.0 {
            println!("  {seconds:>7.1}  {part}");
        }
        println!("  {total:>7.1}  in all");
    }
}

/// Runs some work; its outcome and how many seconds it took.
pub(super) fn measure<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let begun = Instant::now();
    let outcome = work();
    (outcome, begun.elapsed().as_secs_f64())
}

/// Below the target directory, so that `cargo clean` removes it with what was built.
fn file() -> PathBuf {
    workspace::target_dir().join("xtask-test-times.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_do_not_count_towards_the_total() {
        let mut times = Times::default();
        assert_eq!(times.total(), None);
        times.note("tests", 200.0);
        times.note(crate::test::SERVICES, 79.0);
        times.note("format", 2.0);
        assert_eq!(times.total(), Some(202.0));
    }
}
