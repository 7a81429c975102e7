//! What agents are doing and what they have done, on the wire (API-08, API-17): pointers only (CB-16).

use crate::list::list;
use cardwire_kernel::protocol::turn::reason::Reason;
use cardwire_model::{
    Agent, CanonicalJson, Edge, Head, IdentityEdge, InboxItem, Live, LiveState, ProjectId, Step, TurnEpoch,
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// What an agent is doing.
#[derive(Debug, Serialize, ToSchema)]
pub struct HeadOut {
    /// Which agent.
    pub agent_id: String,
    /// `idle`, `dispatched`, `running` or `suspended`.
    pub status: &'static str,
    /// The live turn.
    #[schema(required)]
    pub active_agent_turn_id: Option<String>,
    /// Its epoch, or that of the last one.
    pub turn_epoch: u64,
    /// What it was given.
    #[schema(required)]
    pub context_box_id: Option<String>,
    /// Where it writes.
    #[schema(required)]
    pub output_box_id: Option<String>,
    /// Where the last turn wrote.
    #[schema(required)]
    pub last_output_box_id: Option<String>,
    /// Tools it waits for.
    pub waiting_tool_count: u32,
    /// When waiting ends.
    #[schema(required)]
    pub resume_deadline: Option<String>,
    /// When it was leased.
    #[schema(required)]
    pub dispatched_at: Option<String>,
    /// When the doorbell last rang for it.
    #[schema(required)]
    pub last_doorbell_at: Option<String>,
    /// When it last changed or showed that it is alive.
    pub updated_at: String,
    /// How deep in the tree of delegations.
    pub depth: u32,
    /// The trace it belongs to.
    #[schema(required)]
    pub trace_id: Option<String>,
    /// The step that sent it.
    #[schema(required)]
    pub parent_step_id: Option<String>,
    /// Turns that wait behind it.
    pub queued: u32,
}

impl From<&Head> for HeadOut {
    fn from(head: &Head) -> Self {
        let live: Option<&Live> = head.live.as_deref();
        let (waiting, resume_by) = match live.map(|live| live.state) {
            Some(LiveState::Suspended { waiting, resume_by }) => (waiting, Some(resume_by)),
            Some(LiveState::Dispatched | LiveState::Running) | None => (0, None),
        };
        Self {
            agent_id: head.agent_id.to_string(),
            status: head.status().as_str(),
            active_agent_turn_id: live.map(|live| live.turn_id.to_string()),
            turn_epoch: head.epoch.get(),
            context_box_id: live.map(|live| live.context_box.to_string()),
            output_box_id: live.map(|live| live.output_box.to_string()),
            last_output_box_id: head.last_output_box.map(|id| id.to_string()),
            waiting_tool_count: waiting,
            resume_deadline: resume_by.map(|at| at.to_string()),
            dispatched_at: live.map(|live| live.dispatched_at.to_string()),
            last_doorbell_at: live.and_then(|live| live.rung_at).map(|at| at.to_string()),
            updated_at: head.updated_at.to_string(),
            depth: live.map_or(0, |live| live.depth),
            trace_id: live.map(|live| live.trace_id.clone()),
            parent_step_id: live.and_then(|live| live.parent_step.as_ref()).map(ToString::to_string),
            queued: head.queued,
        }
    }
}

impl From<&Agent> for HeadOut {
    /// An agent of the roster that never had a turn.
    fn from(agent: &Agent) -> Self {
        Self::from(&Head {
            agent_id: agent.id.clone(),
            epoch: TurnEpoch::ZERO,
            live: None,
            last_output_box: None,
            queued: 0,
            updated_at: agent.created_at,
        })
    }
}

list! {
    /// A page of what agents are doing, the newest agents first.
    HeadList of HeadOut
}

/// The state of an agent after it was looked for.
#[derive(Debug, Serialize, ToSchema)]
pub struct RebuildOut {
    /// The state.
    #[serde(flatten)]
    pub head: HeadOut,
    /// It was lost and is there again.
    pub rebuilt: bool,
}

/// A row of an agent's inbox.
#[derive(Debug, Serialize, ToSchema)]
pub struct InboxOut {
    /// Its id.
    pub inbox_id: String,
    /// Whose inbox.
    pub agent_id: String,
    /// What it asks for: `turn`, `tool_result`, `timeout` or `stop`.
    pub kind: &'static str,
    /// `queued`, `pending`, `processing`, `consumed`, `error`, `skipped` or `deferred`.
    pub status: &'static str,
    /// The turn it is, or is for.
    pub agent_turn_id: String,
    /// The epoch of that turn, once it is leased.
    #[schema(required)]
    pub turn_epoch: Option<u64>,
    /// What it answers: the turn's own correlation, or the tool call.
    pub correlation_id: String,
    /// Which workers serve it.
    pub worker_target: String,
    /// The channel it was sent on.
    #[schema(required)]
    pub channel_id: Option<String>,
    /// How deep in the tree of delegations.
    #[schema(required)]
    pub depth: Option<u32>,
    /// The trace it belongs to.
    #[schema(required)]
    pub trace_id: Option<String>,
    /// The turn that sent it.
    #[schema(required)]
    pub parent_agent_turn_id: Option<String>,
    /// The tool call of that turn.
    #[schema(required)]
    pub parent_tool_call_id: Option<String>,
    /// The step of that turn.
    #[schema(required)]
    pub parent_step_id: Option<String>,
    /// Pointers only.
    pub payload: Value,
    /// Who claimed it.
    #[schema(required)]
    pub worker_id: Option<String>,
    /// When it came.
    pub created_at: String,
    /// When it was claimed or put away.
    #[schema(required)]
    pub processed_at: Option<String>,
    /// How often it was put off.
    pub retry_count: u32,
    /// Not before this.
    #[schema(required)]
    pub next_retry_at: Option<String>,
    /// Why it was put off, or put away.
    #[schema(required)]
    pub reason: Option<String>,
    /// The same, if it was put off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defer_reason: Option<String>,
    /// The same, if it could not become a turn: `invalid_payload_json`, `invalid_payload_type`, `invalid_context` or
    /// `missing_required_fields`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dispatch_error: Option<String>,
    /// The names of those fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<Vec<String>>,
    /// The same, if the watchdog put it away: `missing_channel` or `invalid_replay_context`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watchdog_error: Option<String>,
}

impl From<&InboxItem> for InboxOut {
    fn from(item: &InboxItem) -> Self {
        let why = Reason::of(item);
        let (defer_reason, dispatch_error, watchdog_error) = match why {
            Reason::None => (None, None, None),
            Reason::Deferred(reason) => (Some(reason), None, None),
            Reason::Dispatch(code, _) => (None, Some(code), None),
            Reason::Watchdog(code) => (None, None, Some(code)),
        };
        Self {
            inbox_id: item.id.to_string(),
            agent_id: item.agent_id.to_string(),
            kind: item.kind.as_str(),
            status: item.status.as_str(),
            agent_turn_id: item.turn_id.to_string(),
            turn_epoch: item.epoch.map(|epoch| epoch.get()),
            correlation_id: item.correlation_id.clone(),
            worker_target: item.worker_target.to_string(),
            channel_id: item.channel.as_ref().map(ToString::to_string),
            depth: item.depth,
            trace_id: item.trace_id.clone(),
            parent_agent_turn_id: item.parent_turn.map(|id| id.to_string()),
            parent_tool_call_id: item.parent_call.clone(),
            parent_step_id: item.parent_step.as_ref().map(ToString::to_string),
            // A damaged row is shown as it is.
            payload: serde_json::from_str(&item.payload)
                .unwrap_or_else(|_| Value::String(item.payload.clone())),
            worker_id: item.worker_id.clone(),
            created_at: item.created_at.to_string(),
            processed_at: item.processed_at.map(|at| at.to_string()),
            retry_count: item.retry_count,
            next_retry_at: item.next_retry_at.map(|at| at.to_string()),
            reason: item.reason.clone(),
            defer_reason: defer_reason.map(str::to_owned),
            dispatch_error: dispatch_error.map(str::to_owned),
            missing: why.missing().map(|names| names.into_iter().map(str::to_owned).collect()),
            watchdog_error: watchdog_error.map(str::to_owned),
        }
    }
}

list! {
    /// A page of inbox rows, newest first.
    InboxList of InboxOut
}

/// A step of a turn, as stored.
#[derive(Debug, Serialize, ToSchema)]
pub struct StepRow {
    /// Its id.
    pub step_id: String,
    /// Whose.
    pub agent_id: String,
    /// In which turn.
    pub agent_turn_id: String,
    /// At which epoch.
    pub turn_epoch: u64,
    /// What the worker calls it.
    pub phase: String,
    /// How it ended.
    #[schema(required)]
    pub status: Option<String>,
    /// The model call it made.
    #[schema(required)]
    pub call_id: Option<String>,
    /// What the model was sent.
    #[schema(required)]
    pub request_box_id: Option<String>,
    /// Cards in the output box when it was written.
    pub output_len: u32,
    /// The trace it belongs to.
    pub trace_id: String,
    /// Whatever the worker keeps with it.
    #[schema(value_type = Object)]
    pub metadata: CanonicalJson,
    /// When it began.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
}

impl From<&Step> for StepRow {
    fn from(step: &Step) -> Self {
        Self {
            step_id: step.id.to_string(),
            agent_id: step.agent_id.to_string(),
            agent_turn_id: step.turn_id.to_string(),
            turn_epoch: step.epoch.get(),
            phase: step.phase.clone(),
            status: step.status.clone(),
            call_id: step.call_id.clone(),
            request_box_id: step.request_box.map(|id| id.to_string()),
            output_len: step.output_len,
            trace_id: step.trace_id.clone(),
            metadata: step.metadata.clone(),
            created_at: step.created_at.to_string(),
            updated_at: step.updated_at.to_string(),
        }
    }
}

list! {
    /// A page of steps, newest first.
    StepList of StepRow
}

/// An edge of the execution graph.
#[derive(Debug, Serialize, ToSchema)]
pub struct EdgeOut {
    /// Its id.
    pub edge_id: String,
    /// `enqueue`, `tool_call`, `report` or `join`.
    pub primitive: &'static str,
    /// `request` or `response`.
    pub edge_phase: &'static str,
    /// What belongs together.
    pub correlation_id: String,
    /// Who acted.
    #[schema(required)]
    pub source_agent_id: Option<String>,
    /// In which turn.
    #[schema(required)]
    pub source_agent_turn_id: Option<String>,
    /// Upon whom.
    #[schema(required)]
    pub target_agent_id: Option<String>,
    /// In which turn.
    #[schema(required)]
    pub target_agent_turn_id: Option<String>,
    /// How deep in the tree of delegations.
    pub depth: u32,
    /// The trace it belongs to.
    pub trace_id: String,
    /// The step that caused it.
    #[schema(required)]
    pub parent_step_id: Option<String>,
    /// When.
    pub created_at: String,
    /// What else is known of it.
    pub metadata: EdgeMetadata,
}

/// What else is known of an edge.
#[derive(Debug, Serialize, ToSchema)]
pub struct EdgeMetadata {
    /// The inbox row it made.
    #[schema(required)]
    pub inbox_id: Option<String>,
}

impl From<&Edge> for EdgeOut {
    fn from(edge: &Edge) -> Self {
        Self {
            edge_id: edge.id.to_string(),
            primitive: edge.primitive.as_str(),
            edge_phase: edge.phase.as_str(),
            correlation_id: edge.correlation_id.clone(),
            source_agent_id: edge.source_agent.as_ref().map(ToString::to_string),
            source_agent_turn_id: edge.source_turn.map(|id| id.to_string()),
            target_agent_id: edge.target_agent.as_ref().map(ToString::to_string),
            target_agent_turn_id: edge.target_turn.map(|id| id.to_string()),
            depth: edge.depth,
            trace_id: edge.trace_id.clone(),
            parent_step_id: edge.parent_step.as_ref().map(ToString::to_string),
            created_at: edge.created_at.to_string(),
            metadata: EdgeMetadata { inbox_id: edge.inbox_id.map(|id| id.to_string()) },
        }
    }
}

list! {
    /// A page of edges, newest first.
    EdgeList of EdgeOut
}

/// How an agent came to be, or changed.
#[derive(Debug, Serialize, ToSchema)]
pub struct IdentityEdgeOut {
    /// Its id.
    pub edge_id: String,
    /// Whose.
    pub project_id: String,
    /// `provision` or `update`.
    pub action: &'static str,
    /// Who did it, when it was an agent.
    #[schema(required)]
    pub source_agent_id: Option<String>,
    /// To whom.
    pub target_agent_id: String,
    /// On which channel.
    pub channel_id: String,
    /// The trace it belongs to.
    #[schema(required)]
    pub trace_id: Option<String>,
    /// The step that caused it.
    #[schema(required)]
    pub parent_step_id: Option<String>,
    /// What the identity is since then.
    #[schema(value_type = Object)]
    pub metadata: CanonicalJson,
    /// When.
    pub created_at: String,
}

impl IdentityEdgeOut {
    /// An edge of a project.
    pub fn new(project: &ProjectId, edge: &IdentityEdge) -> Self {
        Self {
            edge_id: edge.id.to_string(),
            project_id: project.to_string(),
            action: edge.action.as_str(),
            source_agent_id: edge.source_agent.as_ref().map(ToString::to_string),
            target_agent_id: edge.target_agent.to_string(),
            channel_id: edge.channel.to_string(),
            trace_id: edge.trace_id.clone(),
            parent_step_id: edge.parent_step.as_ref().map(ToString::to_string),
            metadata: edge.metadata.clone(),
            created_at: edge.created_at.to_string(),
        }
    }
}

list! {
    /// A page of identity edges, newest first.
    IdentityEdgeList of IdentityEdgeOut
}
