//! What was measured, as a table for people or as lines of JSON for programs, and which targets were met.
//!
//! `value` and `raw` are medians over the rounds; `ratio` is the median of the rounds' own ratios, because the two
//! sides of one round share whatever the machine was doing, so it need not be exactly `value / raw`. Costs
//! (`commits`, `statements`, `wal_bytes`, `rows`, `cpu_us`) are per operation; `n` is how many operations were measured.

use serde::Serialize;

/// One measured case.
#[derive(Default, Serialize)]
pub(crate) struct Line {
    pub(crate) area: &'static str,
    pub(crate) case: String,
    pub(crate) store: &'static str,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    pub(crate) raw: Option<f64>,
    pub(crate) ratio: Option<f64>,
    pub(crate) p50_ms: Option<f64>,
    pub(crate) p99_ms: Option<f64>,
    pub(crate) commits: f64,
    /// Only PostgreSQL counts statements, and only with an extension.
    pub(crate) statements: Option<f64>,
    pub(crate) wal_bytes: Option<f64>,
    pub(crate) rows: Option<f64>,
    pub(crate) cpu_us: Option<f64>,
    pub(crate) n: usize,
}

/// A target and what became of it.
pub(crate) struct Check {
    case: String,
    target: String,
    measured: String,
    met: bool,
}

impl Check {
    /// A ratio that must be reached.
    pub(crate) fn at_least(case: &str, target: f64, ratio: f64) -> Self {
        Self {
            case: case.to_owned(),
            target: format!("≥ {target}"),
            measured: format!("{ratio:.2}"),
            met: ratio >= target,
        }
    }

    /// Something that may cost so much and no more.
    pub(crate) fn at_most(case: &str, what: &str, target: f64, measured: f64) -> Self {
        Self {
            case: case.to_owned(),
            target: format!("≤ {target} {what}"),
            measured: format!("{measured:.2}"),
            met: measured <= target,
        }
    }

    /// Anything else, in words.
    pub(crate) fn new(case: &str, target: impl Into<String>, measured: impl Into<String>, met: bool) -> Self {
        Self { case: case.to_owned(), target: target.into(), measured: measured.into(), met }
    }

    fn sentence(&self) -> String {
        let verdict = if self.met { "ok" } else { "MISSED" };
        format!("{}: target {}: {} {verdict}", self.case, self.target, self.measured)
    }
}

/// Everything one run found out.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) lines: Vec<Line>,
    pub(crate) checks: Vec<Check>,
}

impl Report {
    pub(crate) fn all_met(&self) -> bool {
        self.checks.iter().all(|check| check.met)
    }

    /// With JSON, only the lines of JSON go to stdout.
    pub(crate) fn print(&self, json: bool) -> anyhow::Result<()> {
        if json {
            for line in &self.lines {
                println!("{}", serde_json::to_string(line)?);
            }
        } else {
            for line in self.table() {
                println!("{line}");
            }
            println!();
        }
        for check in &self.checks {
            if json { eprintln!("{}", check.sentence()) } else { println!("{}", check.sentence()) }
        }
        Ok(())
    }

    fn table(&self) -> Vec<String> {
        let head = [
            "store",
            "case",
            "value",
            "unit",
            "raw",
            "ratio",
            "p50 ms",
            "p99 ms",
            "commits",
            "statements",
            "rows",
            "wal bytes",
            "cpu µs",
            "n",
        ];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        rows.extend(self.lines.iter().map(Line::cells));
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..head.len()).map(width).collect();
        rows.iter().map(|row| aligned(row, &widths)).collect()
    }
}

/// Words to the left, numbers to the right.
fn aligned(cells: &[String], widths: &[usize]) -> String {
    let cells = cells.iter().zip(widths).enumerate().map(|(column, (cell, width))| match column {
        0 | 1 | 3 => format!("{cell:<width$}"),
        _ => format!("{cell:>width$}"),
    });
    cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

impl Line {
    fn cells(&self) -> Vec<String> {
        let number =
            |value: Option<f64>, digits: usize| value.map_or("–".to_owned(), |v| format!("{v:.digits$}"));
        vec![
            self.store.to_owned(),
            self.case.clone(),
            number(Some(self.value), 0),
            self.unit.to_owned(),
            number(self.raw, 0),
            number(self.ratio, 2),
            number(self.p50_ms, 2),
            number(self.p99_ms, 2),
            number((self.commits > 0.0).then_some(self.commits), 2),
            number(self.statements, 2),
            number(self.rows, 2),
            number(self.wal_bytes, 0),
            number(self.cpu_us, 0),
            self.n.to_string(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_missed_target_fails_the_run() {
        let mut report = Report::default();
        report.checks.push(Check::at_least("a", 0.8, 0.8));
        assert!(report.all_met());
        assert_eq!(report.checks[0].sentence(), "a: target ≥ 0.8: 0.80 ok");
        report.checks.push(Check::at_least("b", 0.5, 0.499));
        assert!(!report.all_met());
        assert_eq!(report.checks[1].sentence(), "b: target ≥ 0.5: 0.50 MISSED");
    }

    #[test]
    fn a_line_has_the_fields_that_programs_read() {
        let line = serde_json::to_value(Line { area: "facts", ..Line::default() }).unwrap();
        for field in [
            "area",
            "case",
            "store",
            "value",
            "unit",
            "raw",
            "ratio",
            "p50_ms",
            "p99_ms",
            "commits",
            "statements",
            "wal_bytes",
            "n",
            "cpu_us",
            "rows",
        ] {
            assert!(line.get(field).is_some(), "{field}");
        }
    }

    #[test]
    fn columns_of_a_table_are_aligned() {
        let line = |case: &str, value| Line { case: case.to_owned(), value, ..Line::default() };
        let report = Report { lines: vec![line("a", 1.0), line("long name", 1000.0)], checks: vec![] };
        let table = report.table();
        let end_of_value = |row: &str, value: &str| row.find(value).map(|at| at + value.len());
        assert_eq!(end_of_value(&table[1], "1 "), end_of_value(&table[2], "1000 "));
    }
}
