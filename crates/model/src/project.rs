//! Projects: the tenants, and the realm that stands for the system itself.

use crate::{CanonicalJson, Invalid, ProjectId, SafePath, Timestamp, UnsafePath, limits};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Optimistic-concurrency counter of a row: did what I read change?
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(u64);

impl Revision {
    /// The revision a row is created with.
    pub const FIRST: Self = Self(1);

    /// From the stored number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The stored number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The revision after a change.
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Whose rows a commit touches: one project's, or those of the system (global tokens and their audit).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Realm {
    /// Rows that belong to no project.
    System,
    /// Rows of one project.
    Project(ProjectId),
}

impl Realm {
    /// What stands in the `project_id` column of the system's own rows. No slug can be equal to it.
    pub const SYSTEM_KEY: &'static str = ".system";

    /// The value of the `project_id` column.
    pub fn key(&self) -> &str {
        match self {
            Self::System => Self::SYSTEM_KEY,
            Self::Project(project) => project.as_str(),
        }
    }

    /// The reverse of [`Self::key`].
    pub fn from_key(key: &str) -> Result<Self, Invalid> {
        if key == Self::SYSTEM_KEY { Ok(Self::System) } else { key.parse().map(Self::Project) }
    }

    /// The project, if it is one.
    pub fn project(&self) -> Option<&ProjectId> {
        match self {
            Self::System => None,
            Self::Project(project) => Some(project),
        }
    }
}

impl fmt::Display for Realm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}

impl From<ProjectId> for Realm {
    fn from(project: ProjectId) -> Self {
        Self::Project(project)
    }
}

/// A tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Its name.
    pub id: ProjectId,
    /// For people.
    pub title: Option<String>,
    /// What operators may tune.
    pub settings: ProjectSettings,
    /// Rises with every change of this row.
    pub revision: Revision,
    /// Cards deleted so far. A cache of this project's cards is good while this number stands still.
    pub deletions: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When this row last changed.
    pub updated_at: Timestamp,
    /// When it was deleted; its name stays taken.
    pub deleted_at: Option<Timestamp>,
}

impl Project {
    /// Where its files are, below the server's workspace root: where its settings say, else in a directory of its name. No
    /// other project's files are there unless somebody who sees all projects says so.
    pub fn directory(&self) -> &str {
        self.settings.workspace_root.as_deref().unwrap_or(self.id.as_str())
    }
}

/// Checks a project's title.
pub fn check_title(title: &str) -> Result<(), Invalid> {
    if title.chars().count() > limits::TITLE_CHARS || title.contains('\0') {
        return Err(Invalid::field("title", format!("must be at most {} characters", limits::TITLE_CHARS)));
    }
    Ok(())
}

/// What operators may tune in a project.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectSettings {
    /// Who may inherit what.
    #[serde(default)]
    pub acl: AclSettings,
    /// Where the project's files are, below the server's workspace root; see [`Project::directory`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_root: Option<String>,
    /// How deep turns may delegate (DP-04).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_recursion_depth: Option<u32>,
    /// Bounds of orchestration.
    #[serde(default, skip_serializing_if = "PmoSettings::is_default")]
    pub pmo: PmoSettings,
    /// Who may delegate.
    #[serde(default, skip_serializing_if = "DelegationSettings::is_default")]
    pub delegation: DelegationSettings,
    /// Where agents write.
    #[serde(default, skip_serializing_if = "OutputSettings::is_default")]
    pub output: OutputSettings,
    /// What models are sent.
    #[serde(default, skip_serializing_if = "ContextSettings::is_default")]
    pub context: ContextSettings,
}

/// What models are sent. Names (methods, formats, modes) are checked where they are used.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextSettings {
    /// Blocks that sessions may persist besides the summary (ST-08).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reproducible_contexts: Vec<String>,
    /// Passages of documents (KN-01..KN-03).
    #[serde(default, skip_serializing_if = "KnowledgeSettings::is_default")]
    pub knowledge: KnowledgeSettings,
    /// Similar sessions (EX-02).
    #[serde(default, skip_serializing_if = "ExperienceSettings::is_default")]
    pub experience: ExperienceSettings,
    /// Compact a session before a request with more tokens than this (CP-01).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compact_threshold: Option<u32>,
    /// Messages at the end that a compaction leaves alone (CP-02).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_keep_entries: Option<u32>,
}

