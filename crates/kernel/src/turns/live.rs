//! Live turns of one project or of all, found along the index of heads that are not idle: what has ended costs nothing here.

use crate::{Kernel, KernelError, measure::EVERYTHING};
use cardwire_model::{AgentId, Head, InboxItem, ProjectId, limits};

/// The first name that an agent can have, in the order of the index.
const FIRST: &str = "-";

/// A turn that is the live one of its agent.
#[derive(Debug, Clone)]
pub struct LiveTurn {
    /// Whose.
    pub project: ProjectId,
    /// The head of its agent.
    pub head: Head,
    /// Its row.
    pub item: InboxItem,
}

/// A page of live turns, by project and agent.
#[derive(Debug, Default)]
pub struct LiveTurns {
    /// Those that are wanted.
    pub turns: Vec<LiveTurn>,
    /// Where the next page begins, if there may be one.
    pub next: Option<(ProjectId, AgentId)>,
}

impl Kernel {
    /// Live turns of one project, or of all that are not deleted, after a place. A page may come out short, but then with the
    /// place to go on from.
    pub async fn live_turns(
        &self,
        project: Option<&ProjectId>,
        after: Option<(ProjectId, AgentId)>,
        limit: usize,
        wants: impl Fn(&Head, &InboxItem) -> bool + Send,
    ) -> Result<LiveTurns, KernelError> {
        let mut found = LiveTurns::default();
        let mut after = match (after, project) {
            (Some(after), _) => Some(after),
            // A place lies behind a head, and nothing lies before the first.
            (None, Some(project)) => {
                let first: AgentId = FIRST.parse()?;
                if let Some(head) = self.store.head(project, &first).await?
                    && let Some(live) = &head.live
                    && let Some(item) = self.store.turn(project, live.turn_id).await?
                    && wants(&head, &item)
                {
                    found.turns.push(LiveTurn { project: project.clone(), head, item });
                }
                Some((project.clone(), first))
            }
            (None, None) => None,
        };
        for _ in 0..limits::MEASURED_PAGES {
            let page = self.store.due_heads(&EVERYTHING, after.as_ref(), limits::WATCHDOG_PAGE).await?;
            let is_last = page.len() < limits::WATCHDOG_PAGE;
            for watched in page {
                if project.is_some_and(|only| *only != watched.project) {
                    return Ok(found);
                }
                let Some(head) = watched.head else { continue };
                after = Some((watched.project.clone(), head.agent_id.clone()));
                let Some(item) = watched.item.filter(|item| head.live.is_some() && wants(&head, item)) else {
                    continue;
                };
                match self.live_project(&watched.project).await {
                    Ok(_) => found.turns.push(LiveTurn { project: watched.project, head, item }),
                    Err(KernelError::Rejected(_)) => continue,
                    Err(error) => return Err(error),
                }
                if found.turns.len() >= limit {
                    found.next = after;
                    return Ok(found);
                }
            }
            if is_last {
                return Ok(found);
            }
        }
        found.next = after;
        Ok(found)
    }
}
