//! The end of an agent's part (ST-12..ST-14): its deliverable, its status, and the message by which later agents see it.

use super::{Change, State, fields, message::said};
use crate::{Moment, turn::append::check_call_id};
use cardwire_model::{AgentId, CanonicalJson, Invalid, Message, Origin, Speaker};
use serde_json::{Map, Value, json};

/// What an agent came to.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishAgent {
    /// Who.
    pub agent_id: AgentId,
    /// `completed`, `failed`, `aborted` and the like.
    pub status: String,
    /// The task it was given.
    pub task: Option<String>,
    /// What it delivers.
    pub deliverable: Option<Value>,
    /// What went wrong.
    pub error: Option<String>,
    /// Of which kind that was.
    pub failure_kind: Option<String>,
    /// The id of the message; a repeat under the same id says it once.
    pub message_id: Option<String>,
}

impl FinishAgent {
    /// The end of an agent's part, of which nothing else is known.
    pub fn new(agent_id: AgentId, status: &str) -> Self {
        let (task, deliverable, error, failure_kind, message_id) = (None, None, None, None, None);
        Self { agent_id, status: status.to_owned(), task, deliverable, error, failure_kind, message_id }
    }
}

/// The name under which the system speaks in memory.
pub const SYSTEM_NAME: &str = "cardwire";

/// Writes the deliverable, sets status and error, clears who was active with what; gives the message.
pub(super) fn apply(
    finish: &FinishAgent,
    state: &State,
    values: &mut Map<String, Value>,
    change: &mut Change,
    moment: &Moment,
) -> Result<Message, Invalid> {
    if let Some(id) = &finish.message_id {
        check_call_id("finish_agent/message_id", id)?;
    }
    fields::write(values, "last_agent_status", finish.status.as_str().into());
    fields::write(values, "last_agent_error", finish.error.as_deref().into());
    fields::write(values, "last_agent_failure_kind", finish.failure_kind.as_deref().into());
    fields::write(values, "active_agent", Value::Null);
    fields::write(values, "assigned_task", Value::Null);
    let mut delivered = None;
    if let Some(deliverable) = &finish.deliverable {
        let content = json!({ "agent_id": finish.agent_id.as_str(), "deliverable": deliverable });
        let card = change.put(state.card_by(Origin::Agent, "session.deliverable", &content, moment)?);
        deliver(values, finish.agent_id.as_str(), &card.to_string());
        delivered = Some(card);
    }
    let optional =
        |name: &str, value: Option<&str>| value.map_or_else(String::new, |value| format!(" {name}={value}"));
    let text = format!(
        "【RESULT】agent={}{} status={}{}{}",
        finish.agent_id,
        optional("task", finish.task.as_deref()),
        finish.status,
        optional("deliverable", delivered.map(|_| finish.agent_id.as_str())),
        optional("error", finish.error.as_deref()),
    );
    let fresh = || format!("result_{}", moment.fresh.uuid().simple());
    let id = finish.message_id.clone().unwrap_or_else(fresh);
    Ok(said(id, Speaker::Ai, CanonicalJson::string(&text)?, Some(SYSTEM_NAME)))
}

/// Keeps the latest deliverable of an agent, and its key once (ST-12).
fn deliver(values: &mut Map<String, Value>, agent: &str, card: &str) {
    let by_agent = values.entry(DELIVERABLES).or_insert_with(|| json!({}));
    if let Some(by_agent) = by_agent.as_object_mut() {
        by_agent.insert(agent.to_owned(), card.into());
    }
    let keys = values.entry("deliverable_keys").or_insert_with(|| json!([]));
    if let Some(keys) = keys.as_array_mut()
        && !keys.iter().any(|key| key == agent)
    {
        keys.push(agent.into());
    }
}

/// Where the fields keep which card is whose deliverable.
pub const DELIVERABLES: &str = "deliverables";
