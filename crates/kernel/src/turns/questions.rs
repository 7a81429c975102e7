//! What people are asked by a turn and everything below it (PR-10).

use crate::{Kernel, KernelError};
use cardwire_model::{InboxItem, InboxStatus, ProjectId, TurnId};
use cardwire_protocol::turn::question::{self, Question};

impl Kernel {
    /// Everything that people are asked, oldest turn first.
    pub async fn questions(&self, project: &ProjectId, turn: TurnId) -> Result<Vec<Question>, KernelError> {
        let mut questions = vec![];
        for item in self.open_below(project, turn).await? {
            if self.waits(project, &item).await? {
                questions.extend(self.asked_by(project, &item).await?);
            }
        }
        Ok(questions)
    }

    /// The same where nothing goes on until somebody answers: nobody is at work.
    pub async fn pause(
        &self,
        project: &ProjectId,
        turn: TurnId,
    ) -> Result<Option<Vec<Question>>, KernelError> {
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
