//! `init_to_execute`: what is wanted, and the files in which the design is (HO-02).

use super::{PathField, safe_path};
use crate::{fields::Fields, problem::Findings};

/// The artifacts that an execution usually needs. Others are allowed.
const RECOMMENDED: [&str; 3] =
    ["unified_scenario_design_path", "business_rules_path", "format_specifications_path"];

pub(super) fn read(fields: &Fields<'_>, findings: &mut Findings) -> Option<Vec<PathField>> {
    fields.text(findings, "user_requirement");
    fields.optional("design_rationale", |fields| {
        fields.string(findings, "design_rationale");
    });
    fields.optional("design_iterations", |fields| {
        fields.objects(findings, "design_iterations");
    });
    fields.optional("known_constraints", |fields| {
        fields.texts(findings, "known_constraints");
    });
    artifacts(fields, findings)
}

fn artifacts(fields: &Fields<'_>, findings: &mut Findings) -> Option<Vec<PathField>> {
    let artifacts = fields.object(findings, "design_artifacts")?;
    if artifacts.is_empty() {
        fields.error(findings, "design_artifacts", "must name at least one file");
    }
    let missing: Vec<&str> = RECOMMENDED.into_iter().filter(|key| !artifacts.contains_key(*key)).collect();
    if !missing.is_empty() {
        let message = format!("usually also names {}", missing.join(", "));
        fields.warning(findings, "artifacts_recommended", "design_artifacts", message);
    }
    let mut paths = Vec::with_capacity(artifacts.len());
    for (key, value) in artifacts {
        let key = format!("design_artifacts/{key}");
        let Some(text) = value.as_str() else {
            fields.error(findings, &key, "must be a string");
            continue;
        };
        paths.extend(safe_path(text, &key, findings).map(|path| PathField { field: key, path }));
    }
    Some(paths)
}
