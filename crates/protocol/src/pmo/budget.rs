//! How much a caller may still start: turns below one root, and open turns of the project. Computed from what is stored,
//! refused with the numbers before anything is written. Invariant 18: what is started is counted in the commit that starts
//! it.

use crate::{RefusalCode, Rejection};
use cardwire_model::{TurnId, Write};

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
    /// The write that takes so many turns from the budget, if it has them.
    pub fn spend(&self, turns: u32) -> Result<Option<Write>, Rejection> {
        if let Some((open, limit)) = self.open
            && open.saturating_add(turns) > limit
        {
            let message = format!("{turns} more turns; {open} are open in the project, the limit is {limit}");
            return Err(Rejection::refused(RefusalCode::ProjectBudgetExceeded, message));
        }
        let Some(Tree { root, spent, limit }) = self.tree else { return Ok(None) };
        if spent.saturating_add(turns) > limit {
            let message =
                format!("{turns} more turns; {spent} were started below {root}, the limit is {limit}");
            return Err(Rejection::refused(RefusalCode::TreeBudgetExceeded, message));
        }
        Ok(Some(Write::Spend { root, turns, limit }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_tree_may_grow_to_its_limit_and_no_further() {
        let root = TurnId::from_uuid(Uuid::from_u128(7));
        let budget = Budget { tree: Some(Tree { root, spent: 7, limit: 10 }), open: None };
        assert_eq!(budget.spend(3).unwrap(), Some(Write::Spend { root, turns: 3, limit: 10 }));
        let refused = budget.spend(4).unwrap_err();
        for number in ["4 more", "7 were", "limit is 10"] {
            assert!(refused.to_string().contains(number), "{refused}");
        }
    }

    #[test]
    fn a_project_may_have_so_many_open_turns_and_no_more() {
        let budget = Budget { tree: None, open: Some((3, 5)) };
        assert_eq!(budget.spend(2).unwrap(), None);
        assert!(
            budget.spend(3).unwrap_err().to_string().contains("3 are open in the project, the limit is 5")
        );
    }
}
