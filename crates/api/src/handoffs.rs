//! Handoff packages on the wire (API-12). What a package must be is decided in the crate `handoff`.

use crate::{list::list, parse};
use cardwire_handoff::{Gate, Load, LoadRequest, LoadedPart, Mode, Package, Part, PartRef, Problem};
use cardwire_kernel::HandoffView;
use cardwire_model::{BoxId, CanonicalJson, Invalid, Resource, limits};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A package: `{version?, handoff_type, timestamp, metadata?, …}`; further fields are kept. An `init_to_execute` has
/// `user_requirement` and `design_artifacts`; an `execute_to_init` has `execution_output_dir`, `trigger_reason`,
/// `iteration_summary`, `failure_samples_index`, `layer1_problems_report_path` and `modification_suggestions_summary`.
#[derive(Debug, ToSchema)]
#[schema(value_type = Object)]
pub struct PackageIn(pub Map<String, Value>);

/// Something that is wrong, or looks so.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProblemOut {
    /// `error` or `warning`.
    pub severity: &'static str,
    /// What kind of problem.
    pub code: &'static str,
    /// In which file, relative to the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// In which field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// For people.
    pub message: String,
}

impl From<&Problem> for ProblemOut {
    fn from(problem: &Problem) -> Self {
        Self {
            severity: problem.severity.as_str(),
            code: problem.code,
            file: problem.file.clone(),
            field: problem.field.clone(),
            message: problem.message.clone(),
        }
    }
}

/// Problems as they are answered.
pub fn problems(problems: &[Problem]) -> Vec<ProblemOut> {
    problems.iter().map(ProblemOut::from).collect()
}

/// A package that was accepted.
#[derive(Debug, Serialize, ToSchema)]
pub struct HandoffOut {
    /// Its name.
    pub handoff_id: String,
    /// The card that holds it.
    pub card_id: String,
    /// The box to hand it over by: that card and nothing else.
    pub box_id: String,
    /// What kind of package.
    pub handoff_type: String,
    /// When it was made, as its author wrote it.
    pub timestamp: String,
    /// When it was accepted.
    pub created_at: String,
    /// Estimated tokens of the package.
    pub token_estimate: u32,
    /// What looks wrong with it.
    pub warnings: Vec<ProblemOut>,
    /// The package itself, where one is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub package: Option<Value>,
}

impl HandoffOut {
    /// A package that was accepted just now.
    pub fn accepted(resource: &Resource, box_id: BoxId, package: &Package, warnings: &[Problem]) -> Self {
        Self {
            handoff_id: resource.name.to_string(),
            card_id: resource.card_id.to_string(),
            box_id: box_id.to_string(),
            handoff_type: package.handoff_type().to_owned(),
            timestamp: package.timestamp().to_owned(),
            created_at: resource.created_at.to_string(),
            token_estimate: package.token_estimate(),
            warnings: problems(warnings),
            package: None,
        }
    }

    /// A stored package with its warnings. They are those of the package itself: files are not looked at (LD-09).
    pub fn new(view: &HandoffView, package: &Package, warnings: &[Problem]) -> Self {
        Self {
            handoff_id: view.id.to_string(),
            card_id: view.card.id.to_string(),
            box_id: view.box_id.clone(),
            handoff_type: package.handoff_type().to_owned(),
            timestamp: package.timestamp().to_owned(),
            created_at: view.card.created_at.to_string(),
            token_estimate: package.token_estimate(),
            warnings: problems(warnings),
            package: None,
        }
    }
}

list! {
    /// A page of packages, the oldest first.
    HandoffList of HandoffOut
}

/// A sound package or report.
#[derive(Debug, Serialize, ToSchema)]
pub struct ValidOut {
    /// Always true: what is not valid is answered with an error that lists all problems.
    pub valid: bool,
    /// `package` or `report`.
    pub kind: &'static str,
    /// What kind of package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handoff_type: Option<String>,
    /// Estimated tokens, after entries were left out that do not fit.
    pub token_estimate: u32,
    /// What looks wrong with it.
    pub warnings: Vec<ProblemOut>,
}

/// What to load of a package.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadIn {
    /// How deep: `report_only` when absent.
    pub mode: Option<ModeName>,
    /// How many tokens at most; 40,000 when absent.
    #[schema(minimum = 1, maximum = 1_000_000)]
    pub budget: Option<i64>,
    /// `custom`: which samples.
    pub sample_ids: Option<Vec<String>>,
    /// `custom`: which parts of them; all when absent.
    pub parts: Option<Vec<PartName>>,
    /// Whether the budget also holds for the report; true when absent.
    pub hard: Option<bool>,
}

/// How deep a load goes.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModeName {
    /// The report.
    ReportOnly,
    /// The report, and the typical case of each problem.
    Typical,
    /// The report, and every failed case.
    Full,
    /// The samples and parts that are named.
    Custom,
}

/// A part of a case.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartName {
    /// The report of all problems.
    Report,
    /// What was asked.
    Sample,
    /// What happened.
    Trace,
    /// How it was judged.
    Evaluation,
    /// Why it failed.
    Attribution,
}

