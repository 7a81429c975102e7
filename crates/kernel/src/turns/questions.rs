//! What people are asked by a turn and everything below it (PR-10).

use crate::{Kernel, KernelError};
use cardwire_model::{AgentId, Head, InboxItem, InboxStatus, ProjectId, TurnId, limits};
use cardwire_protocol::turn::question::{self, Question};
use cardwire_store::RowFilter;
use futures_util::{StreamExt, TryStreamExt, stream};

/// How many of the turns that were sent last are looked at before all that are open are read.
const SENT_LAST: usize = 8;
/// Turns that are looked at side by side.
const AT_ONCE: usize = 4;

impl Kernel {
    /// Everything that people are asked, oldest turn first.
    pub async fn questions(&self, project: &ProjectId, turn: TurnId) -> Result<Vec<Question>, KernelError> {
        let open = self.open_below(project, turn).await?;
        let asked = stream::iter(open).map(|item| self.asked_while_waiting(project, item));
        asked.buffered(AT_ONCE).try_concat().await
    }

    /// What people are asked by all turns of a project, by agent, after that of an agent: at least as many questions as are
    /// wanted, if there are any left, and all of a turn together. With them the agent whose turn was looked at last, if there
    /// may be more.
    pub async fn open_questions(
        &self,
        project: &ProjectId,
        mut after: Option<AgentId>,
        limit: usize,
    ) -> Result<(Vec<Question>, Option<AgentId>), KernelError> {
        let mut asked = vec![];
        loop {
            let place = after.map(|agent| (project.clone(), agent));
            let waits = |head: &Head, item: &InboxItem| question::waits(item, Some(head));
            let page = self.live_turns(Some(project), place, limits::PAGE_MAX, waits).await?;
            for live in page.turns {
                asked.extend(self.asked_by(project, &live.item).await?);
                if asked.len() >= limit {
                    return Ok((asked, Some(live.head.agent_id)));
                }
            }
            match page.next {
                Some((_, agent)) => after = Some(agent),
                None => return Ok((asked, None)),
            }
        }
    }

    /// What people are asked by a turn where nothing goes on until somebody answers: nobody is at work.
    pub async fn pause(
        &self,
        project: &ProjectId,
        turn: TurnId,
    ) -> Result<Option<Vec<Question>>, KernelError> {
        if self.is_at_work(project, turn).await? {
            return Ok(None);
        }
        let (mut questions, open) = (vec![], self.open_below(project, turn).await?);
        // Those who were sent last are most likely to be at work.
        for item in open.iter().rev() {
            if !self.waits(project, item).await? {
                return Ok(None);
            }
            questions.push(self.asked_by(project, item).await?);
        }
        let questions: Vec<_> = questions.into_iter().rev().flatten().collect();
        Ok((!questions.is_empty()).then_some(questions))
    }

    /// Whether one of those below the turn that were sent last goes on by itself. So it is in most runs most of the time, and a
    /// few rows tell it, however many turns are open.
    async fn is_at_work(&self, project: &ProjectId, turn: TurnId) -> Result<bool, KernelError> {
        let Some(trace_id) = self.turn_row(project, turn).await?.trace_id else { return Ok(false) };
        for status in [InboxStatus::Processing, InboxStatus::Pending] {
            let rows = RowFilter {
                trace_id: Some(trace_id.clone()),
                inbox_status: Some(status),
                turns_only: true,
                ..RowFilter::default()
            };
            let sent_last = self.store.inbox(project, &rows, None, SENT_LAST).await?;
            for item in self.below(project, turn, sent_last).await? {
                if !self.waits(project, &item).await? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    async fn asked_while_waiting(
        &self,
        project: &ProjectId,
        item: InboxItem,
    ) -> Result<Vec<Question>, KernelError> {
        if self.waits(project, &item).await? { self.asked_by(project, &item).await } else { Ok(vec![]) }
    }

    async fn waits(&self, project: &ProjectId, item: &InboxItem) -> Result<bool, KernelError> {
        // One that is queued has a head at another turn.
        if item.status == InboxStatus::Queued {
            return Ok(false);
        }
        Ok(question::waits(item, self.store.head(project, &item.agent_id).await?.as_ref()))
    }

    async fn asked_by(&self, project: &ProjectId, item: &InboxItem) -> Result<Vec<Question>, KernelError> {
        let Some(epoch) = item.epoch else { return Ok(vec![]) };
        let calls = self.store.calls(project, item.turn_id).await?;
        let mut questions = vec![];
        for call in calls.iter().filter(|call| call.waiting && call.answer.is_none()) {
            let Some(id) = call.call_card else { continue };
            let cards = self.get_cards(project, &[id], false).await?;
            questions.extend(cards.first().and_then(|card| question::asked(call, card, epoch)));
        }
        Ok(questions)
    }
}
