//! Batches: fork, look after and join (SPEC.md, BatchManager).
//!
//! A fork is one commit: the batch, its branches with their agents, contexts and turns, and the edge that asks for the
//! join. The end of a branch's turn ends the branch in the same commit ([`crate::turn`]); what follows from that is
//! decided by [`progress`]. A join is one commit too: the batch's last state, the edge that answers, the result card and
//! the row that wakes the parent (W-08). A batch that is closed early first stops taking ends of branches
//! ([`Write::BeginClose`](cardwire_model::Write::BeginClose)), so that what the parent is told and what the branches say
//! is the same.

pub mod args;
pub mod branch;
pub mod cancel;
pub mod fork;
pub mod join;
pub mod progress;
pub mod view;

#[cfg(test)]
mod cost;
#[cfg(test)]
mod rules;

use crate::Moment;
use cardwire_model::{Batch, EventKind, NewEvent};
use serde_json::json;

/// The tool that forks.
pub const TOOL: &str = "fork_join";
/// Who looks after batches.
pub(crate) const AUTHOR: &str = "sys.pmo.batch_manager";

/// The event of a new state of a batch.
fn state_event(batch: &Batch, moment: &Moment) -> NewEvent {
    let mut data = json!({
        "batch_id": batch.id.to_string(),
        "status": batch.status.as_str(),
        "task_count": batch.branches,
    });
    if let Some(card) = batch.result_card {
        data["tool_result_card_id"] = card.to_string().into();
    }
    NewEvent {
        channel: batch.channel.to_string(),
        agent_id: Some(batch.parent_agent.clone()),
        turn_id: batch.parent_turn,
        batch_id: Some(batch.id),
        trace_id: Some(batch.trace_id.clone()),
        ..moment.event(EventKind::BatchState, batch.id, &data)
    }
}
