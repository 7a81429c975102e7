//! Turns that this process has leased and that nobody is known to have touched since, as their commits left them: what the next
//! command would read first. See [`recall`] for why that is safe.

mod idle;

use cardwire_model::{AgentId, CanonicalJson, Commit, ProjectId, Snapshot, Step, TurnId, limits};
use cardwire_protocol::turn::recall;
use idle::{Idle, Rested};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// See above.
#[derive(Default)]
pub(crate) struct Recall {
    turns: Mutex<Turns>,
    pub(crate) idle: Idle,
}

#[derive(Default)]
struct Turns {
    rows: HashMap<(ProjectId, TurnId), Arc<Snapshot>>,
    /// The turn of each agent that has one in `rows`.
    of_agents: HashMap<(ProjectId, AgentId), TurnId>,
}

/// What a commit that is under way will leave.
pub(crate) struct Left {
    project: ProjectId,
    leased: Vec<(AgentId, TurnId, Snapshot)>,
    steps: Vec<Step>,
    rested: Rested,
}

impl Recall {
    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rows of a turn, if they are known.
    pub(crate) fn turn(&self, project: &ProjectId, turn: TurnId) -> Option<Arc<Snapshot>> {
        self.turns().rows.get(&(project.clone(), turn)).cloned()
    }

    /// A turn was found not to be as it is recalled.
    pub(crate) fn forget(&self, project: &ProjectId, turn: TurnId) {
        let mut turns = self.turns();
        let rows = turns.rows.remove(&(project.clone(), turn));
        if let Some(item) = rows.as_ref().and_then(|rows| rows.turn.as_ref()).map(|turn| &turn.item) {
            turns.of_agents.remove(&(project.clone(), item.agent_id.clone()));
        }
    }

    /// Forgets what a commit changes, and answers what is to be kept once it is applied: steps, the turns that it starts, and the
    /// agents that it leaves at rest.
    pub(crate) fn prepare(&self, commit: &Commit, started: Vec<Snapshot>) -> Option<Left> {
        let project = commit.realm.project()?;
        let rested = self.idle.prepare(project, commit, recall::outdated(commit));
        let mut turns = self.turns();
        for agent in recall::outdated(commit) {
            turns.forget(project, agent);
        }
        let is_known = |step: &&Step| turns.rows.contains_key(&(project.clone(), step.turn_id));
        // What a step says of itself is not looked at again.
        let noted = |step: &Step| Step { metadata: CanonicalJson::empty_object(), ..step.clone() };
        let steps: Vec<_> = recall::steps(commit).filter(is_known).map(noted).collect();
        drop(turns);
        let named = |rows: Snapshot| {
            let item = &rows.turn.as_ref()?.item;
            Some((item.agent_id.clone(), item.turn_id, rows))
        };
        let leased: Vec<_> = started.into_iter().filter_map(named).collect();
        let leaves = !leased.is_empty() || !steps.is_empty() || !rested.is_empty();
        leaves.then(|| Left { project: project.clone(), leased, steps, rested })
    }

    /// The commit was applied.
    pub(crate) fn keep(&self, left: Left) {
        let Left { project, leased, steps, rested } = left;
        self.idle.keep(&project, rested);
        let mut turns = self.turns();
        for step in steps {
            if let Some(rows) = turns.rows.get_mut(&(project.clone(), step.turn_id)) {
                Arc::make_mut(rows).step = Some(step);
            }
        }
        if turns.rows.len() + leased.len() > limits::RECALLED_TURNS {
            // Simpler than choosing, and rare.
            *turns = Turns::default();
        }
        for (agent, turn, rows) in leased.into_iter().take(limits::RECALLED_TURNS) {
            if let Some(before) = turns.of_agents.insert((project.clone(), agent), turn) {
                turns.rows.remove(&(project.clone(), before));
            }
            turns.rows.insert((project.clone(), turn), Arc::new(rows));
        }
    }
}

impl Turns {
    fn forget(&mut self, project: &ProjectId, agent: &AgentId) {
        if self.rows.is_empty() {
            return;
        }
        if let Some(turn) = self.of_agents.remove(&(project.clone(), agent.clone())) {
            self.rows.remove(&(project.clone(), turn));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cardwire_model::{Head, Timestamp, TurnEpoch, Write};

    fn project() -> ProjectId {
        "p".parse().unwrap()
    }

    fn agent(number: usize) -> AgentId {
        format!("a{number}").parse().unwrap()
    }

    fn turn(number: usize) -> TurnId {
        TurnId::from_uuid(uuid::Uuid::from_u128(number as u128))
    }

    fn leased(turns: std::ops::Range<usize>) -> Left {
        let leased = turns.map(|number| (agent(number), turn(number), Snapshot::default())).collect();
        Left { project: project(), leased, steps: vec![], rested: Rested::default() }
    }

    #[test]
    fn so_many_turns_are_recalled_and_no_more() {
        let recall = Recall::default();
        let known = |number| recall.turn(&project(), turn(number)).is_some();
        recall.keep(leased(0..limits::RECALLED_TURNS));
        assert!(known(0) && known(limits::RECALLED_TURNS - 1));
        // One more: what was there makes room for it.
        recall.keep(leased(limits::RECALLED_TURNS..limits::RECALLED_TURNS + 1));
        assert!(!known(0) && known(limits::RECALLED_TURNS));
        recall.keep(leased(0..limits::RECALLED_TURNS + 1));
        assert!(known(limits::RECALLED_TURNS - 1) && !known(limits::RECALLED_TURNS));
        let turns = recall.turns();
        assert_eq!(
            (turns.rows.len(), turns.of_agents.len()),
            (limits::RECALLED_TURNS, limits::RECALLED_TURNS)
        );
    }

    #[test]
    fn a_commit_that_moves_an_agent_makes_its_turn_forgotten_and_no_other() {
        let recall = Recall::default();
        recall.keep(leased(1..3));
        let idle = Head {
            agent_id: agent(1),
            epoch: TurnEpoch::ZERO,
            live: None,
            last_output_box: None,
            queued: 0,
            updated_at: Timestamp::from_micros(0),
        };
        let mut commit = Commit::new(project());
        commit.writes.push(Write::CreateHead(Box::new(idle)));
        assert!(recall.prepare(&commit, vec![]).is_none());
        assert_eq!(recall.turn(&project(), turn(1)), None);
        assert!(recall.turn(&project(), turn(2)).is_some());
    }
}
