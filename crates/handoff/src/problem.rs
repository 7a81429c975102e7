//! What is wrong with a package, a report or a directory: problems, and the refusal that carries them.
//!
//! Invariant: findings come out sorted and bounded, whatever the order in which a directory gave its names.

use cardwire_model::limits::HANDOFF_PROBLEMS;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The package is refused.
    Error,
    /// The package is taken; somebody may want to know.
    Warning,
}

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// Whether it keeps the package from being taken.
    pub severity: Severity,
    /// What programs tell problems apart by.
    pub code: &'static str,
    /// The file it is about: below `execution_output_dir` for the files of an iteration, else below the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The field it is about, e.g. `failure_samples_index/0/priority`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// For people.
    pub message: String,
}

/// Why something is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Refusal {
    /// What kind of answer it is.
    pub kind: RefusalKind,
    /// What programs tell refusals apart by.
    pub code: &'static str,
    /// The first field that it is about.
    pub field: Option<String>,
    /// For people.
    pub message: String,
    /// Every error that was found, sorted.
    pub problems: Vec<Problem>,
}

/// The kinds of refusals, one for each HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// 400: the request itself is wrong.
    Invalid,
    /// 404: what it names does not exist.
    NotFound,
    /// 409: it would change what must stay.
    Conflict,
    /// 413: it is too large.
    TooLarge,
    /// 422: it is well-formed, but what it speaks of is not in order.
    Unprocessable,
}

impl RefusalKind {
    /// The HTTP status.
    pub const fn status(self) -> u16 {
        match self {
            Self::Invalid => 400,
            Self::NotFound => 404,
            Self::Conflict => 409,
            Self::TooLarge => 413,
            Self::Unprocessable => 422,
        }
    }
}

impl Refusal {
    /// A refusal for one reason.
    pub(crate) fn new(
        kind: RefusalKind,
        code: &'static str,
        field: Option<&str>,
        message: impl Into<String>,
    ) -> Self {
        let message = message.into();
        let field = field.map(str::to_owned);
        let problem = Problem {
            severity: Severity::Error,
            code,
            file: None,
            field: field.clone(),
            message: message.clone(),
        };
        Self { kind, code, field, message, problems: vec![problem] }
    }

    /// A request that asks for what cannot be given.
    pub(crate) fn request(field: &str, message: impl Into<String>) -> Self {
        Self::new(RefusalKind::Invalid, code::INVALID_REQUEST, Some(field), message)
    }

    /// The same refusal, about a file.
    pub(crate) fn about(mut self, file: &str) -> Self {
        for problem in &mut self.problems {
            problem.file = Some(file.to_owned());
        }
        self
    }
}

/// The codes of errors.
pub(crate) mod code {
    pub(crate) const UNSUPPORTED_VERSION: &str = "unsupported_version";
    pub(crate) const UNSAFE_PATH: &str = "unsafe_path";
    pub(crate) const INLINE_CONTENT: &str = "inline_content_forbidden";
    pub(crate) const INVALID_PACKAGE: &str = "invalid_package";
    pub(crate) const PACKAGE_TOO_LARGE: &str = "package_too_large";
    pub(crate) const PERSISTENCE_INCOMPLETE: &str = "persistence_incomplete";
    pub(crate) const INVALID_REPORT: &str = "invalid_report";
    pub(crate) const INVALID_FILE: &str = "invalid_file";
    pub(crate) const REPORT_NOT_FOUND: &str = "report_not_found";
    pub(crate) const UNKNOWN_SAMPLE: &str = "unknown_sample";
    pub(crate) const INVALID_REQUEST: &str = "invalid_request";
    pub(crate) const ITERATION_CHANGED: &str = "iteration_changed";
    pub(crate) const FILE_UNREADABLE: &str = "file_unreadable";
    pub(crate) const FILE_NOT_WRITTEN: &str = "file_not_written";
}

/// Errors that can be found together, the one that gives the refusal its code first.
const RANKS: [(&str, RefusalKind); 8] = [
    (code::UNSAFE_PATH, RefusalKind::Invalid),
    (code::UNSUPPORTED_VERSION, RefusalKind::Invalid),
    (code::INLINE_CONTENT, RefusalKind::Invalid),
    (code::INVALID_PACKAGE, RefusalKind::Invalid),
    (code::PERSISTENCE_INCOMPLETE, RefusalKind::Unprocessable),
    (code::INVALID_REPORT, RefusalKind::Unprocessable),
    (code::INVALID_FILE, RefusalKind::Unprocessable),
    (code::FILE_UNREADABLE, RefusalKind::Unprocessable),
];

/// Collects problems: the first of each code in sorted order, and a count of the rest.
#[derive(Default)]
pub(crate) struct Findings {
    found: BTreeMap<(Severity, &'static str), Found>,
}

#[derive(Default)]
struct Found {
    named: BTreeSet<Problem>,
    more: u64,
}

/// Where a problem is.
#[derive(Clone, Copy, Default)]
pub(crate) struct Place<'a> {
    pub(crate) file: Option<&'a str>,
    pub(crate) field: Option<&'a str>,
}

