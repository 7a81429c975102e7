//! Events on the wire (API-13, API-17).

use cardwire_model::{Event, ProjectId};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
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
    /// The members of `data` once more: of a task `status`, `output_box_id`, `deliverable_card_id` and `error`, of a state
    /// `status`, `turn_epoch` and `output_box_id`, and so on. What stands above keeps its meaning.
    #[serde(flatten)]
    pub told: BTreeMap<String, Value>,
}

impl EventOut {
    /// The event as its project shows it.
    pub fn new(project: &ProjectId, event: &Event) -> Self {
        let mut out = Self {
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
            told: BTreeMap::new(),
        };
        out.told = event.event.told(|name| out.says(name));
        out
    }

    /// Whether the event has a member of this name besides those of `data`.
    fn says(&self, name: &str) -> bool {
        match name {
            "agent_id" => self.agent_id.is_some(),
            "agent_turn_id" => self.agent_turn_id.is_some(),
            "batch_id" => self.batch_id.is_some(),
            "trace_id" => self.trace_id.is_some(),
            "position" | "kind" | "subject" | "event_id" | "project_id" | "target" | "channel" | "data"
            | "at" => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_model::{CanonicalJson, EventKind, NewEvent, Timestamp};
    use serde_json::json;

    /// WK-06, DP-12
    #[test]
    fn what_an_event_tells_stands_beside_its_data_too() {
        let data = json!({ "status": "success", "error": null, "kind": "x", "data": 1, "agent_id": "inner", "batch_id": "b" });
        let event = Event {
            position: 7,
            event: NewEvent {
                id: format!("evt_{}", "0".repeat(32)).parse().unwrap(),
                kind: EventKind::AgentTask,
                target: "a1".to_owned(),
                channel: "public".to_owned(),
                agent_id: Some("a1".parse().unwrap()),
                turn_id: None,
                batch_id: None,
                trace_id: None,
                data: CanonicalJson::parse(&data.to_string(), "data").unwrap(),
                at: Timestamp::from_micros(0),
            },
        };
        let out = serde_json::to_value(EventOut::new(&"p1".parse().unwrap(), &event)).unwrap();
        assert_eq!(out["data"], data);
        assert_eq!((&out["status"], &out["batch_id"]), (&json!("success"), &json!("b")));
        assert!(out.get("error").is_some_and(Value::is_null));
        assert_eq!(
            (&out["kind"], &out["agent_id"]),
            (&json!("agent.task"), &json!("a1")),
            "its own word first"
        );
        // Every name of the event itself is one that is not said twice.
        let own = [
            "position",
            "kind",
            "subject",
            "event_id",
            "project_id",
            "target",
            "channel",
            "data",
            "at",
            "agent_id",
        ];
        let told = ["status", "error", "batch_id"];
        let names: Vec<_> = out.as_object().unwrap().keys().map(String::as_str).collect();
        let mut expected: Vec<_> = own.into_iter().chain(told).collect();
        expected.sort_unstable();
        assert_eq!(names, expected);
    }
}