impl ContextSettings {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Passages of documents.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeSettings {
    /// `system` (default): a block; `tool`: the agent searches itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inject_mode: Option<String>,
    /// `fulltext`, `semantic` or `hybrid`; by default whatever the server can do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// `markdown` (default) or `json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Most sections found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    /// Most sections shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_chunks: Option<u32>,
    /// Half as many as the characters shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
}

impl KnowledgeSettings {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Similar sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperienceSettings {
    /// How many are shown; 3 when absent, none when 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<u32>,
    /// Show successes first, as is the default, or whatever fits best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefer_success: Option<bool>,
}

impl ExperienceSettings {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Bounds of orchestration. Numbers that are 0 or less mean the default, except where a line says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PmoSettings {
    /// Most branches of one fork_join (BM-02).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork_join_max_tasks: Option<i64>,
    /// Seconds a batch may take when the call does not say; 0 or less means for ever (BM-03).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork_join_deadline_seconds: Option<i64>,
    /// Most turns below one root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tree_turns: Option<i64>,
    /// Most open turns of the project that delegation may lead to; no bound when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_open_turns: Option<i64>,
}

impl PmoSettings {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Most branches of one fork_join.
    pub fn fork_tasks(&self) -> usize {
        let given = self.fork_join_max_tasks.and_then(|max| usize::try_from(max).ok()).filter(|max| *max > 0);
        given.unwrap_or(limits::FORK_TASKS).min(limits::FORK_TASKS_MAX)
    }

    /// Seconds a batch may take when the call does not say.
    pub fn fork_deadline(&self) -> Option<u32> {
        match self.fork_join_deadline_seconds {
            None => Some(limits::FORK_DEADLINE_SECONDS),
            Some(seconds) if seconds <= 0 => None,
            Some(seconds) => {
                let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
                Some(seconds.min(limits::FORK_DEADLINE_SECONDS_MAX))
            }
        }
    }

    /// Most turns below one root.
    pub fn tree_turns(&self) -> u32 {
        let given =
            self.max_tree_turns.filter(|max| *max > 0).map(|max| u32::try_from(max).unwrap_or(u32::MAX));
        given.unwrap_or(limits::TREE_TURNS).min(limits::TREE_TURNS_MAX)
    }

    /// Most open turns of the project, if that is bounded.
    pub fn open_turns(&self) -> Option<u32> {
        self.max_open_turns.filter(|max| *max > 0).map(|max| u32::try_from(max).unwrap_or(u32::MAX))
    }
}

/// Who may delegate (PM-14).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelegationSettings {
    /// A profile without a `delegation_policy` may not delegate at all.
    #[serde(default)]
    pub require_policy: bool,
}

impl DelegationSettings {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Where agents write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputSettings {
    /// What an agent that is used again writes on.
    #[serde(default)]
    pub single_writer: SingleWriter,
}

impl OutputSettings {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What an agent that is used again writes on (PM-07).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SingleWriter {
    /// The box it has: its turns come one after the other.
    #[default]
    Serial,
    /// A new one if a turn of it is live.
    Strict,
}

/// Access settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AclSettings {
    /// What happens when an agent inherits a box that was not handed to it.
    #[serde(default)]
    pub inherit: InheritMode,
}

/// What happens when an agent inherits a box that was not handed to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InheritMode {
    /// Refuse.
    #[default]
    Enforce,
    /// Allow and record.
    Audit,
}

impl ProjectSettings {
    /// The stored form.
    pub fn to_json(&self) -> CanonicalJson {
        let value = serde_json::to_value(self).unwrap_or_default();
        CanonicalJson::nearest(&value)
    }

    /// The reverse of [`Self::to_json`]; unknown or damaged settings read as the defaults.
    pub fn from_stored(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// How deep turns may delegate.
    pub fn recursion_depth(&self) -> u32 {
        self.max_recursion_depth.unwrap_or(limits::RECURSION_DEPTH)
    }

    /// Checks values that types alone cannot.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.max_recursion_depth.is_some_and(|depth| depth == 0 || depth > limits::RECURSION_DEPTH_MAX) {
            let range = format!("must be 1 to {}", limits::RECURSION_DEPTH_MAX);
            return Err(Invalid::field("settings/max_recursion_depth", range));
        }
        // The prompt is private, the framework belongs to a version of the server, and the summary is kept anyway.
        let keepable = |name: &&String| match name.strip_suffix("__context") {
            None | Some("" | "system_prompt" | "framework" | "compression") => false,
            Some(_) => true,
        };
        if let Some(bad) = self.context.reproducible_contexts.iter().find(|name| !keepable(name)) {
            let reason = format!("{bad} is no block that can be kept");
            return Err(Invalid::field("settings/context/reproducible_contexts", reason));
        }
        let bounds = [
            ("min_keep_entries", self.context.min_keep_entries),
            ("knowledge/top_k", self.context.knowledge.top_k),
            ("knowledge/max_chunks", self.context.knowledge.max_chunks),
            ("experience/shown", self.context.experience.shown),
        ];
        for (name, given) in bounds {
            let size = given.unwrap_or(0) as usize;
            Invalid::check_size(&format!("settings/context/{name}"), size, limits::SETTING_MAX, "entries")?;
        }
        if let Some(root) = &self.workspace_root {
            let refuse = |why: String| {
                let reason = format!("must be a relative path below the server's workspace root: {why}");
                Invalid::field("settings/workspace_root", reason)
            };
            if root.trim().is_empty() {
                return Err(refuse("it is blank".to_owned()));
            }
            SafePath::parse(root).map_err(|UnsafePath(why)| refuse(why))?;
        }
        Ok(())
    }
}