impl LoadIn {
    /// The request.
    pub fn into_request(self) -> Result<LoadRequest, Invalid> {
        let defaults = LoadRequest::default();
        let budget = match self.budget {
            None => defaults.budget,
            Some(budget) => match u32::try_from(budget) {
                Ok(budget) if (1..=limits::LOAD_BUDGET_MAX).contains(&budget) => budget,
                Ok(_) | Err(_) => {
                    let reason = format!("must be 1 to {}", limits::LOAD_BUDGET_MAX);
                    return Err(Invalid::field("budget", reason));
                }
            },
        };
        let sample_ids = self.sample_ids.unwrap_or_default();
        Invalid::check_size("sample_ids", sample_ids.len(), limits::LOAD_SAMPLES, "ids")?;
        for id in &sample_ids {
            parse::plain("sample_ids", Some(id))?;
        }
        Ok(LoadRequest {
            mode: self.mode.map_or(defaults.mode, Into::into),
            budget,
            sample_ids,
            parts: self.parts.unwrap_or_default().into_iter().map(Into::into).collect(),
            hard: self.hard.unwrap_or(defaults.hard),
        })
    }
}

impl From<ModeName> for Mode {
    fn from(mode: ModeName) -> Self {
        match mode {
            ModeName::ReportOnly => Self::ReportOnly,
            ModeName::Typical => Self::Typical,
            ModeName::Full => Self::Full,
            ModeName::Custom => Self::Custom,
        }
    }
}

impl From<PartName> for Part {
    fn from(part: PartName) -> Self {
        match part {
            PartName::Report => Self::Report,
            PartName::Sample => Self::Sample,
            PartName::Trace => Self::Trace,
            PartName::Evaluation => Self::Evaluation,
            PartName::Attribution => Self::Attribution,
        }
    }
}

impl From<Part> for PartName {
    fn from(part: Part) -> Self {
        match part {
            Part::Report => Self::Report,
            Part::Sample => Self::Sample,
            Part::Trace => Self::Trace,
            Part::Evaluation => Self::Evaluation,
            Part::Attribution => Self::Attribution,
        }
    }
}

/// What was loaded, and what was not: the receipt of a load.
#[derive(Debug, Serialize, ToSchema)]
pub struct LoadOut {
    /// The package.
    pub handoff_id: String,
    /// How many tokens were allowed.
    pub budget: u32,
    /// How many were used.
    pub used: u32,
    /// The report alone is over the budget, which was not a hard one.
    pub over_budget: bool,
    /// In the order in which it was loaded.
    pub loaded: Vec<LoadedOut>,
    /// Parts that were shortened.
    pub truncated: Vec<PartOut>,
    /// Parts that did not fit.
    pub omitted: Vec<PartOut>,
    /// Parts whose file is gone.
    pub missing: Vec<PartOut>,
    /// Parts whose file is no JSON, or no file that may be read, or not the one that was handed over.
    pub invalid: Vec<PartOut>,
    /// Those of `invalid` whose file is not the one that was handed over.
    pub changed: Vec<PartOut>,
}

/// A part that was loaded.
#[derive(Debug, Serialize, ToSchema)]
pub struct LoadedOut {
    /// Of which sample; the report has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample_id: Option<String>,
    /// Which part.
    pub part: PartName,
    /// From which file, relative to the workspace.
    pub path: String,
    /// What it says.
    #[schema(value_type = Value)]
    pub content: CanonicalJson,
    /// Estimated tokens of that.
    pub tokens: u32,
    /// Whether it was shortened.
    pub truncated: bool,
}

/// A part that was not loaded as it is.
#[derive(Debug, Serialize, ToSchema)]
pub struct PartOut {
    /// Of which sample; the report has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample_id: Option<String>,
    /// Which part.
    pub part: PartName,
    /// In which file, relative to the workspace.
    pub path: String,
    /// Estimated tokens of the whole, where it was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u32>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl LoadOut {
    /// What was loaded of a package.
    pub fn new(handoff_id: String, load: Load) -> Self {
        let parts = |parts: Vec<PartRef>| parts.into_iter().map(PartOut::from).collect();
        Self {
            handoff_id,
            budget: load.budget,
            used: load.used,
            over_budget: load.over_budget,
            loaded: load.loaded.into_iter().map(LoadedOut::from).collect(),
            truncated: parts(load.truncated),
            omitted: parts(load.omitted),
            missing: parts(load.missing),
            invalid: parts(load.invalid.into_iter().chain(load.changed.iter().cloned()).collect()),
            changed: parts(load.changed),
        }
    }
}

impl From<LoadedPart> for LoadedOut {
    fn from(part: LoadedPart) -> Self {
        let LoadedPart { sample_id, part, path, content, tokens, truncated } = part;
        Self { sample_id, part: part.into(), path, content, tokens, truncated }
    }
}

impl From<PartRef> for PartOut {
    fn from(part: PartRef) -> Self {
        let PartRef { sample_id, part, path, tokens, error } = part;
        Self { sample_id, part: part.into(), path, tokens, error }
    }
}

/// `gate`: whether the design files of an `init_to_execute` must be there.
pub fn gate(name: Option<&str>) -> Result<Option<Gate>, Invalid> {
    let gate = name.map(str::parse::<Gate>).transpose();
    gate.map_err(|_| Invalid::field("gate", "must be one of strict, off"))
}
