//! What the answer to a tool call needs besides the rows of its turn: the tool's own word on what comes after, and what
//! the card says that is named as the answer (WK-08, DP-16).

use crate::{Kernel, KernelError};
use cardwire_model::{CardId, ProjectId, ResourceKind, ResourceName};
use cardwire_protocol::{
    Rejection,
    resource::tool::Tool,
    turn::{
        append::called,
        report::{AfterExecution, Report, status_of},
    },
};

impl Kernel {
    /// Reads it into the report, whose calls are known.
    pub(super) async fn load_answer(
        &self,
        project: &ProjectId,
        report: &mut Report,
    ) -> Result<(), KernelError> {
        report.card_status = match report.answer.card_id() {
            Some(id) => self.get_cards(project, &[id], false).await?.pop().and_then(|card| status_of(&card)),
            None => None,
        };
        report.tool_after = match report.asks_tool() {
            Some(card) => self.tool_after(project, card, &report.tool_call_id).await?,
            None => None,
        };
        Ok(())
    }

    /// What the tool of a call does to the turn. A call of what the project does not have as a tool says nothing.
    async fn tool_after(
        &self,
        project: &ProjectId,
        call_card: CardId,
        call: &str,
    ) -> Result<Option<AfterExecution>, KernelError> {
        let card = self.get_cards(project, &[call_card], true).await?.pop();
        let name = card.and_then(|card| called(&card, call)).map(|(tool, _)| tool);
        let Some(name) = name.and_then(|name| name.parse::<ResourceName>().ok()) else { return Ok(None) };
        match self.resource(project, ResourceKind::Tool, &name).await {
            Ok((_, document)) => Ok(Tool::parse(&document.content).ok().map(|tool| tool.after_execution)),
            Err(KernelError::Rejected(Rejection::NotFound { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
