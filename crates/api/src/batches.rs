//! Batches on the wire (API-08, API-17).

use crate::list::list;
use cardwire_kernel::BatchView;
use cardwire_model::{Batch, Branch};
use serde::Serialize;
use utoipa::ToSchema;

/// One fork_join.
#[derive(Debug, Serialize, ToSchema)]
pub struct BatchOut {
    /// Its id.
    pub batch_id: String,
    /// `running`, `success`, `partial`, `failed` or `timeout`.
    pub status: &'static str,
    /// How many tasks.
    pub task_count: u32,
    /// When it is given up.
    #[schema(required)]
    pub deadline_at: Option<String>,
    /// Who forked.
    pub parent_agent_id: String,
    /// In which turn.
    #[schema(required)]
    pub parent_agent_turn_id: Option<String>,
    /// By which call: the one that the result answers.
    pub parent_tool_call_id: String,
    /// In which step of that turn.
    #[schema(required)]
    pub parent_step_id: Option<String>,
    /// On which channel.
    pub channel_id: String,
    /// The trace it belongs to.
    pub trace_id: String,
    /// How deep the tasks are.
    pub depth: u32,
    /// One failure ends it.
    pub fail_fast: bool,
    /// `all`, `any` or `quorum(n)`.
    pub aggregation: String,
    /// At most so many tasks at once.
    #[schema(required)]
    pub max_parallel: Option<u32>,
    /// Why it was closed before all tasks had ended: `fail_fast`, `deadline`, `canceled` or `enough`.
    #[schema(required)]
    pub close_reason: Option<&'static str>,
    /// The card that answers the call.
    #[schema(required)]
    pub tool_result_card_id: Option<String>,
    /// When it was forked.
    pub created_at: String,
    /// When it was closed.
    #[schema(required)]
    pub closed_at: Option<String>,
    /// The tasks by index; left out in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Vec<BatchTaskOut>>,
}

/// One task.
#[derive(Debug, Serialize, ToSchema)]
pub struct BatchTaskOut {
    /// Its place among the tasks, from 0.
    pub task_index: u32,
    /// `pending`, `dispatched`, `success`, `failed`, `canceled`, `timeout` or `partial`.
    pub status: &'static str,
    /// Who does it.
    #[schema(required)]
    pub agent_id: Option<String>,
    /// In which turn.
    #[schema(required)]
    pub agent_turn_id: Option<String>,
    /// At which epoch.
    #[schema(required)]
    pub turn_epoch: Option<u64>,
    /// What it was given.
    #[schema(required)]
    pub context_box_id: Option<String>,
    /// Where it writes.
    #[schema(required)]
    pub output_box_id: Option<String>,
    /// What came out.
    #[schema(required)]
    pub deliverable_card_id: Option<String>,
    /// What went wrong, for people.
    #[schema(required)]
    pub error_detail: Option<String>,
    /// What went wrong, for programs.
    #[schema(required)]
    pub error_code: Option<String>,
    /// How often its dispatch was tried.
    pub attempts: u32,
    /// When it is tried again.
    #[schema(required)]
    pub next_attempt_at: Option<String>,
    /// What was noticed about it.
    #[schema(required)]
    pub warning: Option<String>,
    /// When it last changed.
    pub updated_at: String,
}

list! {
    /// Batches.
    BatchList of BatchOut
}

impl From<&Batch> for BatchOut {
    fn from(batch: &Batch) -> Self {
        let aggregation = match batch.enough {
            0 => "all".to_owned(),
            1 => "any".to_owned(),
            enough => format!("quorum({enough})"),
        };
        Self {
            batch_id: batch.id.to_string(),
            status: batch.status.as_str(),
            task_count: batch.branches,
            deadline_at: batch.deadline_at.map(|at| at.to_string()),
            parent_agent_id: batch.parent_agent.to_string(),
            parent_agent_turn_id: batch.parent_turn.map(|turn| turn.to_string()),
            parent_tool_call_id: batch.parent_call.clone(),
            parent_step_id: batch.parent_step.as_ref().map(ToString::to_string),
            channel_id: batch.channel.to_string(),
            trace_id: batch.trace_id.clone(),
            depth: batch.depth,
            fail_fast: batch.fail_fast,
            aggregation,
            max_parallel: (batch.parallel > 0).then_some(batch.parallel),
            close_reason: batch.closing.map(|reason| reason.as_str()),
            tool_result_card_id: batch.result_card.map(|card| card.to_string()),
            created_at: batch.created_at.to_string(),
            closed_at: batch.closed_at.map(|at| at.to_string()),
            tasks: None,
        }
    }
}

impl From<&BatchView> for BatchOut {
    fn from(view: &BatchView) -> Self {
        let tasks = view.branches.iter().map(BatchTaskOut::from).collect();
        Self { tasks: Some(tasks), ..Self::from(&view.batch) }
    }
}

impl From<&Branch> for BatchTaskOut {
    fn from(branch: &Branch) -> Self {
        Self {
            task_index: branch.key.index,
            status: branch.status.as_str(),
            agent_id: branch.agent_id.as_ref().map(ToString::to_string),
            agent_turn_id: branch.turn_id.map(|turn| turn.to_string()),
            turn_epoch: branch.epoch.map(|epoch| epoch.get()),
            context_box_id: branch.context_box.map(|id| id.to_string()),
            output_box_id: branch.output_box.map(|id| id.to_string()),
            deliverable_card_id: branch.deliverable.map(|id| id.to_string()),
            error_detail: branch.error_detail.clone(),
            error_code: branch.error_code.clone(),
            attempts: branch.attempts,
            next_attempt_at: branch.next_attempt_at.map(|at| at.to_string()),
            warning: branch.warning.clone(),
            updated_at: branch.updated_at.to_string(),
        }
    }
}
