//! Agents of the roster, and how they came to be.

use super::{Composite, Encoded, Fields, composite_to_sql};
use crate::number::to_bigint;
use cardwire_model::{Agent, IdentityEdge};
use tokio_postgres::types::Type;

/// A row of `resource_project_agents`.
#[derive(Debug)]
pub(in crate::commit) struct AgentRow<'a> {
    pub(in crate::commit) project: &'a str,
    pub(in crate::commit) agent: &'a Agent,
}

/// A row of `state_identity_edges`.
#[derive(Debug)]
pub(in crate::commit) struct IdentityEdgeRow<'a> {
    pub(in crate::commit) project: &'a str,
    pub(in crate::commit) edge: &'a IdentityEdge,
}

composite_to_sql!(AgentRow<'_>, IdentityEdgeRow<'_>);

impl Composite for AgentRow<'_> {
    const TYPE: &'static str = "resource_project_agents";

    fn put(&self, row: &mut Fields<'_>) -> Encoded<()> {
        let agent = self.agent;
        row.put(&Type::TEXT, &self.project)?;
        row.put(&Type::TEXT, &agent.id.as_str())?;
        row.put(&Type::TEXT, &agent.profile_name.as_str())?;
        row.put(&Type::UUID, &agent.profile_box.uuid())?;
        row.put(&Type::TEXT, &agent.worker_target.as_str())?;
        row.put(&Type::TEXT, &agent.display_name)?;
        row.put(&Type::TEXT_ARRAY, &agent.tags)?;
        row.put(&Type::TEXT, &agent.owner.as_ref().map(|owner| owner.as_str()))?;
        row.put(&Type::TEXT, &agent.metadata.as_str())?;
        row.put(&Type::INT8, &to_bigint(agent.revision.get()))?;
        row.put(&Type::INT8, &agent.created_at.micros())?;
        row.put(&Type::INT8, &agent.updated_at.micros())
    }
}

impl Composite for IdentityEdgeRow<'_> {
    const TYPE: &'static str = "state_identity_edges";

    fn put(&self, row: &mut Fields<'_>) -> Encoded<()> {
        let edge = self.edge;
        row.put(&Type::TEXT, &self.project)?;
        row.put(&Type::UUID, &edge.id.uuid())?;
        row.put(&Type::TEXT, &edge.action.as_str())?;
        row.put(&Type::TEXT, &edge.source_agent.as_ref().map(|agent| agent.as_str()))?;
        row.put(&Type::TEXT, &edge.target_agent.as_str())?;
        row.put(&Type::TEXT, &edge.channel.as_str())?;
        row.put(&Type::TEXT, &edge.trace_id)?;
        row.put(&Type::TEXT, &edge.metadata.as_str())?;
        row.put(&Type::INT8, &edge.created_at.micros())?;
        row.put(&Type::TEXT, &edge.parent_step.as_ref().map(|step| step.as_str()))
    }
}
