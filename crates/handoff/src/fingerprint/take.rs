//! Takes the fingerprints of all files that a load of a package could give: those of its index, of the complete index
//! where its own is shortened, and of the cases that its report calls typical.
//!
//! Files are hashed piece by piece, the most important samples first, within an allowance of bytes and time.

use super::{Fingerprint, Fingerprints};
use crate::{
    Entry, Files, Package, Part, Refusal, RefusalKind,
    files::FileError,
    fit::by_priority,
    package::{Execution, INDEX},
    problem::code,
    report, summary,
};
use cardwire_model::limits::{HANDOFF_ENTRIES, HANDOFF_FILE_BYTES};
use serde_json::Value;
use std::{borrow::Cow, collections::BTreeMap};

/// How much may be hashed. What is left over is looked at only.
pub struct HashAllowance<'a> {
    /// Bytes of files.
    pub bytes: u64,
    /// Whether there is still time.
    pub has_time: &'a dyn Fn() -> bool,
}

impl Fingerprints {
    /// Looks at the files of a package that passed the gate. `files` is opened on the workspace root.
    pub fn take(
        package: &Package,
        files: &dyn Files,
        allowance: &HashAllowance<'_>,
    ) -> Result<Self, Refusal> {
        let Some(execution) = package.execution() else { return Ok(Self::default()) };
        let files = files.kept();
        let mut bytes_left = allowance.bytes;
        let mut samples = BTreeMap::new();
        for entry in entries(package, execution, &*files)? {
            if samples.contains_key(&entry.sample_id) {
                continue;
            }
            if samples.len() == HANDOFF_ENTRIES {
                let message = format!("a package tells of at most {HANDOFF_ENTRIES} samples");
                return Err(Refusal::new(
                    RefusalKind::TooLarge,
                    code::PACKAGE_TOO_LARGE,
                    Some(INDEX),
                    message,
                ));
            }
            let mut prints = [const { None }; Part::CASE.len()];
            for (print, part) in prints.iter_mut().zip(Part::CASE) {
                let Some(below) = entry.path(part) else { continue };
                let path = execution.dir.join_path(below).map_err(summary::too_long)?;
                let taken = take_one(&path, &*files, &mut bytes_left, allowance.has_time);
                *print = match taken {
                    Ok(print) => Some(print),
                    // The gate has told of such files where they matter; a load will not give them.
                    Err(FileError::Missing | FileError::Unsafe { .. } | FileError::TooLarge { .. }) => None,
                    Err(error @ (FileError::Exists | FileError::Io(_))) => {
                        return Err(error.refusal(below.as_str()));
                    }
                };
            }
            samples.insert(entry.sample_id.clone(), prints);
        }
        Ok(Self { report: None, samples, complete: true })
    }
}

fn take_one(
    path: &crate::SafePath,
    files: &dyn Files,
    bytes_left: &mut u64,
    has_time: &dyn Fn() -> bool,
) -> Result<Fingerprint, FileError> {
    let stat = files.stat(path)?;
    match bytes_left.checked_sub(stat.bytes) {
        Some(left) if has_time() => {
            *bytes_left = left;
            files.hash(path, HANDOFF_FILE_BYTES).map(Fingerprint::of)
        }
        Some(_) | None => Ok(Fingerprint::Look { bytes: stat.bytes, modified: stat.modified }),
    }
}

/// Every sample that a load could be asked for, the most important of the index first.
fn entries<'a>(
    package: &'a Package,
    execution: &'a Execution,
    files: &dyn Files,
) -> Result<Vec<Cow<'a, Entry>>, Refusal> {
    let json = |below: &str| -> Result<Value, Refusal> {
        match files.read(&summary::join(&execution.dir, below)?, HANDOFF_FILE_BYTES) {
            Ok(bytes) => Ok(summary::parse(&bytes).unwrap_or_default()),
            Err(error) => Err(error.refusal(below)),
        }
    };
    let own = by_priority(&execution.index).into_iter().map(|at| Cow::Borrowed(&execution.index[at]));
    let mut all: Vec<_> = own.collect();
    if package.is_truncated() {
        all.extend(summary::entries(&json(crate::part::SUMMARY)?).into_iter().flatten().map(Cow::Owned));
    }
    let told = json(execution.report.as_str())?;
    let typical = report::typical_cases(&told).into_iter().filter_map(|id| Entry::by_name(id).ok());
    all.extend(typical.map(Cow::Owned));
    Ok(all)
}
