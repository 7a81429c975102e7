//! What changed between two calls (RP-03), why a card is in one or not (RP-04), and what a summary stands for.

use super::render::ExpandedCall;
use crate::{Kernel, KernelError, sessions::Wanted};
use cardwire_context::{
    compaction,
    diff::{self, Diff, DiffEntry},
    tokens::Tokenizer,
    why::{self, Facts, Why, Written},
};
use cardwire_model::{
    Card, CardId, Cause, Checkpoint, Layer, Omission, ProjectId, Segment, SessionKey, Source, Timestamp,
    TurnId, limits, session,
};
use cardwire_protocol::{Rejection, session::compact, turn::view};
use cardwire_store::RowFilter;
use serde_json::Value;
use std::sync::Arc;

/// One side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// A call.
    Call(CardId),
    /// The last call of a turn, or what the turn sees if it made none.
    Turn(TurnId),
}

/// Why a card is in a call, or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhyAnswer {
    /// The call.
    pub call_id: CardId,
    /// The card.
    pub card_id: CardId,
    /// The answer.
    pub why: Why,
}

impl Kernel {
    /// Compares two calls, turns, or one with the other.
    pub async fn diff_context(
        &self,
        project: &ProjectId,
        left: Side,
        right: Side,
    ) -> Result<Diff, KernelError> {
        let left = self.side(project, left).await?;
        let right = self.side(project, right).await?;
        let bytes = (left.len() + right.len()) * size_of::<DiffEntry>();
        self.compute(Some(project), bytes, move |_| diff::diff(&left, &right)).await
    }

    async fn side(&self, project: &ProjectId, side: Side) -> Result<Vec<DiffEntry>, KernelError> {
        let call = match side {
            Side::Call(call) => Some(call),
            Side::Turn(turn) => {
                self.turn_row(project, turn).await?;
                self.last_call(project, turn).await?.map(|(call, _)| call)
            }
        };
        if let Some(call) = call {
            let ExpandedCall { entries, .. } = self.call(project, call).await?;
            let entry = |entry: &super::render::CallEntry| DiffEntry {
                layer: entry.layer,
                card_id: entry.card_id,
                tokens: entry.tokens,
            };
            return Ok(entries.iter().map(entry).collect());
        }
        let Side::Turn(turn) = side else { return Ok(vec![]) };
        let material = self.material(project, self.turn(project, turn).await?, true).await?;
        let now = self.now();
        let shown = material
            .placed
            .iter()
            .filter(|placed| placed.card.is_visible(now) && view::is_message(&placed.card.kind));
        let entry = |placed: &super::pieces::Placed| DiffEntry {
            layer: placed.layer,
            card_id: placed.card.id,
            tokens: Tokenizer::Estimate.count_card(&placed.card),
        };
        Ok(shown.map(entry).collect())
    }

    /// The last call that a turn made, and how many cards it had written by then.
    pub(crate) async fn last_call(
        &self,
        project: &ProjectId,
        turn: TurnId,
    ) -> Result<Option<(CardId, u32)>, KernelError> {
        let filter = RowFilter { turn_id: Some(turn), ..RowFilter::default() };
        let steps = self.store.steps(project, &filter, None, limits::PAGE_MAX).await?;
        Ok(steps.iter().find_map(|step| Some((step.call_id.as_deref()?.parse().ok()?, step.output_len))))
    }

    /// Why a card is in a call, or not.
    pub async fn why(
        &self,
        project: &ProjectId,
        call_id: CardId,
        card_id: CardId,
    ) -> Result<WhyAnswer, KernelError> {
        let call = self.call(project, call_id).await?;
        let card = self.get_cards(project, &[card_id], true).await?.pop();
        let entry = call.entries.iter().find(|entry| entry.card_id == card_id);
        let tokenizer = Tokenizer::from_name(&call.manifest.tokenizer).unwrap_or(Tokenizer::Estimate);
        let mut facts = Facts {
            in_entries: entry.map(|entry| (entry.layer, entry.cause)),
            omitted: self.omitted(project, &call.manifest.omissions, card_id).await?,
            repaired: call.manifest.repairs.iter().any(|repair| repair.added == card_id),
            card_exists: card.is_some(),
            tokens: match entry {
                Some(entry) => entry.tokens,
                None => card.as_ref().map_or(0, |card| self.counts.card(tokenizer, card)),
            },
            ..Facts::default()
        };
        if let Some(card) = card.filter(|_| facts.in_entries.is_none() && facts.omitted.is_none()) {
            self.look_further(project, &call, &card, &mut facts).await?;
        }
        let missing = || Rejection::NotFound { what: "card", id: card_id.to_string() };
        Ok(WhyAnswer { call_id, card_id, why: why::why(&facts).ok_or_else(missing)? })
    }

