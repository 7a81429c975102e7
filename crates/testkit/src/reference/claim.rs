//! Claims. The one lock of the store is what holds the rows meanwhile.

use super::state::{InboxKey, State};
use crate::wanted::{is_claimable, is_held};
use cardwire_model::{InboxItem, InboxKind, ProjectId, Realm};
use cardwire_store::{ClaimQuery, Claimable, DecideClaim, HeldQuery, HeldRow};
use std::collections::BTreeMap;

impl State {
    /// Gives the oldest claimable rows to `decide` and applies what it says, project by project. Answers the
    /// projects whose commits were applied and not empty.
    pub fn claim(&mut self, query: &ClaimQuery, decide: &DecideClaim) -> Vec<ProjectId> {
        let mut applied = vec![];
        for (project, rows) in self.claimable(query) {
            let commit = decide(&project, rows);
            if !commit.is_empty() && self.apply(&commit).is_ok() {
                applied.push(project);
            }
        }
        applied
    }

    /// What may be claimed, oldest first within each project, at most `limit` over all of them.
    pub fn claimable(&self, query: &ClaimQuery) -> BTreeMap<ProjectId, Vec<Claimable>> {
        let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let oldest_first = self.queue.range(..).filter_map(|(_, key)| self.wanted(query, key));
        for (project, item) in oldest_first.take(query.limit) {
            let realm = project.clone().into();
            found.entry(project).or_default().push(self.with_turn(&realm, item));
        }
        found
    }

    fn wanted(&self, query: &ClaimQuery, key: &InboxKey) -> Option<(ProjectId, &InboxItem)> {
        let project = key.0.project()?;
        let item = self.inbox.get(key)?;
        let asked_for = self.is_asked_for(project, query.projects.as_deref());
        (asked_for && is_claimable(query, item)).then(|| (project.clone(), item))
    }

    fn is_asked_for(&self, project: &ProjectId, projects: Option<&[ProjectId]>) -> bool {
        match projects {
            Some(projects) => projects.contains(project),
            None => self.project(project).is_none_or(|project| project.deleted_at.is_none()),
        }
    }

    /// What a worker may have in its hands, oldest first, after a place.
    pub fn held(&self, query: &HeldQuery, after: u64, limit: usize) -> Vec<HeldRow> {
        let row = |(seq, key): (&u64, &InboxKey)| {
            let (project, item) = (key.0.project()?, self.inbox.get(key)?);
            let is_wanted = *seq > after
                && self.is_asked_for(project, query.projects.as_deref())
                && is_held(query, item, self.head(&key.0, &item.agent_id));
            let found =
                HeldRow { seq: *seq, project: project.clone(), turn_id: item.turn_id, epoch: item.epoch };
            is_wanted.then_some(found)
        };
        self.queue.range(..).filter_map(row).take(limit).collect()
    }

    fn with_turn(&self, realm: &Realm, item: &InboxItem) -> Claimable {
        let is_turn = item.kind == InboxKind::Turn;
        let turn = if is_turn { None } else { self.turn(realm, item.turn_id).cloned() };
        Claimable { item: item.clone(), turn, head: self.head(realm, &item.agent_id).cloned() }
    }
}
