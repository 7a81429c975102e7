//! Change a project's title or settings.

use super::live;
use crate::{Decision, Moment, Rejection};
use cardwire_model::{
    AuditAction, CanonicalJson, Commit, EventKind, Expect, Invalid, Project, ProjectId, ProjectSettings,
    Snapshot, Write, json, project::check_title,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What to change; absent means leave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateProject {
    /// Which project.
    pub id: ProjectId,
    /// A new title; `Some(None)` takes the title away.
    pub title: Option<Option<String>>,
    /// New values for some settings, merged into the old (RFC 7396: null takes a setting away).
    pub settings: Option<Value>,
}

/// Applies the change to the row as it is.
pub fn decide(
    snapshot: &Snapshot,
    command: UpdateProject,
    moment: &Moment,
) -> Result<Decision<Project>, Rejection> {
    let old = live(snapshot, &command.id)?;
    let mut project = old.clone();
    if let Some(title) = command.title {
        title.as_deref().map(check_title).transpose()?;
        project.title = title;
    }
    if let Some(patch) = &command.settings {
        project.settings = merge_settings(&old.settings, patch)?;
    }
    if (&project.title, &project.settings) == (&old.title, &old.settings) {
        return Ok(Decision::nothing(command.id, project));
    }
    project.revision = old.revision.next();
    project.updated_at = moment.now;
    let mut commit = Commit::new(command.id.clone());
    commit.expect.push(Expect::ProjectAt(old.revision));
    let facts = json!({ "revision": project.revision.get() });
    commit.events.push(moment.event(EventKind::ProjectUpdated, &command.id, &facts));
    commit.audit.push(moment.audit(
        AuditAction::ProjectUpdate,
        &command.id,
        &json!({ "settings": project.settings.to_json().to_value() }),
    ));
    commit.writes.push(Write::UpdateProject(project.clone()));
    Ok(Decision { commit, outcome: project })
}

fn merge_settings(old: &ProjectSettings, patch: &Value) -> Result<ProjectSettings, Rejection> {
    let mut merged = old.to_json().to_value();
    merge(&mut merged, patch);
    // Read as a member, so that a refusal names its place in the request.
    let patched =
        CanonicalJson::from_value(&json!({ "settings": merged })).map_err(|wrong| wrong.at("settings"))?;
    let mut read: BTreeMap<String, ProjectSettings> = json::read(patched.as_str(), "settings")?;
    let settings = read.remove("settings").ok_or_else(|| Invalid::field("settings", "must be an object"))?;
    settings.check()?;
    Ok(settings)
}

/// RFC 7396.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    if let Value::Object(target) = target {
        for (key, value) in patch {
            if value.is_null() {
                target.remove(key);
            } else {
                merge(target.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{moment, project, project_row};
    use cardwire_model::{limits, project::InheritMode};

    fn update(settings: Value) -> Result<Project, Rejection> {
        let snapshot = Snapshot { project: Some(project_row()), ..Snapshot::default() };
        let command = UpdateProject { id: project(), title: None, settings: Some(settings) };
        decide(&snapshot, command, &moment()).map(|decision| decision.outcome)
    }

    #[test]
    fn settings_are_merged_and_checked() {
        let updated = update(json!({ "acl": { "inherit": "audit" } })).unwrap();
        assert_eq!(updated.settings.acl.inherit, InheritMode::Audit);
        assert_eq!(updated.revision.get(), 2);
        assert_eq!(update(json!({})).unwrap().revision.get(), 1);
        // With the place where they stand, one level more than JSON may have.
        let deep = (1..limits::JSON_DEPTH).fold(json!({}), |value, _| json!({ "x": value }));
        for bad in [json!({ "acl": { "inherit": "maybe" } }), json!({ "x": 1 }), json!(1), deep] {
            assert!(matches!(update(bad.clone()), Err(Rejection::Invalid(_))), "{bad}");
        }
    }

    /// SEC-08: a root that no file could be reached by is not kept.
    #[test]
    fn sec_08_a_workspace_root_is_a_path_that_can_be_used() {
        let long = "a".repeat(300);
        let deep = "a/".repeat(2_500);
        for bad in ["../x", "/x", "", " ", ".", "./", "a/./b", "a//b", "a\\b", "a\nb", "a/..", &long, &deep] {
            match update(json!({ "workspace_root": bad })) {
                Err(Rejection::Invalid(invalid)) => {
                    assert_eq!(invalid.field_name(), "settings/workspace_root")
                }
                other => panic!("{bad:?}: {other:?}"),
            }
        }
        for good in ["w", "./w/", "new/", "仓库/src", "a b", "..."] {
            let made = update(json!({ "workspace_root": good })).unwrap();
            assert_eq!(made.settings.workspace_root.as_deref(), Some(good));
        }
    }

    /// API-06
    #[test]
    fn a_list_does_not_switch_settings() {
        for (list, field) in [
            (json!([]), "settings"),
            (json!([["audit"]]), "settings"),
            (json!({ "acl": ["audit"] }), "settings/acl"),
            (json!({ "context": { "knowledge": [] } }), "settings/context/knowledge"),
        ] {
            let Err(Rejection::Invalid(invalid)) = update(list.clone()) else { panic!("{list}") };
            assert_eq!(invalid.field_name(), field, "{list}");
        }
    }
}
