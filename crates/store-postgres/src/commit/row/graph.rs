//! Edges and steps.

use super::{Composite, Encoded, Fields, composite_to_sql};
use crate::number::to_bigint;
use cardwire_model::{Edge, Step};
use tokio_postgres::types::Type;

/// A row of `state_execution_edges`.
#[derive(Debug)]
pub(in crate::commit) struct EdgeRow<'a> {
    pub(in crate::commit) project: &'a str,
    pub(in crate::commit) edge: &'a Edge,
}

/// A row of `state_agent_steps`.
#[derive(Debug)]
pub(in crate::commit) struct StepRow<'a> {
    pub(in crate::commit) project: &'a str,
    pub(in crate::commit) step: &'a Step,
}

composite_to_sql!(EdgeRow<'_>, StepRow<'_>);

impl Composite for EdgeRow<'_> {
    const TYPE: &'static str = "state_execution_edges";

    fn put(&self, row: &mut Fields<'_>) -> Encoded<()> {
        let edge = self.edge;
        row.put(&Type::TEXT, &self.project)?;
        row.put(&Type::UUID, &edge.id.uuid())?;
        row.put(&Type::TEXT, &edge.primitive.as_str())?;
        row.put(&Type::TEXT, &edge.phase.as_str())?;
        row.put(&Type::TEXT, &edge.correlation_id)?;
        row.put(&Type::UUID, &edge.scope())?;
        row.put(&Type::TEXT, &edge.source_agent.as_ref().map(|agent| agent.as_str()))?;
        row.put(&Type::UUID, &edge.source_turn.map(|turn| turn.uuid()))?;
        row.put(&Type::TEXT, &edge.target_agent.as_ref().map(|agent| agent.as_str()))?;
        row.put(&Type::UUID, &edge.target_turn.map(|turn| turn.uuid()))?;
        row.put(&Type::INT8, &i64::from(edge.depth))?;
        row.put(&Type::TEXT, &edge.trace_id)?;
        row.put(&Type::TEXT, &edge.parent_step.as_ref().map(|step| step.as_str()))?;
        row.put(&Type::UUID, &edge.inbox_id.map(|inbox| inbox.uuid()))?;
        row.put(&Type::BYTEA, &edge.request_hash.as_ref().map(|hash| hash.as_bytes().as_slice()))?;
        row.put(&Type::INT8, &edge.created_at.micros())
    }
}

impl Composite for StepRow<'_> {
    const TYPE: &'static str = "state_agent_steps";

    fn put(&self, row: &mut Fields<'_>) -> Encoded<()> {
        let step = self.step;
        row.put(&Type::TEXT, &self.project)?;
        row.put(&Type::TEXT, &step.id.as_str())?;
        row.put(&Type::TEXT, &step.agent_id.as_str())?;
        row.put(&Type::UUID, &step.turn_id.uuid())?;
        row.put(&Type::INT8, &to_bigint(step.epoch.get()))?;
        row.put(&Type::TEXT, &step.trace_id)?;
        row.put(&Type::INT8, &step.created_at.micros())?;
        row.put(&Type::TEXT, &step.phase)?;
        row.put(&Type::TEXT, &step.status)?;
        row.put(&Type::TEXT, &step.call_id)?;
        row.put(&Type::UUID, &step.request_box.map(|box_id| box_id.uuid()))?;
        row.put(&Type::INT8, &i64::from(step.output_len))?;
        row.put(&Type::TEXT, &step.metadata.as_str())?;
        row.put(&Type::INT8, &step.updated_at.micros())
    }
}
