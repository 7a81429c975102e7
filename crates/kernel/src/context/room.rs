//! How much of its window a turn has left (OB-03).

use crate::{Kernel, KernelError};
use cardwire_context::{fit, tokens::Tokenizer};
use cardwire_model::{Card, Live, ProjectId};
use cardwire_protocol::turn::view;
use serde_json::Value;
use std::sync::Arc;

/// What a turn has left.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// Tokens that its next request can take beside what it would show now.
    pub(crate) left: u64,
    /// The same if all that a request may leave out were left out. Of a turn that has made one: nobody knows that others will.
    pub(crate) at_most: Option<u64>,
    /// What counts them.
    pub(crate) tokenizer: Tokenizer,
}

impl Kernel {
    /// Nothing if its profile does not tell how much its model takes.
    pub(crate) async fn room_left(
        &self,
        project: &ProjectId,
        live: &Live,
    ) -> Result<Option<Room>, KernelError> {
        let profile = self.box_cards(project, live.profile_box).await?.cards;
        let card = view::profile(profile.iter(), self.now());
        let config = card.map_or(Value::Null, |card| card.content.to_value()["llm_config"].take());
        let number = |name: &str| config.get(name)?.as_u64().and_then(|number| u32::try_from(number).ok());
        let Some(window) = number("context_window") else { return Ok(None) };
        let tokens = |tokenizer, cards: &[Arc<Card>]| -> u64 {
            cards.iter().map(|card| u64::from(self.counts.card(tokenizer, card))).sum()
        };
        let own = Tokenizer::for_model(config.get("model").and_then(Value::as_str).unwrap_or_default());
        let written = self.box_cards(project, live.output_box).await?.cards;
        self.count_ahead(project, own, written.iter().map(|card| &**card)).await?;
        if let Some((call, seen)) = self.last_call(project, live.turn_id).await? {
            // What its last request had, with the tools that it named, and what it has written since, as that request counted
            // and under its limits.
            let manifest = self.call_manifest(project, call).await?;
            let tokenizer = Tokenizer::from_name(&manifest.tokenizer).unwrap_or(own);
            let since = tokens(tokenizer, written.get(seen as usize..).unwrap_or_default());
            let sent = u64::from(manifest.total_tokens);
            let left = |sent: u64| {
                fit::left(manifest.window.unwrap_or(window), Some(manifest.reserve), sent + since)
            };
            let at_most = left(sent.saturating_sub(fit::droppable(&manifest.entries)));
            return Ok(Some(Room { left: left(sent), at_most: Some(at_most), tokenizer }));
        }
        // All that it was given and has written.
        let given = self.box_cards(project, live.context_box).await?.cards;
        self.count_ahead(project, own, given.iter().map(|card| &**card)).await?;
        let taken = tokens(own, &profile) + tokens(own, &given) + tokens(own, &written);
        let left = fit::left(window, number("reserve"), taken);
        Ok(Some(Room { left, at_most: None, tokenizer: own }))
    }
}