    /// What the turn, its session and its grants say of a card that the manifest does not mention.
    async fn look_further(
        &self,
        project: &ProjectId,
        call: &ExpandedCall,
        card: &Arc<Card>,
        facts: &mut Facts,
    ) -> Result<(), KernelError> {
        let (at, turn) = (call.manifest.at, call.manifest.turn_id);
        facts.visible = card.deleted_at.is_none_or(|deleted| at < deleted)
            && card.expires_at.is_none_or(|expires| at < expires);
        facts.is_message_kind = view::is_message(&card.kind);
        let material = self.material(project, self.turn(project, turn).await?, true).await?;
        if let Some(placed) = material.by_id().get(&card.id) {
            let step = self.store.step(project, &call.manifest.step_id).await?;
            let end = step.map_or(u32::MAX, |step| step.output_len);
            match placed.cause {
                Cause::Memory => facts.in_memory = card.created_at <= at,
                Cause::Own | Cause::History => {
                    let before = placed.place.index < end;
                    facts.in_output_box = Some(if before { Written::Before } else { Written::After });
                }
                Cause::Profile
                | Cause::Collected
                | Cause::Context
                | Cause::Instruction
                | Cause::Repair
                | Cause::Budget
                | Cause::Compacted
                | Cause::Empty
                | Cause::Expired
                | Cause::NotAMessage
                | Cause::NotShared
                | Cause::NotVisible
                | Cause::NotGranted => facts.in_context_box = true,
            }
        }
        if let Some(read) = &material.session {
            let summary = match call.manifest.session {
                Some(seen) => self.read_session(project, read.key.clone(), Some(seen)).await?.summary(),
                None => self.summary_at(project, &read.key, at).await?,
            };
            facts.covered_by_summary = self.is_covered(project, summary, card.id).await?;
        }
        facts.granted_box = self.was_granted(project, &call.manifest.agent_id, card.id).await?;
        Ok(())
    }

    /// Whether a summary, or one before it, stands for a card.
    async fn is_covered(
        &self,
        project: &ProjectId,
        summary: Option<CardId>,
        card: CardId,
    ) -> Result<bool, KernelError> {
        for Opened { reach, covers } in self.opened(project, summary).await? {
            let ids = self.reach_ids(project, Some(reach)).await?;
            let ranges = ranges_of(&covers, ids.len());
            if compaction::indices(&ranges).any(|place| ids.get(place) == Some(&card)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The summary that a session had at a moment, for a call that does not tell which version it saw: since then the
    /// summary may have been cleared, or put back to an older one.
    async fn summary_at(
        &self,
        project: &ProjectId,
        key: &SessionKey,
        at: Timestamp,
    ) -> Result<Option<CardId>, KernelError> {
        let row = self.session_state(project, key, Wanted::Row, false).await?.row;
        let mut next = row.filter(|row| row.deleted_at.is_none()).map(|row| row.checkpoint);
        for _ in 0..limits::EXPLAINED_VERSIONS {
            let Some(id) = next else { break };
            let card = self.own_card(project, id).await?;
            let Some(checkpoint) = Checkpoint::from_json(&card.content, key) else { break };
            if card.created_at <= at {
                return Ok(checkpoint.summary);
            }
            next = checkpoint.previous;
        }
        Ok(None)
    }

    /// The layer and reason of a card that the manifest says was left out.
    async fn omitted(
        &self,
        project: &ProjectId,
        omissions: &[Omission],
        card: CardId,
    ) -> Result<Option<(Layer, Cause)>, KernelError> {
        for omission in omissions {
            let found = match &omission.source {
                None => false,
                Some(Source::Block(id) | Source::Card(id)) => *id == card,
                Some(Source::Stretch(stretch)) => {
                    let reach =
                        Segment { box_id: stretch.box_id, generation: stretch.generation, len: stretch.to };
                    let ids = self.reach_ids(project, Some(reach)).await?;
                    ids.iter().skip(stretch.from as usize).any(|id| *id == card)
                }
            };
            if found {
                return Ok(Some((omission.layer, omission.cause)));
            }
        }
        Ok(None)
    }

    /// What a summary stands for: the summary's text, and the cards it covers, with those of the summaries before it.
    pub async fn expand_summary(
        &self,
        project: &ProjectId,
        summary: CardId,
    ) -> Result<(String, Vec<Arc<Card>>), KernelError> {
        let missing = || Rejection::NotFound { what: "summary", id: summary.to_string() };
        let card = self.get_cards(project, &[summary], false).await?.pop().ok_or_else(missing)?;
        if card.kind.as_str() != compact::KIND {
            return Err(missing().into());
        }
        let text = card.content.to_value()["summary"].as_str().unwrap_or_default().to_owned();
        Ok((text, self.covered(project, Some(summary)).await?))
    }

    async fn covered(
        &self,
        project: &ProjectId,
        summary: Option<CardId>,
    ) -> Result<Vec<Arc<Card>>, KernelError> {
        let mut layers = vec![];
        for Opened { reach, covers } in self.opened(project, summary).await? {
            let cards = self.reach_cards(project, Some(reach)).await?;
            let ranges = ranges_of(&covers, cards.len());
            let now = self.now();
            let shown = compaction::indices(&ranges).filter_map(|place| cards.get(place).cloned());
            layers.push(shown.filter(|card| card.is_visible(now)).collect::<Vec<_>>());
        }
        Ok(layers.into_iter().rev().flatten().collect())
    }

    /// What a summary and those before it stand for, newest first.
    async fn opened(&self, project: &ProjectId, summary: Option<CardId>) -> Result<Vec<Opened>, KernelError> {
        let (mut next, mut opened) = (summary, vec![]);
        for _ in 0..limits::OPENED_SUMMARIES {
            let Some(id) = next else { break };
            let mut content = self.own_card(project, id).await?.content.to_value();
            next = content["previous"].as_str().and_then(|id| id.parse().ok());
            // One that was set by hand stands for nothing but the one before it.
            if let Some(reach) = session::reach_from_json(&content["box"]) {
                opened.push(Opened { reach, covers: content["covers"].take() });
            }
        }
        Ok(opened)
    }
}

/// What one summary stands for: these places of a box.
struct Opened {
    reach: Segment,
    covers: Value,
}

/// The places, as far as there are cards.
fn ranges_of(covers: &Value, len: usize) -> Vec<(u32, u32)> {
    let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number.min(len as u64)).ok());
    let range = |range: &Value| Some((number(range.get(0)?)?, number(range.get(1)?)?));
    covers.as_array().into_iter().flatten().filter_map(range).collect()
}
