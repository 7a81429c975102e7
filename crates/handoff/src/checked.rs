//! The checks of a package in their one order: its shape, what of it fits, what is on disk. Servers and the command line
//! differ in where files are and whom they tell, not in this.

use crate::{
    CheckOptions, Files, Fitted, Package, Problem, Refusal, Types, check_files, fit, index_sizes,
    report_digest,
};
use cardwire_model::Hash256;
use serde_json::{Map, Value};

/// A package whose shape is sound, and what was found on disk.
#[derive(Debug)]
pub struct Checked {
    /// As it came, before entries were left out.
    pub whole: Package,
    /// As it is stored.
    pub fitted: Fitted,
    /// What looks wrong with it so far.
    pub warnings: Vec<Problem>,
    /// The hash of its report, once it was looked for.
    pub report: Option<Hash256>,
    /// The lengths of the files of each sample, once they were looked for.
    pub file_bytes: Map<String, Value>,
}

impl Checked {
    /// Checks the shape (HO-01..HO-07).
    pub fn parse(value: Value, typed: Option<&str>, types: &Types) -> Result<Self, Refusal> {
        let (whole, mut warnings) = Package::parse(value, typed, types)?;
        let fitted = fit(whole.clone())?;
        warnings.extend(fitted.warnings.iter().cloned());
        Ok(Self { whole, fitted, warnings, report: None, file_bytes: Map::new() })
    }

    /// Checks what it refers to (HO-08..HO-12, HO-15).
    pub fn on_disk(mut self, files: &dyn Files, options: &CheckOptions<'_>) -> Result<Self, Refusal> {
        self.warnings.extend(check_files(&self.whole, files, options)?);
        self.report = report_digest(&self.whole, files)?;
        self.file_bytes = index_sizes(&self.fitted.package, files)?;
        Ok(self)
    }
}

/// Whether this is a report and no package.
pub fn is_report(value: &Value) -> bool {
    value.get("report_version").is_some() && value.get("handoff_type").is_none()
}
