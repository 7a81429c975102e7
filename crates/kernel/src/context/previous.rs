//! What a request shares with the agent's previous one: what a provider may have cached (OB-05).

use super::{call::Setup, pieces::Material};
use crate::{Kernel, KernelError};
use cardwire_context::{manifest, piece::Piece};
use cardwire_model::{AgentId, CardId, ProjectId};
use cardwire_store::RowFilter;

/// Steps looked at for the previous call of an agent.
const LAST_STEPS: usize = 20;

impl Kernel {
    /// What the request shares with the agent's previous one (OB-05): what a provider may have cached.
    pub(super) async fn shared_with_previous(
        &self,
        project: &ProjectId,
        material: &Material,
        setup: &Setup,
        pieces: &[Piece<'_>],
    ) -> Result<(Option<CardId>, u32), KernelError> {
        let Some(call) = self.previous_call(project, &material.item.agent_id).await? else {
            return Ok((None, 0));
        };
        let Ok(previous) = self.last_record(project, &material.item.agent_id, call).await else {
            return Ok((None, 0));
        };
        let tools = setup.tools.as_ref().map(|card| card.id);
        if (previous.provider, &previous.model, previous.tools) != (setup.provider, &setup.model, tools) {
            return Ok((Some(call), 0));
        }
        let lists = self.box_lists(project, &previous).await?;
        let shared = manifest::expand(&previous, |box_id, generation| {
            lists.get(&(box_id, generation)).map(Vec::as_slice)
        })
        .map_or(0, |entries| manifest::shared_prefix(&entries, pieces));
        Ok((Some(call), shared))
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
