//! Claims. The one lock of the store is what holds the rows meanwhile.

use super::state::{InboxKey, State};
use crate::wanted::is_claimable;
use cardwire_model::{InboxItem, InboxKind, ProjectId, Realm};
use cardwire_store::{ClaimQuery, Claimable, DecideClaim};
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
        let asked_for = match &query.projects {
            Some(projects) => projects.contains(project),
            None => self.project(project).is_none_or(|project| project.deleted_at.is_none()),
        };
        (asked_for && is_claimable(query, item)).then(|| (project.clone(), item))
    }

    fn with_turn(&self, realm: &Realm, item: &InboxItem) -> Claimable {
        let is_turn = item.kind == InboxKind::Turn;
        let turn = if is_turn { None } else { self.turn(realm, item.turn_id).cloned() };
        Claimable { item: item.clone(), turn, head: self.head(realm, &item.agent_id).cloned() }
    }
}
