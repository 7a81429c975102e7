//! Turns as those see them who sent them (API-08), and stopping one (WK-09).

use crate::list::list;
use cardwire_kernel::{
    ViewedTurn,
    protocol::{
        turn::Outcome,
        unasked::{Asked, told},
    },
};
use cardwire_model::{CanonicalJson, InboxStatus, Status, TaskStatus, Timestamp, TurnPayload};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a turn is doing, or how it ended: the words of `status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnStatus {
    /// It waits behind another turn.
    Queued,
    /// It is the live turn of its agent, in this state.
    Live(Status),
    /// It has ended.
    Ended(TaskStatus),
}

impl TurnStatus {
    /// Of a turn as it was read. A turn that is neither waiting nor ended and that no head speaks for is about to be
    /// dispatched again.
    pub fn of(turn: &ViewedTurn) -> Self {
        match (&turn.item.ended, turn.item.status) {
            (Some(ended), _) => Self::Ended(ended.status),
            (None, InboxStatus::Queued) => Self::Queued,
            (
                None,
                InboxStatus::Pending
                | InboxStatus::Processing
                | InboxStatus::Deferred
                | InboxStatus::Consumed
                | InboxStatus::Error
                | InboxStatus::Skipped,
            ) => Self::Live(turn.head.as_ref().map_or(Status::Dispatched, |head| head.status())),
        }
    }

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Live(status) => status.as_str(),
            Self::Ended(status) => status.as_str(),
        }
    }

    /// All of them, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        let live = [Status::Dispatched, Status::Running, Status::Suspended].map(Self::Live);
        [Self::Queued].into_iter().chain(live).chain(TaskStatus::ALL.map(Self::Ended))
    }

    /// The one with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|status| status.as_str() == name)
    }
}

/// A turn.
#[derive(Debug, Serialize, ToSchema)]
pub struct TurnOut {
    /// Its id.
    pub agent_turn_id: String,
    /// Whose.
    pub agent_id: String,
    /// `queued`, `dispatched`, `running`, `suspended`, or how it ended: `success`, `failed`, `canceled`, `timeout`,
    /// `partial`.
    pub status: &'static str,
    /// Its epoch; null before it is leased.
    #[schema(required)]
    pub turn_epoch: Option<u64>,
    /// What its sender knows it by.
    pub correlation_id: String,
    /// What it was given.
    #[schema(required)]
    pub context_box_id: Option<String>,
    /// Where it writes.
    #[schema(required)]
    pub output_box_id: Option<String>,
    /// How many cards were there before it; null before it is leased.
    #[schema(required)]
    pub watermark: Option<u32>,
    /// How many cards were there when it ended; null before, and for a turn that never was leased.
    #[schema(required)]
    pub output_len: Option<u32>,
    /// What the agent is.
    #[schema(required)]
    pub profile_box_id: Option<String>,
    /// What came out.
    #[schema(required)]
    pub deliverable_card_id: Option<String>,
    /// What went wrong, for people.
    #[schema(required)]
    pub error: Option<String>,
    /// What went wrong, for programs.
    #[schema(required)]
    pub error_code: Option<String>,
    /// How deep in the tree of delegations.
    #[schema(required)]
    pub depth: Option<u32>,
    /// The trace it belongs to.
    #[schema(required)]
    pub trace_id: Option<String>,
    /// The turn that sent it.
    #[schema(required)]
    pub parent_agent_turn_id: Option<String>,
    /// The step of that turn.
    #[schema(required)]
    pub parent_step_id: Option<String>,
    /// The tool call of that turn.
    #[schema(required)]
    pub parent_tool_call_id: Option<String>,
    /// The channel it was sent on.
    #[schema(required)]
    pub channel_id: Option<String>,
    /// Which workers serve it.
    pub worker_target: String,
    /// Who claimed it.
    #[schema(required)]
    pub worker_id: Option<String>,
    /// For people.
    #[schema(required)]
    pub display_name: Option<String>,
    /// Settings of the run.
    #[schema(required, value_type = Option<Object>)]
    pub runtime_config: Option<CanonicalJson>,
    /// When it was accepted.
    pub created_at: String,
    /// When it ended.
    #[schema(required)]
    pub ended_at: Option<String>,
    /// Its row in the inbox.
    pub inbox_id: String,
    /// For which worker it waits, while it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<WaitingOut>,
}

/// The worker that a turn waits for.
#[derive(Debug, Serialize, ToSchema)]
pub struct WaitingOut {
    /// For which target it would have to ask.
    pub worker_target: String,
    /// Since when the turn waits.
    #[schema(format = DateTime)]
    pub since: String,
    /// When a worker last asked this server for that target; null when none has since the server started.
    #[schema(format = DateTime)]
    pub last_asked_at: Option<String>,
    /// For how long no worker has asked, in words; null while workers ask.
    pub message: Option<String>,
}

impl WaitingOut {
    /// Of a turn that waits, by when workers last asked for its target.
    pub fn new(turn: &ViewedTurn, asked: Asked, now: Timestamp) -> Option<Self> {
        let (item, since) = (&turn.item, turn.waits_since()?);
        Some(Self {
            worker_target: item.worker_target.to_string(),
            since: since.to_string(),
            last_asked_at: asked.last(now).map(|at| at.to_string()),
            message: told(&item.worker_target, asked, now),
        })
    }
}

impl From<&ViewedTurn> for TurnOut {
    fn from(turn: &ViewedTurn) -> Self {
        let item = &turn.item;
        let payload = TurnPayload::from_stored(&item.payload).ok();
        let ended = item.ended.as_ref();
        // A turn that was put away before it was leased has seen nothing of the box.
        let output = ended.filter(|_| item.epoch.is_some()).map(|ended| ended.output);
        let live = turn.head.as_ref().and_then(|head| head.live.as_ref());
        Self {
            agent_turn_id: item.turn_id.to_string(),
            agent_id: item.agent_id.to_string(),
            status: TurnStatus::of(turn).as_str(),
            turn_epoch: item.epoch.map(|epoch| epoch.get()),
            correlation_id: item.correlation_id.clone(),
            context_box_id: payload.as_ref().map(|payload| payload.context_box.to_string()),
            output_box_id: payload.as_ref().map(|payload| payload.output_box.to_string()),
            watermark: output.map(|(watermark, _)| watermark).or(live.map(|live| live.watermark)),
            output_len: output.map(|(_, len)| len),
            profile_box_id: payload.as_ref().map(|payload| payload.profile_box.to_string()),
            deliverable_card_id: ended.map(|ended| ended.deliverable.to_string()),
            error: ended.and_then(|ended| ended.error.clone()),
            error_code: ended.and_then(|ended| ended.error_code.clone()),
            depth: item.depth,
            trace_id: item.trace_id.clone(),
            parent_agent_turn_id: item.parent_turn.map(|id| id.to_string()),
            parent_step_id: item.parent_step.as_ref().map(ToString::to_string),
            parent_tool_call_id: item.parent_call.clone(),
            channel_id: item.channel.as_ref().map(ToString::to_string),
            worker_target: item.worker_target.to_string(),
            worker_id: item.worker_id.clone(),
            display_name: payload.as_ref().and_then(|payload| payload.display_name.clone()),
            runtime_config: payload.map(|payload| payload.runtime_config),
            created_at: item.created_at.to_string(),
            ended_at: ended.map(|ended| ended.at.to_string()),
            inbox_id: item.id.to_string(),
            waiting: None,
        }
    }
}

list! {
    /// A page of turns, newest first.
    TurnList of TurnOut
}

/// A turn to stop.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StopIn {
    /// The epoch the caller knows; a later one is stopped too.
    #[serde(default)]
    #[schema(minimum = 0)]
    pub turn_epoch: Option<u64>,
    /// Why, for people.
    #[serde(default)]
    #[schema(max_length = 4096)]
    pub reason: Option<String>,
}

/// A turn that was stopped.
#[derive(Debug, Serialize, ToSchema)]
pub struct StopOut {
    /// Always `stopped`.
    pub status: &'static str,
    /// The card that ends it.
    pub deliverable_card_id: String,
}

impl StopOut {
    /// What became of a stop.
    pub fn new(outcome: &Outcome) -> Option<Self> {
        if let Outcome::Ended { deliverable, .. } = outcome {
            Some(Self { status: "stopped", deliverable_card_id: deliverable.to_string() })
        } else {
            None
        }
    }
}
