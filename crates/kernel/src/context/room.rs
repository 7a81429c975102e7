//! How much of its window a turn has left (OB-03).

use crate::{Kernel, KernelError};
use cardwire_context::fit;
use cardwire_model::{Card, Live, ProjectId};
use cardwire_protocol::turn::view;
use serde_json::Value;
use std::sync::Arc;

impl Kernel {
    /// Tokens that the next request of a turn can take beside what it would show now. Nothing if its profile does not tell
    /// how much its model takes.
    pub(crate) async fn room_left(
        &self,
        project: &ProjectId,
        live: &Live,
    ) -> Result<Option<u64>, KernelError> {
        let profile = self.box_cards(project, live.profile_box).await?.cards;
        let card = view::profile(profile.iter(), self.now());
        let config = card.map_or(Value::Null, |card| card.content.to_value()["llm_config"].take());
        let number = |name: &str| config.get(name)?.as_u64().and_then(|number| u32::try_from(number).ok());
        let Some(window) = number("context_window") else { return Ok(None) };
        let taken = self.room_taken(project, live, &profile).await?;
        Ok(Some(fit::left(window, number("reserve"), taken)))
    }

    /// What its last request had, with the tools that it named, and what it has written since; of one that has not asked for
    /// any, all that it was given and has written.
    async fn room_taken(
        &self,
        project: &ProjectId,
        live: &Live,
        profile: &[Arc<Card>],
    ) -> Result<u64, KernelError> {
        let written = self.box_cards(project, live.output_box).await?.cards;
        if let Some((call, seen)) = self.last_call(project, live.turn_id).await? {
            let sent = self.call_manifest(project, call).await?.total_tokens;
            let since = written.get(seen as usize..).unwrap_or_default();
            return Ok(u64::from(sent) + tokens(since));
        }
        let given = self.box_cards(project, live.context_box).await?.cards;
        Ok(tokens(profile) + tokens(&given) + tokens(&written))
    }
}

fn tokens(cards: &[Arc<Card>]) -> u64 {
    cards.iter().map(|card| u64::from(card.tokens)).sum()
}
