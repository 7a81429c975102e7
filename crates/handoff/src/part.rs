//! The parts of a case and where they are kept (HO-08, HO-09). The one place that knows names of files.

use crate::{Refusal, SafePath, UnsafePath};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// The summary of failed samples, and the complete index where the package's own is not.
pub(crate) const SUMMARY: &str = "failure_summary.json";
/// Where samples are.
pub(crate) const SAMPLES: &str = "samples";

/// What can be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The report of an iteration.
    Report,
    /// A sample.
    Sample,
    /// How it was worked on.
    Trace,
    /// How it was judged.
    Evaluation,
    /// Why it failed.
    Attribution,
}

impl Part {
    /// The parts of a case, in the order in which they are given.
    pub const CASE: [Self; 4] = [Self::Sample, Self::Trace, Self::Evaluation, Self::Attribution];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Sample => "sample",
            Self::Trace => "trace",
            Self::Evaluation => "evaluation",
            Self::Attribution => "attribution",
        }
    }

    /// The field that holds its path.
    pub(crate) const fn path_field(self) -> &'static str {
        match self {
            Self::Report => "layer1_problems_report_path",
            Self::Sample => "sample_path",
            Self::Trace => "trace_path",
            Self::Evaluation => "evaluation_path",
            Self::Attribution => "attribution_path",
        }
    }

    /// Where it is, below `execution_output_dir`.
    pub(crate) fn file(self, sample_id: &str) -> String {
        match self {
            Self::Report => "layer1_problems_report.json".to_owned(),
            Self::Sample => format!("{SAMPLES}/{sample_id}.json"),
            Self::Trace => format!("execution_traces/{sample_id}_trace.json"),
            Self::Evaluation => format!("evaluation_results/{sample_id}_eval.json"),
            Self::Attribution => format!("attribution_analysis/{sample_id}_attribution.json"),
        }
    }

    /// The same as a path, if the id can be part of one: an id with a slash in it cannot.
    pub(crate) fn path(self, sample_id: &str) -> Result<SafePath, UnsafePath> {
        check_name(sample_id)?;
        SafePath::parse(&self.file(sample_id))
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Part {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let all = [Self::Report, Self::Sample, Self::Trace, Self::Evaluation, Self::Attribution];
        all.into_iter().find(|part| part.as_str() == text).ok_or_else(|| {
            let names = all.map(Self::as_str).join(", ");
            Refusal::request("parts", format!("parts must be some of {names}"))
        })
    }
}

/// The sample whose file in `samples/` has this name; none for hidden files and for what is no JSON file, e.g. one that
/// is being written.
pub(crate) fn sample_of(name: &str) -> Option<&str> {
    let id = name.strip_suffix(".json")?;
    (!id.is_empty() && !id.starts_with('.')).then_some(id)
}

/// The number in `…/iteration_<n>`.
pub(crate) fn iteration_of(dir: &SafePath) -> Option<u64> {
    let number = dir.file_name().strip_prefix("iteration_")?;
    // `+1` and `01` would be other names for the same number.
    let parsed: u64 = number.parse().ok()?;
    (parsed.to_string() == number).then_some(parsed)
}

/// An id becomes a name of files, and a hidden one would not be found again.
pub(crate) fn check_sample_id(id: &str) -> Result<(), UnsafePath> {
    check_name(id)?;
    SafePath::parse(id).map(drop)
}

fn check_name(id: &str) -> Result<(), UnsafePath> {
    if id.is_empty() || id.contains('/') || id.starts_with('.') {
        return Err(UnsafePath("a sample_id is a name of files: no slash, no dot at its start".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// HO-09
    #[test]
    fn files_are_named_after_their_sample() {
        let files = Part::CASE.map(|part| part.file("BS_MT_001"));
        assert_eq!(
            files,
            [
                "samples/BS_MT_001.json",
                "execution_traces/BS_MT_001_trace.json",
                "evaluation_results/BS_MT_001_eval.json",
                "attribution_analysis/BS_MT_001_attribution.json",
            ]
        );
        for (name, id) in [
            ("a.json", Some("a")),
            ("a.b.json", Some("a.b")),
            (".json", None),
            (".1-2.tmp", None),
            (".a.json", None),
            ("a.json.tmp", None),
            ("a.JSON", None),
        ] {
            assert_eq!(sample_of(name), id, "{name}");
        }
    }

    /// HO-09
    #[test]
    fn the_number_of_an_iteration_is_at_the_end_of_its_directory() {
        let number = |dir: &str| iteration_of(&SafePath::parse(dir).unwrap());
        assert_eq!(number("a/iteration_12"), Some(12));
        assert_eq!(number("iteration_0"), Some(0));
        for dir in ["a/iteration_", "iteration_012", "iteration_+1", "iteration_1/x", "xiteration_1"] {
            assert_eq!(number(dir), None, "{dir}");
        }
    }

    /// HO-10
    #[test]
    fn an_id_cannot_lead_elsewhere() {
        for id in ["../x", "a/b", "..", ".", "", ".a", "a\0", "a\\b"] {
            assert!(Part::Sample.path(id).is_err(), "{id:?}");
        }
        assert!(Part::Sample.path("样本 1").is_ok());
    }

    #[test]
    fn parts_are_read_by_their_names() {
        for part in Part::CASE {
            assert_eq!(part.as_str().parse(), Ok(part));
            assert_eq!(serde_json::to_value(part).unwrap(), part.as_str());
        }
        assert_eq!("all".parse::<Part>().unwrap_err().code, "invalid_request");
    }
}
