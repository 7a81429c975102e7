//! Compacting a session, its checkpoints, and going back to one (CP-02..CP-08, ST-09).

use crate::{list::list, parse};
use cardwire_kernel::{CheckpointView, CompactRequest, Compacted, CompactionPrompt};
use cardwire_model::{Invalid, Session};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A compaction to do.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CompactIn {
    /// Messages at the end that stay; 5 unless the project says otherwise.
    #[serde(default)]
    pub min_keep_entries: Option<u32>,
    /// Used instead of asking the summariser. What the summary before it says stays in front of it, unless `follows` names
    /// that one.
    #[serde(default)]
    pub summary: Option<String>,
    /// The summary that the given one was made of, as `GET …/compaction` names it: the given one takes its place.
    #[serde(default)]
    pub follows: Option<String>,
}

impl CompactIn {
    /// What to do.
    pub fn into_request(self) -> Result<CompactRequest, Invalid> {
        parse::plain("summary", self.summary.as_deref())?;
        Ok(CompactRequest {
            min_keep: self.min_keep_entries.map(|keep| keep as usize),
            follows: self.follows.as_deref().map(|id| parse::one("follows", id)).transpose()?,
            summary: self.summary,
        })
    }
}

/// What a summariser would be asked now. Whoever asks a model gives its answer as `summary` of a compaction.
#[derive(Debug, Serialize, ToSchema)]
pub struct CompactionOut {
    /// How many messages the summary would stand for; 0 when there is nothing to cover.
    pub covered: usize,
    /// How the model is to work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<&'static str>,
    /// What it is to summarise, with the summary there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// That summary, for `follows` of the compaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
}

impl CompactionOut {
    /// What the kernel would ask.
    pub fn new(asked: Option<CompactionPrompt>) -> Self {
        match asked {
            Some(CompactionPrompt { request, covered, follows }) => Self {
                covered,
                system_prompt: Some(request.system_prompt),
                prompt: Some(request.prompt),
                follows: follows.map(|card| card.to_string()),
            },
            None => Self { covered: 0, system_prompt: None, prompt: None, follows: None },
        }
    }
}

/// How a compaction ended.
#[derive(Debug, Serialize, ToSchema)]
pub struct CompactedOut {
    /// False when there was no summary; everything is as it was then.
    pub success: bool,
    /// Whether anything changed.
    pub compacted: bool,
    /// How many messages the summary stands for.
    pub covered: usize,
    /// The summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Why there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The version of the session now.
    pub version: u64,
}

impl From<Compacted> for CompactedOut {
    fn from(compacted: Compacted) -> Self {
        let as_it_was = |session: &Session| Self {
            success: true,
            compacted: false,
            covered: 0,
            summary: None,
            error: None,
            version: session.version.get(),
        };
        match compacted {
            Compacted::Nothing(session) => as_it_was(&session),
            Compacted::Done { session, covered, summary } => {
                Self { compacted: true, covered, summary: Some(summary), ..as_it_was(&session) }
            }
            Compacted::Failed { session, error } => {
                Self { success: false, error: Some(error), ..as_it_was(&session) }
            }
        }
    }
}

/// What a session was like.
#[derive(Debug, Serialize, ToSchema)]
pub struct CheckpointOut {
    /// What names it.
    pub checkpoint_id: String,
    /// The version it made.
    pub version: u64,
    /// How many messages memory had.
    pub message_count: u32,
    /// When it was made.
    pub created_at: String,
}

list! {
    /// Checkpoints of a session, newest first.
    CheckpointList of CheckpointOut
}

impl From<&CheckpointView> for CheckpointOut {
    fn from(view: &CheckpointView) -> Self {
        Self {
            checkpoint_id: view.id.to_string(),
            version: view.checkpoint.version,
            message_count: view.checkpoint.messages,
            created_at: view.created_at.to_string(),
        }
    }
}

/// Where to go back to.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RestoreIn {
    /// Which checkpoint.
    #[schema(pattern = "^[0-9a-f]{32}$")]
    pub checkpoint_id: String,
}

/// A session that went back. The checkpoints in between stay.
#[derive(Debug, Serialize, ToSchema)]
pub struct RestoredOut {
    /// Its name.
    pub session_id: String,
    /// Whose.
    pub namespace: String,
    /// Its version now.
    pub version: u64,
    /// Its checkpoint now: a new one.
    pub checkpoint_id: String,
}

impl From<&Session> for RestoredOut {
    fn from(session: &Session) -> Self {
        Self {
            session_id: session.key.session.to_string(),
            namespace: session.key.namespace.to_string(),
            version: session.version.get(),
            checkpoint_id: session.checkpoint.to_string(),
        }
    }
}
