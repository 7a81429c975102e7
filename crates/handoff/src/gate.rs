//! The gate: what a package names must be on disk before the package is taken (HO-08, HO-09, HO-12, HO-15).
//!
//! By default files are looked at, not read: only the report and the summary are opened (LD-09), and the evaluation of a
//! sample that nothing explains. The memory it takes depends on the package and on the number of problems, not on the
//! number of samples.

mod directory;
mod naming;

use crate::{
    Files, Package, Problem, Refusal, Stat,
    files::FileError,
    package::{Body, PathField},
    problem::{Findings, Place},
};
use cardwire_model::limits::HANDOFF_FILE_BYTES;
use std::{cell::Cell, str::FromStr};

/// Whether files that a package names must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gate {
    /// A file that is missing refuses the package.
    Strict,
    /// A file that is missing is a warning. Iterations are always strict.
    Off,
}

impl FromStr for Gate {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        match text {
            "strict" => Ok(Self::Strict),
            "off" => Ok(Self::Off),
            _ => Err(Refusal::request("gate", "gate must be strict or off")),
        }
    }
}

/// How files are checked.
pub struct CheckOptions<'a> {
    /// `None` is the default of the type: strict for `execute_to_init`, off for all others.
    pub gate: Option<Gate>,
    /// Whether the files of every sample are read too, and compared with their hashes.
    pub deep: bool,
    /// Told the number of files looked at so far.
    pub progress: &'a dyn Fn(u64),
}

/// Checks that what the package names is on disk. `files` is opened on the workspace root. `Ok` are warnings.
pub fn check_files(
    package: &Package,
    files: &dyn Files,
    options: &CheckOptions<'_>,
) -> Result<Vec<Problem>, Refusal> {
    let files = files.kept();
    let check = Check { files: &*files, options, looked_at: Cell::new(0) };
    let mut findings = Findings::default();
    match package.body() {
        Body::Design(paths) | Body::Registered(paths) => check.paths(paths, &mut findings),
        Body::Execution(execution) => {
            naming::check(execution, &mut findings);
            directory::check(&check, package, execution, &mut findings)?;
        }
    }
    findings.finish()
}

/// One run of the gate.
struct Check<'a> {
    files: &'a dyn Files,
    options: &'a CheckOptions<'a>,
    looked_at: Cell<u64>,
}

impl Check<'_> {
    fn paths(&self, paths: &[PathField], findings: &mut Findings) {
        for PathField { field, path } in paths {
            let place = Place { file: Some(path.as_str()), field: Some(field) };
            match (self.exists(path), self.options.gate.unwrap_or(Gate::Off)) {
                (Ok(_), _) => {}
                (Err(FileError::Missing), Gate::Off) => findings.warning("file_missing", place, "is missing"),
                (Err(error), _) => error.report(place, findings),
            }
        }
    }

    /// A file that is there, whatever is in it (HO-15).
    fn exists(&self, path: &crate::SafePath) -> Result<Stat, FileError> {
        self.looked_at.set(self.looked_at.get() + 1);
        (self.options.progress)(self.looked_at.get());
        self.files.stat(path)
    }

    /// A file with something in it: an empty one is what a crash leaves behind where nobody writes it like we do.
    fn stat(&self, path: &crate::SafePath) -> Result<Stat, FileError> {
        let stat = self.exists(path)?;
        if stat.bytes == 0 {
            return Err(FileError::Missing);
        }
        if stat.bytes > HANDOFF_FILE_BYTES {
            return Err(FileError::TooLarge { limit: HANDOFF_FILE_BYTES });
        }
        Ok(stat)
    }

    /// The same for a file that is to be read.
    fn read(&self, path: &crate::SafePath) -> Result<Vec<u8>, FileError> {
        self.looked_at.set(self.looked_at.get() + 1);
        (self.options.progress)(self.looked_at.get());
        let bytes = self.files.read(path, HANDOFF_FILE_BYTES)?;
        if bytes.is_empty() { Err(FileError::Missing) } else { Ok(bytes) }
    }
}
