//! Whether an iteration is complete on disk (HO-08): the files of every sample, the summary and the report.

use super::Check;
use crate::{
    Entry, Package, Part, Refusal, SafePath,
    files::FileError,
    package::{Execution, INDEX},
    part::{SAMPLES, SUMMARY, iteration_of, sample_of},
    problem::{Findings, Place, code},
    report, summary,
};
use serde_json::Value;
use std::{borrow::Cow, collections::HashSet};

pub(super) fn check(
    check: &Check<'_>,
    package: &Package,
    execution: &Execution,
    findings: &mut Findings,
) -> Result<(), Refusal> {
    let directory = Directory { check, dir: &execution.dir };
    let total_iterations = package.value()["iteration_summary"]["total_iterations"].as_i64();
    if total_iterations.is_some_and(|total| total < 1) {
        let place = Place::field("iteration_summary/total_iterations");
        findings.error(code::PERSISTENCE_INCOMPLETE, place, "must be at least one iteration");
    }
    let summary = directory.json(SUMMARY, findings)?;
    // A package that was shortened stands for every sample of the complete index as well.
    let complete = summary.as_ref().filter(|_| package.is_truncated()).and_then(summary::entries);
    let mut failed: HashSet<&str> = HashSet::new();
    for (index, entry) in execution.index.iter().enumerate() {
        failed.insert(entry.sample_id.as_str());
        directory.failed(entry, Some(&format!("{INDEX}/{index}")), findings)?;
    }
    for entry in complete.iter().flatten() {
        if failed.insert(entry.sample_id.as_str()) {
            directory.failed(entry, None, findings)?;
        }
    }
    let name = execution.report.as_str();
    let report = directory.json_as(name, code::INVALID_REPORT, findings)?;
    let blamed: HashSet<&str> = report.as_ref().map(report::blamed).unwrap_or_default();
    let samples = directory.samples(&Known { listed: &failed, blamed: &blamed }, findings)?;
    if let Some(report) = &report {
        report::check(report, Some(name), findings);
        compare(report, name, execution, samples, &failed, findings);
    }
    Ok(())
}

/// What is known of samples before their files are looked at.
struct Known<'a> {
    /// Failed, and named by an index that says where their files are.
    listed: &'a HashSet<&'a str>,
    /// Failed by what the report says.
    blamed: &'a HashSet<&'a str>,
}

/// What the report says against what is on disk. All of it is for people to look at.
fn compare(
    report: &Value,
    name: &str,
    execution: &Execution,
    samples: u64,
    failed: &HashSet<&str>,
    findings: &mut Findings,
) {
    let mut warn = |code: &'static str, field: &str, message: String| {
        findings.warning(code, Place { file: Some(name), field: Some(field) }, message);
    };
    if let (Some(iteration), Some(number)) = (report["iteration"].as_u64(), iteration_of(&execution.dir))
        && iteration != number
    {
        warn("iteration_mismatch", "iteration", format!("says {iteration}, and the directory {number}"));
    }
    if let Some(total) = report["total_samples"].as_u64().filter(|total| *total != samples) {
        warn("total_samples_mismatch", "total_samples", format!("says {total}, and there are {samples}"));
    }
    for id in report::typical_cases(report).into_iter().filter(|id| !failed.contains(id)) {
        warn(
            "typical_case_not_in_index",
            "layer1_problems",
            format!("{id} is typical, but not in the index"),
        );
    }
}

/// The directory of an iteration.
struct Directory<'a> {
    check: &'a Check<'a>,
    dir: &'a SafePath,
}

