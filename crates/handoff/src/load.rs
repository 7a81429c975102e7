//! Loads as much of an iteration as its reader asks for, within a budget of tokens (LD-01 to LD-08).
//!
//! Each file is read at most once, and only if the mode asks for it or a conversation is shortened by what it says.
//! Files are never changed.
//! Invariant: the same files and the same request give the same answer (NF-11), and its tokens add up to `used`.

mod case;
mod request;
mod select;
mod truncate;

use crate::{
    Files, Fingerprints, Package, Part, Refusal, RefusalKind, SafePath, UnsafePath, files::FileError,
    part::SUMMARY, problem::code, summary,
};
use cardwire_model::{
    CanonicalJson,
    limits::{HANDOFF_FILE_BYTES, LOAD_BYTES},
    token_count,
};
use serde::Serialize;
use serde_json::Value;

pub use request::{LoadRequest, Mode};
pub use truncate::{truncate_part, truncate_text};

/// What was loaded, and what was not.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Load {
    /// The tokens that were allowed.
    pub budget: u32,
    /// The tokens of all that was loaded.
    pub used: u32,
    /// The report alone takes more than the budget, and was asked for nevertheless.
    pub over_budget: bool,
    /// In the order in which to read it.
    pub loaded: Vec<LoadedPart>,
    /// Loaded, but shortened; `tokens` is what it would have taken.
    pub truncated: Vec<PartRef>,
    /// Not loaded, for want of budget.
    pub omitted: Vec<PartRef>,
    /// Not on disk.
    pub missing: Vec<PartRef>,
    /// On disk, but not to be used.
    pub invalid: Vec<PartRef>,
    /// Other bytes than the index says, or than there were when the package was accepted. They are not loaded.
    pub changed: Vec<PartRef>,
}

/// A part with its content.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadedPart {
    /// Which sample; the report has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample_id: Option<String>,
    /// Which part of it.
    pub part: Part,
    /// Its file, below `execution_output_dir`.
    pub path: String,
    /// What the file says.
    pub content: CanonicalJson,
    /// Estimated tokens of the content's canonical text.
    pub tokens: u32,
    /// Whether it was shortened.
    pub truncated: bool,
}

/// A part without its content.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartRef {
    /// Which sample; the report and the summary have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample_id: Option<String>,
    /// Which part of it. The summary, which stands for the index, goes by `report`.
    pub part: Part,
    /// Its file, below `execution_output_dir`.
    pub path: String,
    /// What it would have taken, if it was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u32>,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Loads what the request asks for. `files` is opened on the workspace root.
pub fn load(package: &Package, files: &dyn Files, request: &LoadRequest) -> Result<Load, Refusal> {
    load_accepted(package, files, request, &Fingerprints::default())
}

/// The same of a package that was accepted when its files were these (HO-11).
pub fn load_accepted(
    package: &Package,
    files: &dyn Files,
    request: &LoadRequest,
    accepted: &Fingerprints,
) -> Result<Load, Refusal> {
    let Some(execution) = package.execution() else {
        return Err(Refusal::request("handoff_type", "only execute_to_init has something to load"));
    };
    request.check()?;
    let files = files.kept();
    let mut loader = Loader {
        files: &*files,
        dir: &execution.dir,
        accepted,
        bytes_left: LOAD_BYTES,
        load: Load { budget: request.budget, ..Load::default() },
    };
    let report = if request.wants_report() {
        Some(loader.report(execution.report.as_str(), request.hard)?)
    } else {
        None
    };
    let index = select::index(package, execution, report.as_ref(), request, &mut loader);
    let parts = request.case_parts();
    for entry in select::cases(&index, report.as_ref(), request, &mut loader)? {
        loader.case(&entry, &parts);
    }
    Ok(loader.load)
}

/// One load at work.
struct Loader<'a> {
    files: &'a dyn Files,
    dir: &'a SafePath,
    accepted: &'a Fingerprints,
    /// Files of any size make no difference to the budget, hence a limit of their own.
    bytes_left: u64,
    load: Load,
}