impl<'a> Place<'a> {
    pub(crate) fn file(file: &'a str) -> Self {
        Self { file: Some(file), field: None }
    }

    pub(crate) fn field(field: &'a str) -> Self {
        Self { file: None, field: Some(field) }
    }
}

impl Findings {
    pub(crate) fn error(&mut self, code: &'static str, place: Place<'_>, message: impl Into<String>) {
        self.add(Severity::Error, code, place, message.into());
    }

    pub(crate) fn warning(&mut self, code: &'static str, place: Place<'_>, message: impl Into<String>) {
        self.add(Severity::Warning, code, place, message.into());
    }

    fn add(&mut self, severity: Severity, code: &'static str, place: Place<'_>, message: String) {
        let (file, field) = (place.file.map(str::to_owned), place.field.map(str::to_owned));
        let found = self.found.entry((severity, code)).or_default();
        found.named.insert(Problem { severity, code, file, field, message });
        if found.named.len() > HANDOFF_PROBLEMS {
            found.named.pop_last();
            found.more += 1;
        }
    }

    /// The warnings, or a refusal with all errors.
    pub(crate) fn finish(self) -> Result<Vec<Problem>, Refusal> {
        let rank = RANKS.into_iter().find(|(code, _)| self.found.contains_key(&(Severity::Error, *code)));
        let Some((code, kind)) = rank else { return Ok(self.warnings()) };
        let message = self.message(code);
        let errors = self.found.into_iter().filter(|((severity, _), _)| *severity == Severity::Error);
        let problems: Vec<Problem> = errors.flat_map(|(_, found)| found.named).collect();
        let first = problems.iter().find(|problem| problem.code == code);
        let field = first.and_then(|problem| problem.field.clone());
        Err(Refusal { kind, code, field, message, problems })
    }

    fn warnings(self) -> Vec<Problem> {
        let mut warnings = Vec::new();
        for ((severity, code), found) in self.found {
            warnings.extend(found.named);
            if found.more > 0 {
                let message = format!("and {} more of this kind", found.more);
                warnings.push(Problem { severity, code, file: None, field: None, message });
            }
        }
        warnings
    }

    /// Every error of the kind in one sentence, and how many there are besides.
    fn message(&self, code: &'static str) -> String {
        let mut message = String::new();
        let mut more = 0;
        for ((severity, of), found) in &self.found {
            match severity {
                Severity::Error if *of == code => {
                    let named: Vec<String> = found.named.iter().map(describe).collect();
                    message = named.join("; ");
                    more += found.more;
                }
                Severity::Error => more += found.named.len() as u64 + found.more,
                Severity::Warning => {}
            }
        }
        if more > 0 { format!("{message}; and {more} more problems") } else { message }
    }
}

fn describe(problem: &Problem) -> String {
    match problem.file.as_ref().or(problem.field.as_ref()) {
        Some(place) => format!("{place}: {}", problem.message),
        None => problem.message.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SEC-07
    #[test]
    fn a_hundred_problems_are_named_and_the_next_one_is_counted_whatever_their_order() {
        let finish = |count: usize, backwards: bool| {
            let mut findings = Findings::default();
            let mut names: Vec<String> = (0..count).map(|n| format!("{n:03}")).collect();
            if backwards {
                names.reverse();
            }
            for name in &names {
                findings.error(code::PERSISTENCE_INCOMPLETE, Place::file(name), "is missing");
            }
            findings.finish().unwrap_err()
        };
        let full = finish(HANDOFF_PROBLEMS, false);
        assert_eq!((full.problems.len(), full.message.contains("more")), (HANDOFF_PROBLEMS, false));
        let over = finish(HANDOFF_PROBLEMS + 1, true);
        assert_eq!(over.problems, full.problems);
        assert!(over.message.ends_with("; and 1 more problems"), "{over}");
    }

    /// HO-10
    #[test]
    fn an_unsafe_path_gives_the_refusal_its_code_however_much_else_is_wrong() {
        let mut findings = Findings::default();
        for n in 0..2 * HANDOFF_PROBLEMS {
            findings.error(code::PERSISTENCE_INCOMPLETE, Place::file(&n.to_string()), "is missing");
        }
        findings.error(code::UNSAFE_PATH, Place::field("z"), "leaves the root");
        findings.warning("w", Place::default(), "odd");
        let refusal = findings.finish().unwrap_err();
        assert_eq!((refusal.code, refusal.field.as_deref()), ("unsafe_path", Some("z")));
        assert_eq!(refusal.message, "z: leaves the root; and 200 more problems");
        assert!(refusal.problems.iter().all(|problem| problem.severity == Severity::Error));
    }

    #[test]
    fn every_kind_has_its_status() {
        let kinds = [
            (RefusalKind::Invalid, 400),
            (RefusalKind::NotFound, 404),
            (RefusalKind::Conflict, 409),
            (RefusalKind::TooLarge, 413),
            (RefusalKind::Unprocessable, 422),
        ];
        for (kind, status) in kinds {
            assert_eq!(kind.status(), status);
        }
    }
}