impl Directory<'_> {
    /// Every part of a failed sample is there.
    fn failed(&self, entry: &Entry, at: Option<&str>, findings: &mut Findings) -> Result<(), Refusal> {
        for part in Part::CASE {
            let Some(path) = entry.path(part) else { continue };
            let field = at.map(|at| format!("{at}/{}", part.path_field()));
            let place = Place { file: Some(path.as_str()), field: field.as_deref() };
            if let Err(error) =
                self.part(path, &entry.sample_id, place, findings, |bytes| entry.agrees(part, bytes))?
            {
                error.report(place, findings);
            }
        }
        Ok(())
    }

    /// The parts of every other sample, found by the names in `samples/`, one at a time. Gives how many samples there are.
    fn samples(&self, known: &Known<'_>, findings: &mut Findings) -> Result<u64, Refusal> {
        let samples = summary::join(self.dir, SAMPLES)?;
        let mut count = 0;
        let mut refusal = None;
        let listed = self.check.files.list(&samples, &mut |name| {
            let Some(id) = sample_of(name) else { return Ok(()) };
            count += 1;
            if !known.listed.contains(id)
                && let Err(refused) = self.other(id, known.blamed.contains(id), findings)
            {
                refusal = Some(refused);
                return Err(FileError::Missing);
            }
            Ok(())
        });
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        match listed {
            Err(FileError::Missing) | Ok(()) if count == 0 => {
                let message = "there must be at least one sample";
                findings.error(code::PERSISTENCE_INCOMPLETE, Place::file(SAMPLES), message);
            }
            Ok(()) => {}
            Err(error) => error.report(Place::file(SAMPLES), findings),
        }
        Ok(count)
    }

    /// HO-08: what failed must be explained; what passed may be.
    fn other(&self, id: &str, blamed: bool, findings: &mut Findings) -> Result<(), Refusal> {
        for part in Part::CASE {
            let path = match part.path(id) {
                Ok(path) => path,
                Err(error) => {
                    // The name is not repeated: it may hold what must not be printed.
                    findings.error(code::UNSAFE_PATH, Place::file(SAMPLES), error.to_string());
                    return Ok(());
                }
            };
            let place = Place::file(path.as_str());
            match (self.part(&path, id, place, findings, |_| true)?, part) {
                (Ok(()), _) => {}
                (Err(FileError::Missing), Part::Attribution) if !blamed && !self.says_failed(id)? => {
                    findings.warning("attribution_missing", place, "is missing; the sample passed");
                }
                (Err(error), _) => error.report(place, findings),
            }
        }
        Ok(())
    }

    /// Whether the evaluation of a sample says that it failed. It is read only where nothing explains the sample.
    fn says_failed(&self, id: &str) -> Result<bool, Refusal> {
        let path = summary::join(self.dir, &Part::Evaluation.file(id))?;
        // Whatever is wrong with the file itself is told of where the file is looked at.
        let value = self.check.read(&path).ok().and_then(|bytes| summary::parse(&bytes).ok());
        Ok(value.is_some_and(|value| value.get("passed") == Some(&Value::Bool(false))))
    }

    /// One file of a sample: there, and in a deep check also what it should be.
    fn part(
        &self,
        below: &SafePath,
        sample_id: &str,
        place: Place<'_>,
        findings: &mut Findings,
        agrees: impl FnOnce(&[u8]) -> bool,
    ) -> Result<Result<(), FileError>, Refusal> {
        let path = self.dir.join_path(below).map_err(summary::too_long)?;
        if !self.check.options.deep {
            return Ok(self.check.stat(&path).map(drop));
        }
        let bytes = match self.check.read(&path) {
            Ok(bytes) => bytes,
            Err(error) => return Ok(Err(error)),
        };
        if !agrees(&bytes) {
            findings.error(code::INVALID_FILE, place, "has changed since its hash was taken");
        }
        match summary::canonical(&bytes) {
            Ok(json) => {
                // Only this member is looked at, so that no tree is made of the rest.
                let mut members = json.members().into_iter().flatten();
                let inner = members.find(|(key, _)| key == "sample_id").map(|(_, value)| value);
                let is =
                    |inner: &str| serde_json::from_str::<Cow<'_, str>>(inner).is_ok_and(|id| id == sample_id);
                if inner.is_some_and(|inner| !is(inner)) {
                    let place = Place { field: Some("sample_id"), ..place };
                    findings.error(
                        code::INVALID_FILE,
                        place,
                        format!("must be {sample_id}, as the file is named"),
                    );
                }
            }
            Err(reason) => findings.error(code::INVALID_FILE, place, reason),
        }
        Ok(Ok(()))
    }

    /// A file that is read in any case.
    fn json(&self, below: &str, findings: &mut Findings) -> Result<Option<Value>, Refusal> {
        self.json_as(below, code::INVALID_FILE, findings)
    }

    fn json_as(
        &self,
        below: &str,
        code: &'static str,
        findings: &mut Findings,
    ) -> Result<Option<Value>, Refusal> {
        let place = Place::file(below);
        let bytes = match self.check.read(&summary::join(self.dir, below)?) {
            Ok(bytes) => bytes,
            Err(error) => {
                error.report(place, findings);
                return Ok(None);
            }
        };
        match summary::parse(&bytes) {
            Ok(value) => Ok(Some(value)),
            Err(reason) => {
                findings.error(code, place, reason);
                Ok(None)
            }
        }
    }
}
