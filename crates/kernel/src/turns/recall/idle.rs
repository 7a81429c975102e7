//! Agents that rest and boxes that turns are given, as this process has read or left them: what a dispatch would read first. See
//! [`idle`] for why that is safe.

use cardwire_model::{Agent, AgentId, BoxHead, BoxId, Commit, Head, ProjectId, Snapshot, Timestamp, limits};
use cardwire_protocol::turn::{dispatch::Dispatch, recall::idle};
use quick_cache::unsync::Cache;
use std::{
    collections::HashMap,
    ops::Range,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// A clock that was set back ends a pause.
const PAUSE_MICROS: Range<i64> = 0..limits::RECALL_PAUSE_MS * 1_000;

/// See above.
#[derive(Default)]
pub(crate) struct Idle(Mutex<Known>);

struct Known {
    agents: Cache<(ProjectId, AgentId), Listed>,
    boxes: Cache<(ProjectId, BoxId), BoxHead>,
    /// When what was known in a project was last found to be outdated.
    wrong_at: Cache<ProjectId, Timestamp>,
}

impl Default for Known {
    fn default() -> Self {
        let most = limits::RECALLED_AGENTS;
        Self { agents: Cache::new(most), boxes: Cache::new(most), wrong_at: Cache::new(most) }
    }
}

/// An agent of the roster, and its head when it rests.
struct Listed {
    agent: Agent,
    head: Option<Head>,
}

/// What a commit that is under way will leave.
#[derive(Default)]
pub(super) struct Rested {
    heads: Vec<Head>,
    boxes: Vec<BoxHead>,
}

impl Rested {
    pub(super) fn is_empty(&self) -> bool {
        self.heads.is_empty() && self.boxes.is_empty()
    }
}

impl Idle {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rows that the dispatch looks at, if all of them are known.
    pub(crate) fn rows(&self, project: &ProjectId, command: &Dispatch, now: Timestamp) -> Option<Snapshot> {
        let (agent, boxes) = command.recallable()?;
        let known = self.known();
        let since = known.wrong_at.get(project).map(|at| now.micros() - at.micros());
        if since.is_some_and(|since| PAUSE_MICROS.contains(&since)) {
            return None;
        }
        let listed = known.agents.get(&(project.clone(), agent.clone()))?;
        let head = Some(listed.head.clone()?);
        let found = boxes.map(|id| known.boxes.get(&(project.clone(), id)));
        let boxes = found.into_iter().map(|head| head.map(|head| (head.box_id, head.clone())));
        let boxes = boxes.collect::<Option<HashMap<_, _>>>()?;
        Some(Snapshot { agent: Some(listed.agent.clone()), head, boxes, ..Snapshot::default() })
    }

    /// What a dispatch has read, before its commit moves the agent.
    pub(crate) fn learn(&self, project: &ProjectId, read: &Snapshot) {
        let mut known = self.known();
        if let Some(agent) = &read.agent {
            let head = read.head.clone().filter(idle::is_at_rest);
            let listed = Listed { agent: idle::of_roster(agent), head };
            known.agents.insert((project.clone(), agent.id.clone()), listed);
        }
        for head in read.boxes.values() {
            known.boxes.insert((project.clone(), head.box_id), head.clone());
        }
    }

    /// A commit that was decided on rows of here did not hold. Where other processes move the same agents, most of what is known
    /// is outdated, and trying costs more than reading: whoever travels with the commit is sent again.
    pub(crate) fn was_wrong(&self, project: &ProjectId, now: Timestamp) {
        self.known().wrong_at.insert(project.clone(), now);
    }

    /// Forgets what a commit changes, and answers what is to be kept once it is applied.
    pub(super) fn prepare<'a>(
        &self,
        project: &ProjectId,
        commit: &Commit,
        outdated: impl Iterator<Item = &'a AgentId>,
    ) -> Rested {
        let mut known = self.known();
        for agent in outdated {
            if let Some(mut listed) = known.agents.get_mut(&(project.clone(), agent.clone())) {
                listed.head = None;
            }
        }
        for agent in idle::listed(commit) {
            known.agents.remove(&(project.clone(), agent.clone()));
        }
        let is_listed = |head: &Head| known.agents.contains_key(&(project.clone(), head.agent_id.clone()));
        let heads = idle::rested(commit).filter(is_listed).collect();
        let boxes = idle::boxes(commit, |id| known.boxes.get(&(project.clone(), id)).cloned());
        Rested { heads, boxes }
    }

    /// The commit was applied.
    pub(super) fn keep(&self, project: &ProjectId, rested: Rested) {
        let mut known = self.known();
        for head in rested.heads {
            if let Some(mut listed) = known.agents.get_mut(&(project.clone(), head.agent_id.clone())) {
                listed.head = Some(head);
            }
        }
        for head in rested.boxes {
            known.boxes.insert((project.clone(), head.box_id), head);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_model::{CanonicalJson, Revision, TurnEpoch};

    fn project() -> ProjectId {
        "p".parse().unwrap()
    }

    fn box_id(number: usize) -> BoxId {
        BoxId::from_uuid(uuid::Uuid::from_u128(number as u128))
    }

    /// What is read before a turn of this agent.
    fn read(number: usize) -> Snapshot {
        let at = Timestamp::from_micros(0);
        let agent = Agent {
            id: format!("a{number}").parse().unwrap(),
            profile_name: "p".parse().unwrap(),
            profile_box: box_id(number),
            worker_target: "w".parse().unwrap(),
            display_name: None,
            tags: vec![],
            owner: None,
            metadata: CanonicalJson::empty_object(),
            revision: Revision::FIRST,
            created_at: at,
            updated_at: at,
        };
        let boxes = [(box_id(number), BoxHead::empty(box_id(number), at))];
        Snapshot { agent: Some(agent), boxes: boxes.into(), ..Snapshot::default() }
    }

    fn head(number: usize) -> Head {
        Head {
            agent_id: format!("a{number}").parse().unwrap(),
            epoch: TurnEpoch::ZERO,
            live: None,
            last_output_box: None,
            queued: 0,
            updated_at: Timestamp::from_micros(0),
        }
    }

    #[test]
    fn so_many_agents_and_boxes_are_known_and_no_more() {
        let idle = Idle::default();
        let sizes = || {
            let known = idle.known();
            (known.agents.len(), known.boxes.len())
        };
        (0..limits::RECALLED_AGENTS).for_each(|number| idle.learn(&project(), &read(number)));
        assert_eq!(sizes(), (limits::RECALLED_AGENTS, limits::RECALLED_AGENTS));
        idle.learn(&project(), &read(limits::RECALLED_AGENTS));
        assert_eq!(sizes(), (limits::RECALLED_AGENTS, limits::RECALLED_AGENTS));
    }

    /// Nobody asks for those of whom nothing else is known.
    #[test]
    fn only_agents_that_were_read_before_are_kept_at_rest() {
        let idle = Idle::default();
        idle.learn(&project(), &read(1));
        idle.keep(&project(), Rested { heads: vec![head(1), head(2)], boxes: vec![] });
        let known = idle.known();
        assert_eq!(known.agents.len(), 1);
        assert!(known.agents.iter().all(|(_, listed)| listed.head.as_ref() == Some(&head(1))));
    }
}
