//! How much a caller may still start: turns below one root, and open turns of the project. Computed from what is stored,
//! refused with the numbers before anything is written. Invariant 18: what is started is counted in the commit that starts
//! it.

use crate::{RefusalCode, Rejection};
use cardwire_model::{Commit, Expect, TurnId, Write};

/// What was started so far, and how much may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budget {
    /// The root of the caller's turn, with what was started below it and the bound. None for an operator's call in the
    /// name of an idle agent: what that starts are roots themselves.
    pub tree: Option<Tree>,
    /// Open turns of the project, counted up to the bound, and the bound.
    pub open: Option<(u32, u32)>,
}

/// Turns below one root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tree {
    /// The root.
    pub root: TurnId,
    /// Started so far.
    pub spent: u32,
    /// At most.
    pub limit: u32,
}

impl Budget {
    /// Takes so many turns from the budget, if it has them, in the commit that starts them.
    pub fn spend(&self, commit: &mut Commit, turns: u32) -> Result<(), Rejection> {
        if let Some((open, limit)) = self.open {
            if open.saturating_add(turns) > limit {
                let message =
                    format!("{turns} more turns; {open} are open in the project, the limit is {limit}");
                return Err(Rejection::refused(RefusalCode::ProjectBudgetExceeded, message));
            }
            commit.expect.push(Expect::OpenTurns { at_most: limit - turns });
        }
        let Some(Tree { root, spent, limit }) = self.tree else { return Ok(()) };
        if spent.saturating_add(turns) > limit {
            let message =
                format!("{turns} more turns; {spent} were started below {root}, the limit is {limit}");
            return Err(Rejection::refused(RefusalCode::TreeBudgetExceeded, message));
        }
        commit.writes.push(Write::Spend { root, turns, limit });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn spend(budget: &Budget, turns: u32) -> Result<Commit, Rejection> {
        let mut commit = Commit::new(crate::fixtures::project());
        budget.spend(&mut commit, turns).map(|()| commit)
    }

    #[test]
    fn a_tree_may_grow_to_its_limit_and_no_further() {
        let root = TurnId::from_uuid(Uuid::from_u128(7));
        let budget = Budget { tree: Some(Tree { root, spent: 7, limit: 10 }), open: None };
        let spent = spend(&budget, 3).unwrap();
        assert_eq!((spent.writes, spent.expect), (vec![Write::Spend { root, turns: 3, limit: 10 }], vec![]));
        let refused = spend(&budget, 4).unwrap_err();
        for number in ["4 more", "7 were", "limit is 10"] {
            assert!(refused.to_string().contains(number), "{refused}");
        }
    }

    /// Whoever opens turns at the same moment is counted by the commit.
    #[test]
    fn a_project_may_have_so_many_open_turns_and_no_more() {
        let budget = Budget { tree: None, open: Some((3, 5)) };
        let spent = spend(&budget, 2).unwrap();
        assert_eq!((spent.writes, spent.expect), (vec![], vec![Expect::OpenTurns { at_most: 3 }]));
        let refused = spend(&budget, 3).unwrap_err().to_string();
        assert!(refused.contains("3 are open in the project, the limit is 5"), "{refused}");
    }
}
