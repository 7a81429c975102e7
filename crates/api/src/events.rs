//! Events on the wire (API-13, API-17).

use cardwire_model::{Event, ProjectId};
use serde::Serialize;
use utoipa::ToSchema;

/// The `data:` of one server-sent event; its `id:` is the position and its `event:` the kind.
#[derive(Debug, Serialize, ToSchema)]
pub struct EventOut {
    /// Place in the project's log: 1, 2, 3, …
    pub position: u64,
    /// What happened.
    pub kind: &'static str,
    /// The bus subject.
    pub subject: String,
    /// Names the event everywhere.
    pub event_id: String,
    /// Whose log.
    pub project_id: String,
    /// To what it happened.
    pub target: String,
    /// The channel it belongs to.
    pub channel: String,
    /// Which agent it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Which turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_turn_id: Option<String>,
    /// Which batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_id: Option<String>,
    /// Which trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// Ids and counters.
    #[schema(value_type = serde_json::Value)]
    pub data: cardwire_model::CanonicalJson,
    /// When it was decided.
    pub at: String,
}

impl EventOut {
    /// The event as its project shows it.
    pub fn new(project: &ProjectId, event: &Event) -> Self {
        Self {
            position: event.position,
            kind: event.event.kind.as_str(),
            subject: event.subject(project.as_str()),
            event_id: event.event.id.to_string(),
            project_id: project.to_string(),
            target: event.event.target.clone(),
            channel: event.event.channel.clone(),
            agent_id: event.event.agent_id.as_ref().map(ToString::to_string),
            agent_turn_id: event.event.turn_id.map(|id| id.to_string()),
            batch_id: event.event.batch_id.map(|id| id.to_string()),
            trace_id: event.event.trace_id.clone(),
            data: event.event.data.clone(),
            at: event.event.at.to_string(),
        }
    }
}
