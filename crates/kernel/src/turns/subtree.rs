//! A turn, or several, and everything below them. All are of one trace.

use crate::{Kernel, KernelError};
use cardwire_model::{InboxItem, Invalid, ProjectId, TurnId, limits};
use cardwire_store::RowFilter;
use std::collections::{HashMap, HashSet};

impl Kernel {
    /// The turns of the trace that are one of `roots` or below one of them.
    pub(crate) async fn subtree(
        &self,
        project: &ProjectId,
        roots: impl IntoIterator<Item = TurnId>,
        trace: Option<String>,
    ) -> Result<HashSet<TurnId>, KernelError> {
        let rows = RowFilter { trace_id: trace, turns_only: true, ..RowFilter::default() };
        let (mut before, mut read) = (None, 0);
        let mut children: HashMap<TurnId, Vec<TurnId>> = HashMap::new();
        loop {
            let page = self.store.inbox(project, &rows, before, limits::PAGE_MAX).await?;
            before = page.last().map(|item| item.id);
            read += page.len();
            Invalid::check_size("filter", read, limits::COST_STEPS, "turns")?;
            for item in &page {
                if let Some(parent) = item.parent_turn {
                    children.entry(parent).or_default().push(item.turn_id);
                }
            }
            if page.len() < limits::PAGE_MAX {
                break;
            }
        }
        let mut next: Vec<TurnId> = roots.into_iter().collect();
        let mut inside = HashSet::new();
        while let Some(turn) = next.pop() {
            if inside.insert(turn) {
                next.extend(children.remove(&turn).unwrap_or_default());
            }
        }
        Ok(inside)
    }

    /// The turn and what is below it, as far as it is open, oldest first. Looks at open turns and at those above them only,
    /// because it is asked again and again while somebody waits for a run.
    pub(crate) async fn open_below(
        &self,
        project: &ProjectId,
        turn: TurnId,
    ) -> Result<Vec<InboxItem>, KernelError> {
        // Only a damaged row has no trace, and then nothing can be found by it.
        let Some(trace) = self.turn_row(project, turn).await?.trace_id else { return Ok(vec![]) };
        let open = self.store.open_turns_in_trace(project, &trace, limits::COST_STEPS + 1).await?;
        Invalid::check_size("filter", open.len(), limits::COST_STEPS, "turns")?;
        self.below(project, turn, open).await
    }

    /// Those of some open turns that are the turn or below it, in their order.
    pub(crate) async fn below(
        &self,
        project: &ProjectId,
        turn: TurnId,
        open: Vec<InboxItem>,
    ) -> Result<Vec<InboxItem>, KernelError> {
        let parents: HashMap<TurnId, Option<TurnId>> =
            open.iter().map(|item| (item.turn_id, item.parent_turn)).collect();
        let mut is_below = HashMap::from([(turn, true)]);
        let mut found = vec![];
        for item in open {
            if self.climb(project, item.turn_id, &parents, &mut is_below).await? {
                found.push(item);
            }
        }
        Ok(found)
    }

    /// Whether a way up from a turn comes to one that is known to be below. Remembers what it finds on the way.
    async fn climb(
        &self,
        project: &ProjectId,
        from: TurnId,
        parents: &HashMap<TurnId, Option<TurnId>>,
        is_below: &mut HashMap<TurnId, bool>,
    ) -> Result<bool, KernelError> {
        let (mut way, mut next) = (vec![], Some(from));
        let answer = loop {
            let Some(turn) = next else { break false };
            if let Some(answer) = is_below.get(&turn) {
                break *answer;
            }
            way.push(turn);
            // A way that comes back to itself leads nowhere.
            is_below.insert(turn, false);
            next = match parents.get(&turn) {
                Some(parent) => *parent,
                None => self.store.turn(project, turn).await?.and_then(|row| row.parent_turn),
            };
        };
        is_below.extend(way.into_iter().map(|turn| (turn, answer)));
        Ok(answer)
    }
}
