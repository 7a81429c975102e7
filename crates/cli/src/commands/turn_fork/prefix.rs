//! What of a turn a fork takes over (RP-06): the cards that were there before the call that is made anew.

use super::{At, Fork, card_get, moment};
use crate::failure::Failure;
use cardwire_kernel::protocol::turn::forked;
use cardwire_model::{CanonicalJson, CardId, StepId, Timestamp};
use serde_json::Value;

/// What a turn had before one of its calls.
pub(super) struct Prefix {
    /// The number of that call, from 1.
    pub(super) at: usize,
    /// The cards that were in its output box.
    pub(super) cards: Vec<String>,
    /// How many of them were there before the turn itself began.
    pub(super) watermark: usize,
    /// When it had said the last of them, if it had said anything.
    pub(super) after: Option<Timestamp>,
    /// When it said what came of the call, or ended; none while it has done neither.
    pub(super) until: Option<Timestamp>,
}

/// A card that the turn wrote, and its place in the box.
struct Own {
    place: usize,
    card: Value,
}

impl Fork<'_> {
    /// What was before the call that is made anew.
    pub(super) async fn prefix(&self, original: &Value) -> Result<Prefix, Failure> {
        let mut ids = self.cards_of(original["output_box_id"].as_str().unwrap_or_default()).await?;
        // What a later turn wrote to the same box is no part of this one.
        ids.truncate(number(&original["output_len"]).unwrap_or(ids.len()));
        // A turn that was never leased has written nothing: all there is was there before it.
        let leased = number(&original["watermark"]).unwrap_or(ids.len()).min(ids.len());
        let own = self.own_cards(&ids, leased).await?;
        let of_kind = |kind: &'static str| own.iter().filter(move |own| own.card["type"] == kind);
        let thoughts: Vec<_> = of_kind("agent.thought").collect();
        let at = match &self.args.at {
            At::Call(number) => *number,
            At::Step(step) => {
                let said = thoughts.iter().filter_map(|own| moment(&own.card["created_at"]));
                forked::number_of(self.called_at(step).await?, said)
            }
        };
        let wanted = match at.checked_sub(1) {
            Some(index) if index < thoughts.len() => thoughts.get(index).copied(),
            Some(index) if index == thoughts.len() => of_kind("task.deliverable").next(),
            Some(_) | None => {
                let most = thoughts.len() + 1;
                return Err(Failure::usage(format!(
                    "`--at` must be 1 to {most}: the turn made so many calls"
                )));
            }
        };
        let upto = wanted.map_or(ids.len(), |own| own.place);
        let before = at.checked_sub(2).and_then(|index| thoughts.get(index));
        Ok(Prefix {
            at,
            watermark: older(original, leased).min(upto),
            after: before.and_then(|own| moment(&own.card["created_at"])),
            until: moment(wanted.map_or(&original["ended_at"], |own| &own.card["created_at"])),
            cards: ids.into_iter().take(upto).collect(),
        })
    }

    /// When a step of the turn called a model.
    async fn called_at(&self, step: &StepId) -> Result<Timestamp, Failure> {
        let mut next = None::<String>;
        loop {
            let route = self.route(&["state", "steps"])?.query("agent_turn_id", Some(&self.turn));
            let page = self.page(route, next.as_deref()).await?;
            let mut items = page["items"].as_array().into_iter().flatten();
            if let Some(found) = items.find(|item| item["step_id"] == step.as_str()) {
                // A summary is asked for beside the calls that the turn goes on with.
                let is_call = found["call_id"].is_string() && found["phase"] != "summary";
                let made = moment(&found["created_at"]).filter(|_| is_call);
                return made
                    .ok_or_else(|| Failure::usage(format!("`--at`: step {step} is no call of a model")));
            }
            next = page["next_cursor"].as_str().map(str::to_owned);
            if next.is_none() {
                let turn = &self.turn;
                return Err(Failure::not_found(format!("`--at`: step {step} is not one of turn {turn}"))
                    .hint(format!("`cardwire turn steps {turn} --project {}` lists them", self.project)));
            }
        }
    }

    /// The cards of a box from a place on, in order. A worker need not say in a card which turn wrote it.
    async fn own_cards(&self, ids: &[String], from: usize) -> Result<Vec<Own>, Failure> {
        let own = ids.iter().skip(from).map(|id| id.parse()).collect::<Result<Vec<CardId>, _>>()?;
        let mut found = card_get::read(&own, self.project, self.client).await?;
        let mut cards = vec![];
        for (index, id) in own.iter().enumerate() {
            let Some(card) = found.remove(id) else { continue };
            let card = serde_json::from_str(card.get());
            let card = card.map_err(|error| Failure::failed(format!("the server sent no card: {error}")))?;
            cards.push(Own { place: from + index, card });
        }
        Ok(cards)
    }
}

/// How many cards the turn takes for older than itself: a fork of a fork begins where the first turn began.
fn older(original: &Value, leased: usize) -> usize {
    let settings = CanonicalJson::from_value(&original["runtime_config"]);
    let settings = settings.unwrap_or_else(|_| CanonicalJson::empty_object());
    let leased = u32::try_from(leased).unwrap_or(u32::MAX);
    forked::watermark(&settings, leased) as usize
}

fn number(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|number| usize::try_from(number).ok())
}
