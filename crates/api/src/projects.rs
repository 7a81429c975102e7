//! Projects and their audit log on the wire (API-07, API-08).

use cardwire_model::{AuditRow, Project, ProjectSettings};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// A project to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectIn {
    /// Its name: 1 to 128 characters of A-Z, a-z, 0-9, _ and -.
    #[schema(pattern = "^[A-Za-z0-9_-]{1,128}$")]
    pub project_id: String,
    /// For people.
    #[serde(default)]
    #[schema(max_length = 512)]
    pub title: Option<String>,
    /// What operators may tune.
    #[serde(default)]
    #[schema(value_type = Option<SettingsDoc>)]
    pub settings: Option<ProjectSettings>,
}

/// A change to a project.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectPatch {
    /// A new title; null takes it away.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 512)]
    pub title: Option<Option<String>>,
    /// Some settings, merged into the old; null takes one away.
    #[serde(default)]
    #[schema(value_type = Option<SettingsDoc>)]
    pub settings: Option<Box<RawValue>>,
}

/// The settings of a project.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingsDoc {
    /// Who may inherit what.
    pub acl: Option<AclDoc>,
    /// Where the project's files are, below the server's workspace root.
    pub workspace_root: Option<String>,
    /// How deep turns may delegate.
    #[schema(minimum = 1, maximum = 100)]
    pub max_recursion_depth: Option<u32>,
}

/// Access settings.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AclDoc {
    /// `enforce` or `audit`.
    #[schema(pattern = "^(enforce|audit)$")]
    pub inherit: Option<String>,
}

/// Tells an absent member from a null one.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(input: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(input).map(Some)
}

/// A project.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProjectOut {
    /// Its name.
    pub project_id: String,
    /// For people.
    pub title: Option<String>,
    /// What operators may tune.
    #[schema(value_type = SettingsDoc)]
    pub settings: ProjectSettings,
    /// Rises with every change.
    pub revision: u64,
    /// When it was made.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
}

impl From<&Project> for ProjectOut {
    fn from(project: &Project) -> Self {
        Self {
            project_id: project.id.to_string(),
            title: project.title.clone(),
            settings: project.settings.clone(),
            revision: project.revision.get(),
            created_at: project.created_at.to_string(),
            updated_at: project.updated_at.to_string(),
        }
    }
}

/// A page of projects.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProjectList {
    /// The projects.
    pub items: Vec<ProjectOut>,
    /// Give it as `cursor` to get the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// An audit row.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditOut {
    /// Names the row.
    pub seq: u64,
    /// Who acted.
    pub actor: String,
    /// What was done.
    pub action: &'static str,
    /// To what.
    pub subject: String,
    /// `allowed` or `denied`.
    pub verdict: &'static str,
    /// Facts about it.
    #[schema(value_type = serde_json::Value)]
    pub detail: cardwire_model::CanonicalJson,
    /// When.
    pub at: String,
    /// Its place in the chain, once sealed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    /// Its hash in the chain, once sealed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

impl From<&AuditRow> for AuditOut {
    fn from(row: &AuditRow) -> Self {
        Self {
            seq: row.seq,
            actor: row.audit.actor.clone(),
            action: row.audit.action.as_str(),
            subject: row.audit.subject.clone(),
            verdict: row.audit.verdict.as_str(),
            detail: row.audit.detail.clone(),
            at: row.audit.at.to_string(),
            position: row.sealed.map(|sealed| sealed.position),
            hash: row.sealed.map(|sealed| sealed.hash.to_string()),
        }
    }
}

/// A page of audit rows, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditList {
    /// The rows.
    pub items: Vec<AuditOut>,
    /// Give it as `cursor` to get the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}
