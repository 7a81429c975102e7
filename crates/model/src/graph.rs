//! What turns leave behind: edges between them, their steps, and their tool calls.

use crate::{
    AgentId, BoxId, CanonicalJson, CardId, EdgeId, Hash256, InboxId, StepId, Timestamp, TurnEpoch, TurnId,
    card::ToolStatus, inbox::names,
};
use uuid::Uuid;

names! {
    /// What an edge records.
    Primitive {
        /// A turn was put into an inbox.
        Enqueue = "enqueue",
        /// A turn called a tool.
        ToolCall = "tool_call",
        /// A tool answered.
        Report = "report",
        /// A batch was forked, or joined.
        Join = "join",
    }
}

names! {
    /// Which half of an exchange.
    EdgePhase {
        /// Asked.
        Request = "request",
        /// Answered.
        Response = "response",
    }
}

/// One edge of the execution graph (DP-10).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// Its id.
    pub id: EdgeId,
    /// What it records.
    pub primitive: Primitive,
    /// Which half.
    pub phase: EdgePhase,
    /// What belongs together.
    pub correlation_id: String,
    /// Who acted.
    pub source_agent: Option<AgentId>,
    /// In which turn.
    pub source_turn: Option<TurnId>,
    /// Upon whom.
    pub target_agent: Option<AgentId>,
    /// In which turn.
    pub target_turn: Option<TurnId>,
    /// How deep in the tree of delegations.
    pub depth: u32,
    /// The trace it belongs to.
    pub trace_id: String,
    /// The step that caused it.
    pub parent_step: Option<StepId>,
    /// The inbox row it made.
    pub inbox_id: Option<InboxId>,
    /// What was asked, to tell a repeat from another request.
    pub request_hash: Option<Hash256>,
    /// When.
    pub created_at: Timestamp,
}

impl Edge {
    /// Within what the correlation is unique: the whole project for turns and batches, the turn for its tools,
    /// because models number their calls as they like.
    pub fn scope(&self) -> Uuid {
        edge_scope(self.primitive, self.source_turn.or(self.target_turn))
    }
}

/// See [`Edge::scope`].
pub fn edge_scope(primitive: Primitive, turn: Option<TurnId>) -> Uuid {
    match primitive {
        Primitive::Enqueue | Primitive::Join => Uuid::nil(),
        Primitive::ToolCall | Primitive::Report => turn.map_or(Uuid::nil(), TurnId::uuid),
    }
}

/// One iteration of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its id.
    pub id: StepId,
    /// Whose.
    pub agent_id: AgentId,
    /// In which turn.
    pub turn_id: TurnId,
    /// At which epoch.
    pub epoch: TurnEpoch,
    /// What the worker calls it.
    pub phase: String,
    /// How it ended, e.g. `failed`.
    pub status: Option<String>,
    /// The model call it made.
    pub call_id: Option<String>,
    /// What the model was sent.
    pub request_box: Option<BoxId>,
    /// Cards in the output box when the step was written (CB-17).
    pub output_len: u32,
    /// The trace it belongs to.
    pub trace_id: String,
    /// Whatever the worker keeps with it.
    pub metadata: CanonicalJson,
    /// When it began.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A tool call of a turn, and its answer once there is one (NF-05, WK-08).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Whose.
    pub agent_id: AgentId,
    /// In which turn.
    pub turn_id: TurnId,
    /// What the model calls it.
    pub tool_call_id: String,
    /// The card that made it.
    pub call_card: Option<CardId>,
    /// The turn waits for it.
    pub waiting: bool,
    /// The answer.
    pub answer: Option<ToolAnswer>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// The one answer to a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolAnswer {
    /// How the call ended.
    pub status: ToolStatus,
    /// It ends the turn too.
    pub terminate: bool,
    /// The `tool.result` card.
    pub card: CardId,
    /// When it came.
    pub at: Timestamp,
}
