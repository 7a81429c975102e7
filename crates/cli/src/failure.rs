//! How a command ends other than well: an exit code, a sentence and perhaps a hint of its own.

use std::{io, process::ExitCode};

/// The exit codes of API-15.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// It worked.
    Done,
    /// It did not.
    Failed,
    /// It was asked for in a way that cannot work.
    Usage,
    /// What it was about is not there.
    NotFound,
    /// Something is not as it was assumed to be.
    Conflict,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(match code {
            Code::Done => 0,
            Code::Failed => 1,
            Code::Usage => 2,
            Code::NotFound => 3,
            Code::Conflict => 4,
        })
    }
}

/// Why a command ends.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    /// One sentence, without `error:`; empty when there is nothing to say.
    pub(crate) message: String,
    /// What a person can do, where more is known than [`crate::hint`] can tell of the kind.
    pub(crate) hint: Option<String>,
    /// Nobody answered: the same may work later.
    pub(crate) is_unreachable: bool,
}

impl Failure {
    fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, is_unreachable: false }
    }

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Code::Failed, message)
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Code::Usage, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(Code::NotFound, message)
    }

    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(Code::Conflict, message)
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// No server answered.
    pub(crate) fn unreachable(message: impl Into<String>) -> Self {
        Self { is_unreachable: true, ..Self::failed(message) }
    }

    /// A hint for a failure that has none of its own.
    pub(crate) fn or_hint(self, hint: impl Into<String>) -> Self {
        let hint = self.hint.clone().or_else(|| Some(hint.into()));
        Self { hint, ..self }
    }

    /// A file could not be used.
    pub(crate) fn file(what: &str, path: &std::path::Path, error: &io::Error) -> Self {
        Self::failed(format!("cannot {what} `{}`: {error}", path.display()))
            .hint("see whether the path is right, and whether you may use it")
    }

    /// Standard output could not be written. A reader that has seen enough, as in `| head`, is no failure.
    pub(crate) fn output(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::new(Code::Done, "")
        } else {
            Self::failed(format!("cannot write the output: {error}"))
                .hint("see whether there is room where standard output goes")
        }
    }
}

impl From<cardwire_llm::sse::EventTooLong> for Failure {
    fn from(error: cardwire_llm::sse::EventTooLong) -> Self {
        Self::failed(error.to_string())
    }
}

impl From<cardwire_model::Invalid> for Failure {
    fn from(invalid: cardwire_model::Invalid) -> Self {
        Self::usage(invalid.to_string())
    }
}
