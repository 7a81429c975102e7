//! What comes with a lease for a worker that wants to begin at once: what it would read first.

use crate::{Kernel, KernelError};
use cardwire_model::{CanonicalJson, ProjectId, TurnId, limits};
use cardwire_protocol::turn::{claim::Lease, view};
use std::collections::{BTreeMap, HashMap};

/// What a leased turn begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hydrated {
    /// What its deliverable must have (WK-04).
    pub result_fields: Option<CanonicalJson>,
    /// How many cards its output box shows.
    pub output_len: u32,
}

impl Kernel {
    /// What leased turns begin with, by one read per project. A turn whose boxes cannot be read, or whose context is long, is
    /// left out: its worker reads for itself.
    pub async fn hydrate(&self, leases: &[Lease]) -> HashMap<(ProjectId, TurnId), Hydrated> {
        let mut by_project: BTreeMap<&ProjectId, Vec<&Lease>> = BTreeMap::new();
        for lease in leases.iter().filter(|lease| lease.turn.is_some()) {
            by_project.entry(&lease.project).or_default().push(lease);
        }
        let mut hydrated = HashMap::with_capacity(leases.len());
        for (project, leases) in by_project {
            match self.hydrate_in(project, &leases).await {
                Ok(found) => {
                    hydrated.extend(found.into_iter().map(|(turn, one)| ((project.clone(), turn), one)));
                }
                Err(error) => tracing::debug!(%error, "leases go without what their turns are given"),
            }
        }
        hydrated
    }

    async fn hydrate_in(
        &self,
        project: &ProjectId,
        leases: &[&Lease],
    ) -> Result<Vec<(TurnId, Hydrated)>, KernelError> {
        let turns = || leases.iter().filter_map(|lease| Some((lease.turn_id, lease.turn.as_ref()?)));
        let mut boxes: Vec<_> = turns().flat_map(|(_, turn)| [turn.context_box, turn.output_box]).collect();
        boxes.sort_unstable();
        boxes.dedup();
        let at = self.boxes_at(project, boxes).await?;
        let (now, mut hydrated) = (self.now(), vec![]);
        for (turn_id, turn) in turns() {
            let Some(output) = at.heads.get(&turn.output_box) else { continue };
            let is_short = |id| at.heads.get(id).is_some_and(|head| head.len <= limits::HYDRATE_MAX as u32);
            if !is_short(&turn.context_box) {
                continue;
            }
            let Ok((_, cards)) = self.reached(project, &at, turn.context_box).await else { continue };
            let fields = view::result_fields(cards.iter().filter(|card| card.is_visible(now)));
            let result_fields = fields.map(|card| card.content.clone());
            hydrated.push((turn_id, Hydrated { result_fields, output_len: output.len }));
        }
        Ok(hydrated)
    }
}
