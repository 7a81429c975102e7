//! Sessions on the wire (ST-01..ST-16, CP-02..CP-08): one flat object, as the specification names its fields.

mod compact;
mod patch;

pub use compact::{
    CheckpointList, CheckpointOut, CompactIn, CompactedOut, CompactionOut, RestoreIn, RestoredOut,
};
pub use patch::{FinishAgentIn, MessagesIn, PatchIn, ResultsIn, TimelineIn};

use crate::{list::list, messages::ChatMessageOut};
use cardwire_kernel::{Earlier, SessionView, protocol::session::patch::Patched};
use cardwire_model::{BoxId, Card, CardId, Session};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, sync::Arc};
use utoipa::ToSchema;

/// A session in a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionRowOut {
    /// Its name.
    pub session_id: String,
    /// Whose.
    pub namespace: String,
    /// Rises with every change.
    pub version: u64,
    /// Its last checkpoint.
    pub checkpoint_id: String,
    /// When it was made.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
}

list! {
    /// Sessions by name.
    SessionList of SessionRowOut
}

impl From<&Session> for SessionRowOut {
    fn from(session: &Session) -> Self {
        Self {
            session_id: session.key.session.to_string(),
            namespace: session.key.namespace.to_string(),
            version: session.version.get(),
            checkpoint_id: session.checkpoint.to_string(),
            created_at: session.created_at.to_string(),
            updated_at: session.updated_at.to_string(),
        }
    }
}

/// The fields of the blackboard; null where nothing was written.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[allow(missing_docs, reason = "the specification names them (ST-01)")]
pub struct Blackboard {
    pub active_agent: Value,
    pub assigned_task: Value,
    /// Whose deliverables there are, each once.
    pub deliverable_keys: Vec<String>,
    /// The card of each agent's latest deliverable.
    pub deliverables: BTreeMap<String, String>,
    pub last_agent_status: Value,
    pub last_agent_error: Value,
    pub last_agent_failure_kind: Value,
    pub todo: Value,
    pub mapreduce_goal: Value,
    pub mapreduce_understanding: Value,
    pub mapreduce_tasks: Value,
    pub mapreduce_task: Value,
    pub goal: Value,
    pub plan: Value,
    pub reflection: Value,
    pub error_retry_count: Value,
    /// Blocks that the project keeps, such as `todo__context`.
    #[serde(flatten)]
    pub kept: BTreeMap<String, Value>,
}

impl From<Map<String, Value>> for Blackboard {
    fn from(fields: Map<String, Value>) -> Self {
        serde_json::from_value(Value::Object(fields)).unwrap_or_default()
    }
}

/// How much of each list comes before what is shown. Given as `before`, with the same `checkpoint`, it shows that.
#[derive(Debug, Serialize, ToSchema)]
pub struct EarlierOut {
    /// Of the messages.
    pub messages: usize,
    /// Of the results.
    pub mapreduce_results: usize,
    /// Of the timeline.
    pub timeline: usize,
}

impl From<Earlier> for EarlierOut {
    fn from(earlier: Earlier) -> Self {
        let Earlier { messages, results, timeline } = earlier;
        Self { messages, mapreduce_results: results, timeline }
    }
}

/// A session.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionOut {
    /// Which.
    #[serde(flatten)]
    pub row: SessionRowOut,
    /// The box of its messages; null before the first.
    #[schema(required)]
    pub memory_box_id: Option<String>,
    /// The card of the summary, for `context:expand`.
    #[schema(required)]
    pub summary_card_id: Option<String>,
    /// The conversation, in order: the newest messages, as many as `limit` says.
    pub messages: Vec<ChatMessageOut>,
    /// Results of the plan, as they were given; the newest.
    pub mapreduce_results: Vec<Value>,
    /// What happened, as it was told; the newest.
    pub timeline: Vec<Value>,
    /// How much of each list comes before what is shown; absent when nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier: Option<EarlierOut>,
    /// What stands for older messages.
    #[serde(rename = "compression__context")]
    #[schema(required)]
    pub compression: Option<String>,
    /// Everything else.
    #[serde(flatten)]
    pub fields: Blackboard,
}

impl SessionOut {
    /// The session as it is, or as it was at a checkpoint.
    pub fn new(view: SessionView, at: Option<CardId>) -> Self {
        let mut row = SessionRowOut::from(&view.session);
        row.version = view.version;
        if let Some(at) = at {
            row.checkpoint_id = at.to_string();
        }
        let contents = |cards: &[Arc<Card>]| cards.iter().map(|card| card.content.to_value()).collect();
        Self {
            row,
            memory_box_id: box_id(view.checkpoint.memory.map(|reach| reach.box_id)),
            summary_card_id: view.checkpoint.summary.map(|card| card.to_string()),
            messages: view.messages.iter().map(|card| ChatMessageOut::from(card.as_ref())).collect(),
            mapreduce_results: contents(&view.results),
            timeline: contents(&view.timeline),
            earlier: (view.earlier != Earlier::default()).then(|| view.earlier.into()),
            compression: view.summary,
            fields: view.fields.into(),
        }
    }
}

/// A session after a patch: how long its lists are, not what they hold.
#[derive(Debug, Serialize, ToSchema)]
pub struct PatchedOut {
    /// Which.
    #[serde(flatten)]
    pub row: SessionRowOut,
    /// Whether the patch changed anything.
    pub changed: bool,
    /// How many messages memory has.
    pub message_count: u32,
    /// How many results the plan has.
    pub result_count: u32,
    /// The box of its messages; null before the first.
    #[schema(required)]
    pub memory_box_id: Option<String>,
    /// The card of the summary, for `context:expand`.
    #[schema(required)]
    pub summary_card_id: Option<String>,
    /// What stands for older messages.
    #[serde(rename = "compression__context")]
    #[schema(required)]
    pub compression: Option<String>,
    /// Everything else.
    #[serde(flatten)]
    pub fields: Blackboard,
}

impl From<&Patched> for PatchedOut {
    fn from(patched: &Patched) -> Self {
        Self {
            row: (&patched.session).into(),
            changed: patched.changed,
            message_count: patched.messages,
            result_count: patched.results,
            memory_box_id: box_id(patched.memory.map(|reach| reach.box_id)),
            summary_card_id: patched.summary_card.map(|card| card.to_string()),
            compression: patched.summary.clone(),
            fields: patched.fields.clone().into(),
        }
    }
}

fn box_id(id: Option<BoxId>) -> Option<String> {
    id.map(|id| id.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_kernel::protocol::session::fields::ORDINARY;

    /// ST-01
    #[test]
    fn the_wire_has_every_field_of_the_blackboard() {
        let wire = serde_json::to_value(Blackboard::default()).unwrap();
        let names: Vec<_> = wire.as_object().unwrap().keys().map(String::as_str).collect();
        let mut expected: Vec<_> =
            ORDINARY.into_iter().map(|(name, _)| name).chain(["deliverables"]).collect();
        expected.sort_unstable();
        assert_eq!(names, expected);
    }

    /// ST-08
    #[test]
    fn what_was_written_is_shown_under_its_name() {
        let fields = serde_json::json!({
            "goal": "g", "deliverable_keys": ["a"], "deliverables": { "a": "c" }, "todo__context": "kept",
        });
        let wire = serde_json::to_value(Blackboard::from(fields.as_object().unwrap().clone())).unwrap();
        for (name, value) in fields.as_object().unwrap() {
            assert_eq!(wire[name], *value, "{name}");
        }
    }
}
