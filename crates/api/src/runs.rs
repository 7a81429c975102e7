//! Runs of teams that have not ended, on the wire.

use crate::{list::list, turns::TurnStatus};
use cardwire_kernel::{LiveTurn, ViewedTurn};
use cardwire_model::TurnPayload;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A run of a team that has not ended.
#[derive(Debug, Serialize, ToSchema)]
pub struct UnfinishedRunOut {
    /// In which project.
    pub project_id: String,
    /// Of which team.
    pub team: String,
    /// The agent whose turn it is.
    pub agent_id: String,
    /// The turn.
    pub agent_turn_id: String,
    /// `dispatched`, `running`, or `suspended` while its members work.
    pub status: &'static str,
    /// The session it belongs to.
    pub session_id: Option<String>,
    /// Whose session.
    pub namespace: Option<String>,
    /// How many runs of the team wait behind it.
    pub queued: u32,
    /// Who claimed it.
    pub worker_id: Option<String>,
    /// When it was accepted.
    #[schema(format = DateTime)]
    pub created_at: String,
}

impl UnfinishedRunOut {
    /// A live turn, if it is a run.
    pub fn of(turn: &LiveTurn) -> Option<Self> {
        let LiveTurn { project, head, item } = turn;
        let settings = TurnPayload::from_stored(&item.payload).ok()?.runtime_config.to_value();
        let text = |name: &str| settings.get(name).and_then(Value::as_str).map(str::to_owned);
        let status = TurnStatus::of(&ViewedTurn { item: item.clone(), head: Some(head.clone()) });
        Some(Self {
            project_id: project.to_string(),
            // A member's turn has settings of its run, too, and not the document of the team.
            team: text("team").filter(|_| settings.get("team_card_id").is_some())?,
            agent_id: item.agent_id.to_string(),
            agent_turn_id: item.turn_id.to_string(),
            status: status.as_str(),
            session_id: text("session_id"),
            namespace: text("namespace"),
            queued: head.queued,
            worker_id: item.worker_id.clone(),
            created_at: item.created_at.to_string(),
        })
    }
}

list! {
    /// A page of runs that have not ended, by project and team.
    UnfinishedRunList of UnfinishedRunOut
}
