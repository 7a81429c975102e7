//! What a request shares with the agent's previous one: what a provider may have cached (OB-05).

use super::{call::Setup, pieces::Material, render::BoxLists};
use crate::{Kernel, KernelError};
use cardwire_context::{manifest, piece::Piece, render};
use cardwire_model::{AgentId, CardId, Manifest, ProjectId};
use cardwire_store::RowFilter;
use std::sync::Arc;

/// Steps looked at for the previous call of an agent.
const LAST_STEPS: usize = 20;

/// The agent's previous request.
pub(super) struct Previous {
    pub(super) call: CardId,
    /// Its record, if a provider would find this request's beginning in it, and the boxes that it refers to.
    comparable: Option<(Arc<Manifest>, BoxLists)>,
}

impl Previous {
    /// Tokens of what both begin with.
    pub(super) fn shared_with(&self, pieces: &[Piece<'_>]) -> u32 {
        let Some((record, lists)) = &self.comparable else { return 0 };
        let list = |box_id, generation| lists.get(&(box_id, generation)).map(Vec::as_slice);
        manifest::expand(record, list).map_or(0, |entries| manifest::shared_prefix(&entries, pieces))
    }
}

impl Kernel {
    /// The agent's previous request, if there was one.
    pub(super) async fn previous_of(
        &self,
        project: &ProjectId,
        material: &Material,
        setup: &Setup,
    ) -> Result<Option<Previous>, KernelError> {
        let Some(call) = self.previous_call(project, &material.item.agent_id).await? else {
            return Ok(None);
        };
        let Ok(record) = self.last_record(project, &material.item.agent_id, call).await else {
            return Ok(None);
        };
        let tools = setup.tools.as_ref().map(|card| card.id);
        let is_alike =
            (record.provider, &record.model, record.tools) == (setup.provider, &setup.model, tools);
        if !is_alike || record.template != render::TEMPLATE {
            return Ok(Some(Previous { call, comparable: None }));
        }
        let lists = self.box_lists(project, &record).await?;
        Ok(Some(Previous { call, comparable: Some((record, lists)) }))
    }

    /// The last call that an agent made. Its last step is nearly always it, so that is looked at first.
    async fn previous_call(
        &self,
        project: &ProjectId,
        agent: &AgentId,
    ) -> Result<Option<CardId>, KernelError> {
        let filter = RowFilter { agent_id: Some(agent.clone()), ..RowFilter::default() };
        for limit in [1, LAST_STEPS] {
            let steps = self.store.steps(project, &filter, None, limit).await?;
            let call = steps.iter().find_map(|step| step.call_id.as_deref()?.parse::<CardId>().ok());
            if call.is_some() || steps.len() < limit {
                return Ok(call);
            }
        }
        Ok(None)
    }
}
