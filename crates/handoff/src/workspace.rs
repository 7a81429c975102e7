//! Files that agents put into the workspace, and names of this crate's words on the wire.

use crate::{
    Entry, FileError, Files, Gate, Package, Part, Refusal, RefusalKind, SafePath, Severity, Types, Written,
    problem::code, summary::join,
};
use cardwire_model::{Hash256, limits::HANDOFF_FILE_BYTES};
use serde_json::{Map, Value};

impl Severity {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl Gate {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Off => "off",
        }
    }
}

impl Types {
    /// Whether packages may be of this type.
    pub fn knows(&self, name: &str) -> bool {
        self.find(name).is_some()
    }
}

/// Writes files that are not there yet. All are looked at before the first is written; one that is there with other bytes
/// refuses them all (HO-11).
pub fn write_files(
    files: &dyn Files,
    new: &[(String, Vec<u8>)],
) -> Result<Vec<(SafePath, Written)>, Refusal> {
    let mut checked = vec![];
    for (n, (name, bytes)) in new.iter().enumerate() {
        let field = format!("files/{n}/path");
        let path = SafePath::parse(name).map_err(|wrong| {
            Refusal::new(RefusalKind::Invalid, code::UNSAFE_PATH, Some(&field), format!("{field}: {wrong}"))
        })?;
        if bytes.len() as u64 > HANDOFF_FILE_BYTES {
            return Err(FileError::TooLarge { limit: HANDOFF_FILE_BYTES }.write_refusal(name));
        }
        match files.read(&path, bytes.len() as u64) {
            Ok(there) if there == *bytes => {}
            Err(FileError::Missing) => {}
            Ok(_) | Err(FileError::TooLarge { .. }) => return Err(FileError::Exists.write_refusal(name)),
            Err(error @ (FileError::Unsafe { .. } | FileError::Exists | FileError::Io(_))) => {
                return Err(error.write_refusal(name));
            }
        }
        checked.push((path, bytes));
    }
    for (n, (path, bytes)) in checked.iter().enumerate() {
        for (other, others) in &checked[..n] {
            let below = |inner: &SafePath, outer: &SafePath| {
                inner.as_str().strip_prefix(outer.as_str()).is_some_and(|rest| rest.starts_with('/'))
            };
            if (path == other && bytes != others) || below(path, other) || below(other, path) {
                return Err(FileError::Exists.write_refusal(path.as_str()));
            }
        }
    }
    let write = |(path, bytes): (SafePath, &Vec<u8>)| {
        let written = files.create(&path, bytes).map_err(|error| error.write_refusal(path.as_str()))?;
        Ok((path, written))
    };
    checked.into_iter().map(write).collect()
}

/// The hash of a package's report, if it tells of one.
pub fn report_digest(package: &Package, files: &dyn Files) -> Result<Option<Hash256>, Refusal> {
    let Some(execution) = package.execution() else { return Ok(None) };
    let path = join(&execution.dir, execution.report.as_str())?;
    match files.read(&path, HANDOFF_FILE_BYTES) {
        Ok(bytes) => Ok(Some(Hash256::of(&bytes))),
        Err(error) => Err(error.refusal(path.as_str())),
    }
}

/// How long the files of each sample in a package's index are, as the gate found them. A file that changes its length later is
/// another one (HO-11).
pub fn index_sizes(package: &Package, files: &dyn Files) -> Result<Map<String, Value>, Refusal> {
    let Some(execution) = package.execution() else { return Ok(Map::new()) };
    let files = files.kept();
    let sizes = |entry: &Entry| {
        let size = |part: Part| {
            let Some(path) = entry.path(part) else { return Ok(Value::Null) };
            let path = join(&execution.dir, path.as_str())?;
            let stat = files.stat(&path).map_err(|error| error.refusal(path.as_str()))?;
            Ok(Value::from(stat.bytes))
        };
        Ok((
            entry.sample_id.clone(),
            Part::CASE.iter().map(|part| size(*part)).collect::<Result<Value, Refusal>>()?,
        ))
    };
    package.index().iter().map(sizes).collect()
}
