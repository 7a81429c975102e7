//! What is on record of a turn (RP-05): the cards it wrote, the calls of a model that it made, and what came of each. A worker
//! in any language may have run it: only what every worker leaves is asked for.

use crate::{compact::COMPACTED, desk::Desk, transcript::kind, trouble::Trouble};
use cardwire_model::Timestamp;
use serde_json::Value;
use std::collections::HashSet;

/// The record of a turn that has ended.
pub(super) struct Record {
    /// What the turn wrote, in order, without what is made of its end.
    pub(super) cards: Vec<Value>,
    /// The steps whose calls of a model were answered, in order.
    pub(super) steps: Vec<Value>,
    /// The last call was never answered: the turn was ended by somebody else.
    is_open: bool,
}

impl Record {
    pub(super) async fn of(desk: &Desk, turn: &Value) -> Result<Self, Trouble> {
        let box_id = &desk.lease.output_box_id;
        let shown = desk.get(&format!("/boxes/{box_id}")).await?;
        let cards = own_of(desk.all_cards(box_id).await?, &own_ids(&shown["card_ids"], turn));
        let id = &desk.lease.agent_turn_id;
        let (mut steps, mut cursor) = (vec![], String::new());
        loop {
            let page = desk.get(&format!("/state/steps?agent_turn_id={id}&limit=500{cursor}")).await?;
            steps.extend(page["items"].as_array().into_iter().flatten().cloned());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        steps.reverse();
        let (steps, is_open) = answered(steps, &cards, turn["status"] == "success");
        Ok(Self { cards, steps, is_open })
    }

    /// Whether the model has said more than its calls tell: whoever ran the turn asked it in another way.
    pub(super) fn has_other_answers(&self) -> bool {
        let done = self.steps.iter().filter(|step| step["status"] != "failed").count();
        self.cards.iter().filter(|card| kind(card) == "agent.thought").count() > done
    }

    /// Whether the record ends before the turn did, for a turn that asks its model so many times.
    pub(super) fn ends_before(&self, asked: usize) -> bool {
        asked > self.steps.len() && (self.steps.is_empty() || self.is_open)
    }
}

/// The cards of an output box that came with the turn: not what was there before it, nor what later turns wrote.
fn own_ids<'a>(card_ids: &'a Value, turn: &Value) -> HashSet<&'a str> {
    let place = |name: &str| turn[name].as_u64().and_then(|number| usize::try_from(number).ok());
    let (Some(from), Some(to)) = (place("watermark"), place("output_len")) else { return HashSet::new() };
    let ids = card_ids.as_array().map(Vec::as_slice).unwrap_or_default();
    ids.iter().take(to).skip(from).filter_map(Value::as_str).collect()
}

/// Those among the cards of a box. Not every card tells which turn it is of.
fn own_of(cards: Vec<Value>, own: &HashSet<&str>) -> Vec<Value> {
    let is_own = |card: &Value| card["card_id"].as_str().is_some_and(|id| own.contains(id));
    let ends = |card: &Value| matches!(kind(card), "task.deliverable" | "agent.error");
    cards.into_iter().filter(|card| is_own(card) && !ends(card)).collect()
}

/// The steps whose calls of a model were answered, and whether the last call was not. All are in order.
fn answered(mut steps: Vec<Value>, cards: &[Value], is_success: bool) -> (Vec<Value>, bool) {
    steps.retain(|step| {
        step["phase"] == "call" && (step["status"].is_string() || step["call_id"].is_string())
    });
    let said: Vec<_> =
        cards.iter().filter(|card| kind(card) == "agent.thought").filter_map(made_at).collect();
    let is_answered = |index: usize, step: &Value| {
        let next = steps.get(index + 1);
        step["status"].is_string() || went_on(step, next, &said) || (next.is_none() && is_success)
    };
    let answered: Vec<_> = steps.iter().enumerate().map(|(index, step)| is_answered(index, step)).collect();
    let is_open = answered.last() == Some(&false);
    // A call whose worker went down before it was answered was made again.
    let mut answered = answered.into_iter();
    steps.retain(|_| answered.next() == Some(true));
    // One that was composed anew before it was sent has no answer.
    steps.retain(|step| step["metadata"]["error"] != COMPACTED);
    // One that was too long was composed anew, and only the one that ended the turn is an answer.
    let last = steps.len().saturating_sub(1);
    let mut place = 0;
    steps.retain(|step| {
        place += 1;
        step["status"] != "failed" || place > last
    });
    (steps, is_open)
}

