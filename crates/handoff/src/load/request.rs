//! What a reader asks for (LD-01).

use crate::{Part, Refusal};
use cardwire_model::limits::{HANDOFF_ENTRIES, LOAD_TOKENS};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// How deep to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The report.
    #[default]
    ReportOnly,
    /// The report and the cases that are typical of its problems.
    Typical,
    /// The report and every failed case.
    Full,
    /// Cases by their ids, parts by their names.
    Custom,
}

impl FromStr for Mode {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        match text {
            "report_only" => Ok(Self::ReportOnly),
            "typical" => Ok(Self::Typical),
            "full" => Ok(Self::Full),
            "custom" => Ok(Self::Custom),
            _ => Err(Refusal::request("mode", "mode must be report_only, typical, full or custom")),
        }
    }
}

/// What to load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoadRequest {
    /// How deep.
    pub mode: Mode,
    /// Tokens that it may take.
    pub budget: u32,
    /// Which cases, for [`Mode::Custom`].
    pub sample_ids: Vec<String>,
    /// Which parts of each case; none for all. [`Mode::Custom`] gives the report only if it is among them, or if there
    /// are none.
    pub parts: Vec<Part>,
    /// Whether the budget holds even if the report alone takes more.
    pub hard: bool,
}

impl Default for LoadRequest {
    fn default() -> Self {
        Self { mode: Mode::ReportOnly, budget: LOAD_TOKENS, sample_ids: vec![], parts: vec![], hard: true }
    }
}

impl LoadRequest {
    /// Refuses what contradicts itself.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if self.budget == 0 {
            return Err(Refusal::request("budget", "budget must be at least 1"));
        }
        if self.sample_ids.len() > HANDOFF_ENTRIES {
            let message = format!("sample_ids may name at most {HANDOFF_ENTRIES} samples");
            return Err(Refusal::request("sample_ids", message));
        }
        match (self.mode, self.sample_ids.is_empty()) {
            (Mode::Custom, true) => Err(Refusal::request("sample_ids", "custom needs sample_ids")),
            (Mode::ReportOnly | Mode::Typical | Mode::Full, false) => {
                Err(Refusal::request("sample_ids", "sample_ids are for the mode custom"))
            }
            (Mode::ReportOnly, true) if self.parts.iter().any(|part| *part != Part::Report) => {
                Err(Refusal::request("parts", "report_only has no other part than report"))
            }
            (Mode::ReportOnly | Mode::Typical | Mode::Full, true) | (Mode::Custom, false) => Ok(()),
        }
    }

    pub(super) fn wants_report(&self) -> bool {
        match self.mode {
            Mode::ReportOnly | Mode::Typical | Mode::Full => true,
            Mode::Custom => self.parts.is_empty() || self.parts.contains(&Part::Report),
        }
    }

    /// The parts of a case that are asked for, in the order in which they are given.
    pub(super) fn case_parts(&self) -> Vec<Part> {
        let wanted = |part: &Part| self.parts.is_empty() || self.parts.contains(part);
        Part::CASE.into_iter().filter(wanted).collect()
    }
}
