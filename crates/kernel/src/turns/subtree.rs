//! A turn, or several, and everything below them. All are of one trace.

use crate::{Kernel, KernelError};
use cardwire_model::{InboxItem, Invalid, ProjectId, TurnId, limits};
use cardwire_store::RowFilter;
use std::collections::HashSet;

impl Kernel {
    /// What is wanted of each turn of the trace that is one of `roots` or below one of them, oldest first.
    pub(crate) async fn subtree<T>(
        &self,
        project: &ProjectId,
        roots: impl IntoIterator<Item = TurnId>,
        trace: Option<String>,
        wanted: impl Fn(InboxItem) -> T + Send,
    ) -> Result<Vec<(TurnId, T)>, KernelError>
    where
        T: Send,
    {
        let rows = RowFilter { trace_id: trace, turns_only: true, ..RowFilter::default() };
        let (mut before, mut found) = (None, vec![]);
        loop {
            let page = self.store.inbox(project, &rows, before, limits::PAGE_MAX).await?;
            before = page.last().map(|item| item.seq);
            let is_last = page.len() < limits::PAGE_MAX;
            found.extend(page.into_iter().map(|item| (item.turn_id, item.parent_turn, wanted(item))));
            Invalid::check_size("filter", found.len(), limits::COST_STEPS, "turns")?;
            if is_last {
                break;
            }
        }
        let mut inside: HashSet<TurnId> = roots.into_iter().collect();
        // Oldest first: a turn is made after its parent.
        found.reverse();
        found.retain(|(turn, parent, _)| {
            if parent.is_some_and(|parent| inside.contains(&parent)) {
                inside.insert(*turn);
            }
            inside.contains(turn)
        });
        Ok(found.into_iter().map(|(turn, _, wanted)| (turn, wanted)).collect())
    }
}