impl Loader<'_> {
    fn left(&self) -> u32 {
        self.load.budget.saturating_sub(self.load.used)
    }

    fn push(&mut self, sample_id: Option<&str>, part: Part, path: &str, text: Text, truncated: bool) {
        self.load.used = self.load.used.saturating_add(text.tokens);
        let (content, tokens) = (text.json, text.tokens);
        let sample_id = sample_id.map(str::to_owned);
        self.load.loaded.push(LoadedPart {
            sample_id,
            part,
            path: path.to_owned(),
            content,
            tokens,
            truncated,
        });
    }

    /// The report, which everything else depends on: without it there is no answer (LD-07, LD-08).
    fn report(&mut self, path: &str, hard: bool) -> Result<Value, Refusal> {
        let bytes = match self.read(path) {
            Ok(bytes) => bytes,
            Err(FileError::Missing) => {
                let message = format!("{path}: is missing");
                return Err(
                    Refusal::new(RefusalKind::NotFound, code::REPORT_NOT_FOUND, None, message).about(path)
                );
            }
            Err(error) => return Err(error.refusal(path)),
        };
        let whole = Text::parse(&bytes).map_err(|reason| {
            let message = format!("{path}: {reason}");
            Refusal::new(RefusalKind::Unprocessable, code::INVALID_REPORT, None, message).about(path)
        })?;
        if !self.accepted.agrees_with_report(&bytes) {
            let message = format!(
                "{path}: has changed since the package was accepted; put the file back as it was, or hand over a new iteration"
            );
            return Err(
                Refusal::new(RefusalKind::Conflict, code::ITERATION_CHANGED, None, message).about(path)
            );
        }
        let report = whole.json.to_value();
        let tokens = whole.tokens;
        if tokens <= self.left() || !hard {
            self.load.over_budget = tokens > self.left();
            self.push(None, Part::Report, path, whole, false);
            return Ok(report);
        }
        let part_ref = PartRef {
            sample_id: None,
            part: Part::Report,
            path: path.to_owned(),
            tokens: Some(tokens),
            error: None,
        };
        match whole.truncated(Part::Report, &[]).filter(|short| short.tokens <= self.left()) {
            Some(short) => {
                self.load.truncated.push(part_ref);
                self.push(None, Part::Report, path, short, true);
            }
            None => self.load.omitted.push(part_ref),
        }
        Ok(report)
    }

    /// The complete index of a package whose own is not. `None` when it cannot be had, which is noted.
    fn complete_index(&mut self) -> Option<Vec<crate::Entry>> {
        let note = |error: Option<String>| PartRef {
            sample_id: None,
            part: Part::Report,
            path: SUMMARY.to_owned(),
            tokens: None,
            error,
        };
        let bytes = match self.read(SUMMARY) {
            Ok(bytes) => bytes,
            Err(FileError::Missing) => {
                self.load.missing.push(note(None));
                return None;
            }
            Err(error) => {
                self.load.invalid.push(note(Some(error.to_string())));
                return None;
            }
        };
        match summary::parse(&bytes).map(|summary| summary::entries(&summary)) {
            // The file is shared by the packages of an iteration: what came later is not this one's.
            Ok(Some(mut entries)) => {
                entries.retain(|entry| self.accepted.knows(&entry.sample_id));
                Some(entries)
            }
            Ok(None) => {
                self.load.invalid.push(note(Some("does not hold the complete index".to_owned())));
                None
            }
            Err(reason) => {
                self.load.invalid.push(note(Some(reason)));
                None
            }
        }
    }

    /// Reads a file of the iteration.
    fn read(&mut self, below: &str) -> Result<Vec<u8>, FileError> {
        self.read_path(&SafePath::parse(below).map_err(is_unsafe)?)
    }

    fn read_path(&mut self, below: &SafePath) -> Result<Vec<u8>, FileError> {
        let path = self.dir.join_path(below).map_err(is_unsafe)?;
        let bytes = self.files.read(&path, HANDOFF_FILE_BYTES.min(self.bytes_left))?;
        self.bytes_left = self.bytes_left.saturating_sub(bytes.len() as u64);
        Ok(bytes)
    }
}

fn is_unsafe(error: UnsafePath) -> FileError {
    FileError::unsafe_because(error.to_string())
}

/// JSON and what it takes.
struct Text {
    json: CanonicalJson,
    tokens: u32,
}

impl Text {
    fn parse(bytes: &[u8]) -> Result<Self, String> {
        Ok(Self::new(summary::canonical(bytes)?))
    }

    fn new(json: CanonicalJson) -> Self {
        let tokens = token_count::estimate(json.as_str());
        Self { json, tokens }
    }

    /// A shorter one, if shortening makes it shorter.
    fn truncated(&self, part: Part, key_turns: &[u64]) -> Option<Self> {
        let value = truncate_part(part, &self.json.to_value(), key_turns);
        let short = Self::new(CanonicalJson::from_value(&value).ok()?);
        (short.tokens < self.tokens).then_some(short)
    }
}
