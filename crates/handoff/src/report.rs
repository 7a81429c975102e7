//! The report of an iteration: which problems the design has, and what to do about them first (HO-12).
//!
//! What programs rely on is checked strictly. Sums that do not add up are warnings: the report is written by a model
//!

use crate::{
    Problem, Refusal, RefusalKind,
    fields::Fields,
    iso8601,
    problem::{Findings, Place, code},
};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap, HashSet};

const PROBLEMS: &str = "layer1_problems";
const ORDER: &str = "modification_priority";
const SEVERITIES: [&str; 4] = ["critical", "high", "medium", "low"];
/// Half of the last digit that a rate is given with.
const RATE_TOLERANCE: f64 = 0.005;

/// Checks a report by itself. `Ok` are warnings.
pub fn check_report(value: &Value) -> Result<Vec<Problem>, Refusal> {
    let mut findings = Findings::default();
    check(value, None, &mut findings);
    findings.finish().map_err(|refusal| Refusal { kind: RefusalKind::Invalid, ..refusal })
}

/// Notes what is wrong with a report, perhaps one that was read from a file.
pub(crate) fn check(value: &Value, file: Option<&str>, findings: &mut Findings) {
    let Some(map) = value.as_object() else {
        findings.error(code::INVALID_REPORT, Place { file, field: None }, "a report is a JSON object");
        return;
    };
    let fields = Fields { map, at: "", file, code: code::INVALID_REPORT };
    if let Some(version) = fields.string(findings, "report_version")
        && version != "1.0"
    {
        fields.error(findings, "report_version", "must be 1.0");
    }
    if let Some(moment) = fields.string(findings, "generated_at")
        && !iso8601::is_moment(moment)
    {
        fields.warning(findings, "odd_timestamp", "generated_at", "is not ISO 8601");
    }
    fields.count(findings, "iteration");
    check_rate(&fields, findings);
    let ids = check_problems(&fields, findings);
    check_order(&fields, ids.as_ref(), findings);
}

/// The cases that stand for problems, those of the most urgent problem first (LD-03). Whatever is not there is skipped.
pub(crate) fn typical_cases(report: &Value) -> Vec<&str> {
    let list = |key: &str| report.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let text = |item: &'_ Value, key: &str| item.get(key).and_then(Value::as_str).map(str::to_owned);
    let ranks: HashMap<String, i64> = list(ORDER)
        .iter()
        .filter_map(|item| Some((text(item, "problem_id")?, item.get("priority")?.as_i64()?)))
        .collect();
    let mut problems: Vec<&Value> = list(PROBLEMS).iter().collect();
    // Problems without a rank come last, in their order.
    problems.sort_by_key(|problem| {
        text(problem, "problem_id").and_then(|id| ranks.get(&id).copied()).unwrap_or(i64::MAX)
    });
    let mut seen = HashSet::new();
    let cases = problems.into_iter().filter_map(|problem| problem.get("typical_case_id")?.as_str());
    cases.filter(|id| !id.is_empty() && seen.insert(*id)).collect()
}

/// The samples that a report says are affected, with the worst severity of what affects each.
pub(crate) fn affected(report: &Value) -> HashMap<&str, &'static str> {
    let mut affected: HashMap<&str, &'static str> = HashMap::new();
    let problems = report.get(PROBLEMS).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let rank = |severity: &str| SEVERITIES.iter().position(|known| *known == severity);
    for problem in problems {
        let severity = problem.get("severity").and_then(Value::as_str).and_then(rank).unwrap_or(2);
        let samples =
            problem.get("affected_samples").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for id in samples.iter().filter_map(Value::as_str) {
            let worst = affected.get(id).and_then(|known| rank(known)).unwrap_or(usize::MAX).min(severity);
            affected.insert(id, SEVERITIES[worst]);
        }
    }
    affected
}

/// The samples that failed by what a report says: those that a problem affects, and those that stand for one.
pub(crate) fn blamed(report: &Value) -> HashSet<&str> {
    affected(report).into_keys().chain(typical_cases(report)).collect()
}

