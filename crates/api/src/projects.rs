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
    /// Bounds of orchestration.
    pub pmo: Option<PmoDoc>,
    /// Who may delegate.
    pub delegation: Option<DelegationDoc>,
    /// Where agents write.
    pub output: Option<OutputDoc>,
    /// What models are sent.
    pub context: Option<ContextDoc>,
}

/// Where agents write.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputDoc {
    /// What an agent that is used again writes on: `serial` (the default): the box it has; `strict`: a new one if a turn of it
    /// is live.
    #[schema(value_type = Option<String>, pattern = "^(serial|strict)$")]
    pub single_writer: Option<String>,
}

/// Bounds of orchestration. A number that is 0 or less means the default.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PmoDoc {
    /// Most branches of one fork_join: 1,000 by default, 10,000 at most.
    pub fork_join_max_tasks: Option<i64>,
    /// Seconds a batch may take when the call does not say; 0 or less means for ever.
    pub fork_join_deadline_seconds: Option<i64>,
    /// Most turns below one root.
    pub max_tree_turns: Option<i64>,
    /// Most open turns of the project that delegation may lead to; no bound by default.
    pub max_open_turns: Option<i64>,
}

/// Who may delegate.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DelegationDoc {
    /// A profile without a `delegation_policy` may not delegate at all.
    pub require_policy: Option<bool>,
}

/// What models are sent.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextDoc {
    /// Blocks that sessions may keep besides the summary, such as `todo__context`.
    pub reproducible_contexts: Option<Vec<String>>,
    /// Passages of documents.
    pub knowledge: Option<KnowledgeDoc>,
    /// Similar sessions.
    pub experience: Option<ExperienceDoc>,
    /// Compact a session before a request with more tokens than this.
    pub compact_threshold: Option<u32>,
    /// Messages at the end that a compaction leaves alone.
    #[schema(maximum = 1000)]
    pub min_keep_entries: Option<u32>,
}

/// Passages of documents.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeDoc {
    /// `system` (the default): a block; `tool`: the agent searches itself.
    pub inject_mode: Option<String>,
    /// `full_text`, `semantic` or `hybrid`; by default whatever the server can do.
    pub method: Option<String>,
    /// `markdown` (the default) or `json`.
    pub format: Option<String>,
    /// Most sections found.
    #[schema(maximum = 1000)]
    pub top_k: Option<u32>,
    /// Most sections shown.
    #[schema(maximum = 1000)]
    pub max_chunks: Option<u32>,
    /// Half as many as the characters shown.
    pub max_tokens: Option<u32>,
}

/// Similar sessions.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExperienceDoc {
    /// How many are shown; 3 when absent.
    #[schema(maximum = 1000)]
    pub shown: Option<u32>,
    /// Show successes first, as is the default, or whatever fits best.
    pub prefer_success: Option<bool>,
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
    #[schema(required)]
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

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_model::ProjectSettings;
    use serde_json::json;

    /// What the document calls settings is what a project has.
    #[test]
    fn api_14_every_setting_is_documented() {
        let context = json!({
            "reproducible_contexts": ["todo__context"], "compact_threshold": 9, "min_keep_entries": 1,
            "knowledge": { "inject_mode": "tool" }, "experience": { "shown": 2, "prefer_success": false },
        });
        let all = json!({
            "acl": { "inherit": "audit" }, "workspace_root": "w", "max_recursion_depth": 3, "context": context,
            "pmo": {
                "fork_join_max_tasks": 1, "fork_join_deadline_seconds": 2, "max_tree_turns": 3,
                "max_open_turns": 4,
            },
            "delegation": { "require_policy": true }, "output": { "single_writer": "strict" },
        });
        let settings: ProjectSettings = serde_json::from_value(all).unwrap();
        let shown = serde_json::to_value(&settings).unwrap();
        serde_json::from_value::<SettingsDoc>(shown.clone())
            .unwrap_or_else(|error| panic!("{error}: {shown}"));
    }
}
