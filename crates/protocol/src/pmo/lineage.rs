//! Whom a call is made for in the end: the caller's live turn and those above it, up to the root.

use cardwire_model::{AgentId, InboxItem, TurnId};

/// A turn above the caller's, or that itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ancestor {
    /// The turn.
    pub turn: TurnId,
    /// Whose.
    pub agent: AgentId,
    /// It cannot end before what the caller forks has.
    pub waits: bool,
}

impl Ancestor {
    /// The caller itself, at work.
    pub const fn caller(turn: TurnId, agent: AgentId) -> Self {
        Self { turn, agent, waits: true }
    }

    /// The turn that started this one, whose row is `item`. Nobody waits for what was delegated, nor for what is above it.
    pub fn above(&self, item: &InboxItem, parent: &InboxItem) -> Self {
        Self {
            turn: parent.turn_id,
            agent: parent.agent_id.clone(),
            waits: self.waits && item.branch.is_some(),
        }
    }
}

/// Agents that a fork must not give work to: they would wait for themselves.
pub fn waiting(lineage: Vec<Ancestor>) -> Vec<AgentId> {
    lineage.into_iter().filter(|above| above.waits).map(|above| above.agent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{agent::TestAgent, uuid};
    use cardwire_model::{BatchId, BranchKey};

    /// The row of an agent's turn, started as a branch of a batch or delegated.
    fn row(agent: &str, is_branch: bool) -> InboxItem {
        let mut test = TestAgent::new();
        test.dispatch();
        let mut item = test.inbox.remove(0);
        item.agent_id = agent.parse().unwrap();
        item.branch = is_branch.then(|| BranchKey { batch_id: uuid(BatchId::PREFIX, 1), index: 0 });
        item
    }

    /// Who waits when `rows` are the turns from the caller's up to the root.
    fn waits(rows: &[InboxItem]) -> Vec<String> {
        let mut last = Ancestor::caller(rows[0].turn_id, rows[0].agent_id.clone());
        let mut lineage = vec![last.clone()];
        for pair in rows.windows(2) {
            last = last.above(&pair[0], &pair[1]);
            lineage.push(last.clone());
        }
        waiting(lineage).iter().map(AgentId::to_string).collect()
    }

    #[test]
    fn those_above_wait_up_to_where_work_was_delegated() {
        let forked = [row("c", true), row("b", true), row("a", false)];
        assert_eq!(waits(&forked), ["c", "b", "a"]);
        let delegated = [row("c", true), row("b", false), row("a", true), row("root", false)];
        assert_eq!(
            waits(&delegated),
            ["c", "b"],
            "whoever delegated, and those above, wait for nothing here"
        );
    }
}
