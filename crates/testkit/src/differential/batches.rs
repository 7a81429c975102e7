//! Batches in the differential test: every read of them.

use super::{Run, turns::without_places};
use cardwire_model::{BatchId, InboxItem, ProjectId, Realm, TurnId};
use cardwire_store::RowFilter;

/// How many rows a compared page has at most.
const PAGE: usize = 5;
/// The same where everything is read.
const ALL: usize = 100_000;

macro_rules! both {
    ($run:ident, $what:literal, $($read:tt)+) => {{
        let left = $run.left.store.$($read)+.await.unwrap();
        let right = $run.right.store.$($read)+.await.unwrap();
        $run.same($what, left, right);
    }};
}

impl Run<'_> {
    pub(super) async fn compare_batches(&mut self, project: &ProjectId) {
        let realm = Realm::from(project.clone());
        let generator = &mut self.generator;
        let (batch, filter) = (generator.any_batch(&realm), generator.batch_filter(&realm));
        let (due, quiet) = (generator.some_time_ago(), generator.some_time_ago());
        let (from, limit) = (generator.below(8) as u32, generator.below(PAGE));
        let (agent, boxes) = generator.any_grants(&realm);
        let (root, after) = (generator.any_root(&realm), generator.any_sweep());
        let place = generator.any_project().map(|project| (project, batch));
        let somewhere = generator.uuid();
        let before = BatchId::from_uuid(somewhere);
        both!(self, "a batch", batch(project, batch));
        both!(self, "batches", batches(project, &filter, None, PAGE));
        both!(self, "batches before one", batches(project, &filter, Some(batch), PAGE));
        both!(self, "batches before any", batches(project, &filter, Some(before), PAGE));
        both!(self, "branches", branches(project, batch, from, limit));
        both!(self, "standings", standing(project, batch, due, quiet, limit));
        both!(self, "running batches", running_batches(None, PAGE));
        both!(self, "running batches after one", running_batches(place.as_ref(), PAGE));
        both!(self, "sweeps", sweeps(None, PAGE));
        both!(self, "sweeps after one", sweeps(after.as_ref(), PAGE));
        both!(self, "open branches", open_branches(project, batch, from, limit));
        both!(self, "grants", granted(project, &agent, &boxes));
        both!(self, "budgets", spent(project, root));
        both!(self, "open turns", open_turns(project, 7 * limit as u32));
        let trace = self.generator.trace();
        let left = self.left.store.open_turns_in_trace(project, &trace, limit).await.unwrap();
        let right = self.right.store.open_turns_in_trace(project, &trace, limit).await.unwrap();
        self.same("open turns of a trace", without_places(left), without_places(right));
        let parent = self.parent_of_some_turn(project).await;
        both!(self, "open children", open_children(project, parent, None, limit));
        both!(
            self,
            "open children after one",
            open_children(project, parent, Some(TurnId::from_uuid(somewhere)), PAGE)
        );
    }

    /// A turn that has started others, mostly.
    async fn parent_of_some_turn(&mut self, project: &ProjectId) -> TurnId {
        let turns = RowFilter { turns_only: true, ..RowFilter::default() };
        let found = self.left.store.inbox(project, &turns, None, 50).await.unwrap();
        let open = |item: &InboxItem| item.parent_turn.filter(|_| item.status.is_open());
        let parents: Vec<_> = found.iter().filter_map(open).collect();
        let nth = self.generator.below(parents.len() + 1);
        parents.get(nth).copied().unwrap_or_else(|| self.generator.any_turn(&project.clone().into()))
    }

    /// What no dump shows, for all that there is.
    pub(super) async fn compare_all_batches(&mut self) {
        let moment = self.generator.some_time_ago();
        for (project, batch) in self.generator.all_batches() {
            both!(self, "all standings", standing(&project, batch, moment, moment, ALL));
            both!(self, "all open branches", open_branches(&project, batch, 0, ALL));
        }
        for (project, (agent, box_id)) in self.generator.all_grants() {
            both!(self, "all grants", granted(&project, &agent, &[box_id]));
        }
        for (project, root) in self.generator.all_roots() {
            both!(self, "all budgets", spent(&project, root));
        }
        both!(self, "all running batches", running_batches(None, ALL));
    }
}