fn check_rate(fields: &Fields<'_>, findings: &mut Findings) {
    let total = fields.count(findings, "total_samples");
    let failed = fields.count(findings, "failed_samples");
    let rate = fields.number(findings, "failure_rate");
    let (Some(total), Some(failed), Some(rate)) = (total, failed, rate) else { return };
    if failed > total {
        let message = format!("says {failed} of {total}");
        fields.warning(findings, "failed_samples_mismatch", "failed_samples", message);
    }
    let exact = if total == 0 { 0.0 } else { failed as f64 / total as f64 };
    let expected = (exact * 100.0).round() / 100.0;
    // A little more than the tolerance itself, which no double holds exactly.
    if (rate - expected).abs() > RATE_TOLERANCE + 1e-9 {
        let message = format!("says {rate}, and {failed} of {total} is {expected}");
        fields.warning(findings, "failure_rate_mismatch", "failure_rate", message);
    }
}

/// The ids of the problems.
fn check_problems(fields: &Fields<'_>, findings: &mut Findings) -> Option<BTreeSet<String>> {
    let mut ids = BTreeSet::new();
    for (at, map) in fields.objects(findings, PROBLEMS)? {
        let problem = Fields { map, at: &at, ..*fields };
        if let Some(id) = problem.text(findings, "problem_id")
            && !ids.insert(id.to_owned())
        {
            problem.error(findings, "problem_id", format!("{id} is there already"));
        }
        for key in ["problem_type", "title", "description", "evidence_summary", "typical_case_id"] {
            problem.string(findings, key);
        }
        if let Some(severity) = problem.string(findings, "severity")
            && !SEVERITIES.contains(&severity)
        {
            problem.error(findings, "severity", format!("must be one of {}", SEVERITIES.join(", ")));
        }
        check_affected(&problem, findings);
        if let Some(map) = problem.object(findings, "suggested_fix") {
            let at = problem.path("suggested_fix");
            let fix = Fields { map, at: &at, ..*fields };
            for key in ["target", "section", "modification", "rationale"] {
                fix.string(findings, key);
            }
        }
    }
    Some(ids)
}

fn check_affected(problem: &Fields<'_>, findings: &mut Findings) {
    let samples = problem.texts(findings, "affected_samples");
    let count = problem.count(findings, "affected_count");
    if let (Some(samples), Some(count)) = (samples, count)
        && samples.len() as u64 != count
    {
        let message = format!("says {count}, and affected_samples names {}", samples.len());
        problem.warning(findings, "affected_count_mismatch", "affected_count", message);
    }
}

/// Each problem has its place: 1, 2, 3, … without gaps.
fn check_order(fields: &Fields<'_>, ids: Option<&BTreeSet<String>>, findings: &mut Findings) {
    let Some(order) = fields.objects(findings, ORDER) else { return };
    let count = order.len() as u64;
    let mut priorities = HashSet::new();
    let mut ordered = BTreeSet::new();
    for (at, map) in &order {
        let item = Fields { map, at, ..*fields };
        if let Some(priority) = item.count(findings, "priority") {
            if !(1..=count).contains(&priority) {
                item.error(findings, "priority", format!("must be one of 1 to {count}, each once"));
            } else if !priorities.insert(priority) {
                item.error(findings, "priority", format!("{priority} is there already"));
            }
        }
        if let Some(id) = item.string(findings, "problem_id") {
            ordered.insert(id.to_owned());
            if ids.is_some_and(|ids| !ids.contains(id)) {
                item.error(findings, "problem_id", "is not among layer1_problems");
            }
        }
        item.string(findings, "impact");
        item.string(findings, "estimated_improvement");
    }
    for id in ids.into_iter().flatten().filter(|id| !ordered.contains(*id)) {
        fields.warning(findings, "problem_without_priority", ORDER, format!("does not name {id}"));
    }
}