/// Whether the turn has said something between a call and the next one. A worker need not tell how its calls ended.
fn went_on(step: &Value, next: Option<&Value>, said: &[Timestamp]) -> bool {
    let Some(made) = made_at(step) else { return false };
    let until = next.and_then(made_at);
    said.iter().any(|said| made <= *said && until.is_none_or(|until| *said <= until))
}

fn made_at(value: &Value) -> Option<Timestamp> {
    value["created_at"].as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(second: u32) -> String {
        format!("2026-01-01T00:00:{second:02}Z")
    }

    fn call(second: u32, status: Option<&str>) -> Value {
        json!({ "phase": "call", "call_id": format!("call_{second}"), "status": status, "created_at": at(second) })
    }

    fn thought(second: u32) -> Value {
        json!({ "type": "agent.thought", "created_at": at(second) })
    }

    /// Which calls count, by when they were made, and whether the last one was left without an answer.
    fn counted(steps: &[Value], said: &[u32], is_success: bool) -> (Vec<String>, bool) {
        let cards: Vec<_> = said.iter().map(|second| thought(*second)).collect();
        let (steps, is_open) = answered(steps.to_vec(), &cards, is_success);
        (steps.iter().map(|step| step["call_id"].as_str().unwrap().to_owned()).collect(), is_open)
    }

    fn named(seconds: &[u32]) -> Vec<String> {
        seconds.iter().map(|second| format!("call_{second}")).collect()
    }

    /// RP-05
    #[test]
    fn rp_05_a_call_that_nobody_closed_counts_once_the_turn_has_gone_on() {
        let (done, open) = (Some("done"), None);
        assert_eq!(counted(&[call(1, open), call(3, open)], &[2], true), (named(&[1, 3]), false));
        assert_eq!(counted(&[call(1, open), call(3, open)], &[2, 4], false), (named(&[1, 3]), false));
        // Its worker went down, and the next one asked again.
        assert_eq!(counted(&[call(1, open), call(3, done)], &[4], true), (named(&[3]), false));
        assert_eq!(counted(&[call(1, open), call(3, open)], &[4], true), (named(&[3]), false));
        // Nobody knows what the model would have said.
        assert_eq!(counted(&[call(1, done), call(3, open)], &[2], false), (named(&[1]), true));
        assert_eq!(counted(&[call(1, open)], &[], false), (vec![], true));
        assert_eq!(counted(&[], &[1], true), (vec![], false));
        // Only the failure that ended the turn is an answer.
        let failed = Some("failed");
        assert_eq!(counted(&[call(1, failed), call(3, failed)], &[], false), (named(&[3]), false));
    }

    /// RP-05
    #[test]
    fn rp_05_what_a_turn_wrote_is_its_part_of_the_box_whoever_wrote_it() {
        let card = |id: &str, kind: &str| json!({ "card_id": id, "type": kind });
        let cards = vec![
            card("a", "agent.thought"),
            card("b", "agent.thought"),
            card("c", "tool.result"),
            card("d", "task.deliverable"),
            card("e", "agent.thought"),
        ];
        let ids = json!(["a", "b", "c", "d", "e"]);
        let wrote = |turn: Value| {
            let own = own_of(cards.clone(), &own_ids(&ids, &turn));
            own.iter().map(|card| card["card_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(wrote(json!({ "watermark": 1, "output_len": 4 })), ["b", "c"]);
        assert_eq!(wrote(json!({ "watermark": null, "output_len": null })), [""; 0], "it never was leased");
    }
}
