//! `cardwire turn fork` (RP-06): a new turn from a prefix of an old one's boxes, with one thing changed, beside the old one.

mod memory;
mod prefix;

use super::{card_get, egress, mcp::McpArgs, price::price, worker};
use crate::{
    client::Client,
    failure::Failure,
    output::{Output, say},
    route::Route,
    text::{self, cell},
};
use cardwire_kernel::protocol::{
    facts::distinct,
    session,
    turn::{forked, without},
};
use cardwire_model::{CardId, Layer, Seen, StepId, Timestamp};
use clap::Args;
use prefix::Prefix;
use serde_json::{Value, json};
use std::time::Duration;

/// Pause between two looks at it.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How much of a value is shown beside the other's.
const WORDS: usize = 60;
/// How much of an error: what went wrong is what was asked.
const ERROR_WORDS: usize = 400;

#[derive(Debug, Args)]
pub(super) struct ForkArgs {
    /// The turn to go on from, `turn_…`.
    id: String,
    /// The model call that is made anew: its number, from 1, or its step, `step_…`.
    #[arg(long, value_name = "N|STEP", default_value = "1", value_parser = at)]
    at: At,
    /// Leave a layer out, e.g. `knowledge`. May be repeated.
    #[arg(long = "without-layer", value_name = "LAYER", value_parser = layer)]
    without: Vec<Layer>,
    /// Put a card in the place of another, which the turn was given or has written. May be repeated.
    #[arg(long = "swap", value_name = "CARD=CARD", value_parser = swap)]
    swaps: Vec<Swap>,
    /// Ask this model.
    #[arg(long, value_name = "MODEL", value_parser = words)]
    model: Option<String>,
    /// Give this instruction instead of the one it had.
    #[arg(long, value_name = "TEXT", value_parser = words)]
    instruction: Option<String>,
    #[command(flatten)]
    mcp: McpArgs,
}

/// Which call is made anew.
#[derive(Debug, Clone)]
enum At {
    /// The one of this number.
    Call(usize),
    /// The one that this step made.
    Step(StepId),
}

fn at(text: &str) -> Result<At, String> {
    if let Ok(number) = text.parse() {
        return Ok(At::Call(number));
    }
    let step = text.starts_with("step_").then(|| text.parse().ok()).flatten();
    step.map(At::Step).ok_or_else(|| "must be a number or the id of a step, `step_…`".to_owned())
}

/// Something that is said.
fn words(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("must not be blank".to_owned()) } else { Ok(text.to_owned()) }
}

/// A card, and the one that takes its place.
#[derive(Debug, Clone, Copy)]
struct Swap {
    old: CardId,
    new: CardId,
}

fn swap(text: &str) -> Result<Swap, String> {
    let (old, new) = text.split_once('=').ok_or("must be two ids of cards with `=` between them")?;
    let id = |text: &str| text.parse().map_err(|invalid: cardwire_model::Invalid| invalid.to_string());
    Ok(Swap { old: id(old)?, new: id(new)? })
}

fn layer(text: &str) -> Result<Layer, String> {
    without::layer("layer", text).map_err(|invalid| invalid.to_string())
}

pub(super) async fn run(
    args: &ForkArgs,
    project: &str,
    output: Output,
    client: &Client,
) -> Result<(), Failure> {
    // The worker runs until this is dropped.
    if let Client::Http(_) = client {
        args.mcp.refuse_with_server()?;
    }
    let _worker = worker::beside(client, project, egress::own(project)?, args.mcp.servers()?);
    let original: Value = client.get(&Route::in_project(project, &["turns", &args.id])?).await?.parse()?;
    // As cards name it: people may write it with hyphens.
    let turn = cell(&original["agent_turn_id"]);
    let fork = Fork { client, project, args, turn };
    let forked = fork.make(&original).await?;
    let ended = fork.end(&forked).await?;
    let sides = [fork.side(&original, output).await?, fork.side(&ended, output).await?];
    if output.json {
        return output.json(&json!({ "original": sides[0], "fork": sides[1] }).to_string());
    }
    output.table(&["", "ORIGINAL", "FORK"], compared(&sides))
}

/// The two beside each other. A line about errors is there when there is one.
fn compared(sides: &[Value; 2]) -> Vec<Vec<String>> {
    let always = |name| (name, WORDS, true);
    let if_any = |name| (name, ERROR_WORDS, sides.iter().any(|side| !side[name].is_null()));
    let lines = [
        always("agent_turn_id"),
        always("agent_id"),
        always("status"),
        if_any("error"),
        if_any("error_code"),
        always("calls"),
        always("input_tokens"),
        always("output_tokens"),
        always("cost"),
        always("output"),
    ];
    let row = |(name, words, _): (&str, usize, bool)| {
        let values = sides.iter().map(|side| text::cut(&text::clean(&cell(&side[name])), words));
        [name.to_owned()].into_iter().chain(values).collect()
    };
    lines.into_iter().filter(|(_, _, shown)| *shown).map(row).collect()
}

struct Fork<'a> {
    client: &'a Client,
    project: &'a str,
    args: &'a ForkArgs,
    /// The turn that is forked.
    turn: String,
}

impl Fork<'_> {
    fn route(&self, segments: &[&str]) -> Result<Route, Failure> {
        Route::in_project(self.project, segments)
    }

    async fn get(&self, segments: &[&str]) -> Result<Value, Failure> {
        self.client.get(&self.route(segments)?).await?.parse()
    }

    async fn post(&self, route: Route, body: &Value) -> Result<Value, Failure> {
        self.client.post(&route, body).await?.parse()
    }

    /// Dispatches the new turn. Gives its id. Nothing is written before everything that is asked for was found.
    async fn make(&self, original: &Value) -> Result<String, Failure> {
        let box_of = |name: &str| original[name].as_str().unwrap_or_default();
        let prefix = self.prefix(original).await?;
        let given = self.cards_of(box_of("context_box_id")).await?;
        self.check_swaps(&[&given[..], &prefix.cards[..]].concat(), prefix.at).await?;
        let seen = self.seen(original, &prefix).await?;
        self.tell_absent(&prefix).await?;
        let agent: Value = self.get(&["agents", &cell(&original["agent_id"])]).await?;
        let context = self.context_box(box_of("context_box_id"), &given).await?;
        let output = self.output_box(box_of("output_box_id"), &prefix.cards).await?;
        let id = format!("fork_{}", output.chars().rev().take(12).collect::<String>());
        let new = json!({ "agent_id": id, "profile_name": agent["profile_name"] });
        self.post(self.route(&["agents"])?, &new).await?;
        let body = json!({
            "agent_id": id, "profile_box_id": original["profile_box_id"], "context_box_id": context,
            "output_box_id": output, "runtime_config": self.settings(original, seen, &prefix),
            "display_name": format!("fork of {}", self.turn),
        });
        let turn = self.post(self.route(&["l0", "turns"])?, &body).await?;
        Ok(cell(&turn["agent_turn_id"]))
    }

    /// Says which of the layers that are left out the call did not have: the fork is no other for that.
    async fn tell_absent(&self, prefix: &Prefix) -> Result<(), Failure> {
        if self.args.without.is_empty() {
            return Ok(());
        }
        let Some(call) = self.call_made_anew(prefix).await? else { return Ok(()) };
        let shown: Value = self.get(&["calls", &call.to_string(), "context"]).await?;
        let entries = shown["entries"].as_array().map(Vec::as_slice).unwrap_or_default();
        for layer in &self.args.without {
            if !entries.iter().any(|entry| entry["layer"] == layer.as_str()) {
                say(&format!(
                    "note: call {} of the turn had nothing of layer `{}`",
                    prefix.at,
                    layer.as_str()
                ));
            }
        }
        Ok(())
    }

    fn settings(&self, original: &Value, seen: Option<Seen>, prefix: &Prefix) -> Value {
        let mut settings = original["runtime_config"].clone();
        if !settings.is_object() {
            settings = json!({});
        }
        settings["forked_from"] = self.turn.clone().into();
        settings[forked::WATERMARK] = prefix.watermark.into();
        // What is only tried out is no part of a conversation.
        settings["remember"] = false.into();
        if let Some(seen) = seen {
            settings[session::turn::CHECKPOINT] = seen.to_string().into();
        }
        if !self.args.without.is_empty() {
            settings["without_layers"] = self.args.without.iter().map(|layer| layer.as_str()).collect();
        }
        if let Some(model) = &self.args.model {
            settings["llm_config"] = json!({ "model": model });
        }
        settings
    }

    /// A swap that would change nothing is a mistake: what is taken away must be there, and what is put there too.
    async fn check_swaps(&self, there: &[String], at: usize) -> Result<(), Failure> {
        let (swaps, turn) = (&self.args.swaps, &self.turn);
        for (index, Swap { old, new: _ }) in swaps.iter().enumerate() {
            if swaps.iter().take(index).any(|before| before.old == *old) {
                return Err(Failure::usage(format!("`--swap` takes card {old} away twice")));
            }
            if !there.contains(&old.to_string()) {
                return Err(Failure::not_found(format!(
                    "`--swap`: card {old} is not in what turn {turn} has before its call {at}"
                ))
                .hint(format!("`cardwire turn view {turn} --project {}` shows its cards", self.project)));
            }
        }
        let new = distinct(&swaps.iter().map(|swap| swap.new).collect::<Vec<_>>());
        let found = card_get::read(&new, self.project, self.client).await?;
        match new.iter().find(|card| !found.contains_key(card)) {
            Some(absent) => Err(Failure::not_found(format!("`--swap`: card not found: {absent}"))),
            None => Ok(()),
        }
    }

    async fn cards_of(&self, box_id: &str) -> Result<Vec<String>, Failure> {
        let shown: Value = self.get(&["boxes", box_id]).await?;
        Ok(shown["card_ids"].as_array().into_iter().flatten().map(cell).collect())
    }

    async fn output_box(&self, from: &str, prefix: &[String]) -> Result<String, Failure> {
        let swapped = swapped(prefix, &self.args.swaps);
        let made = if swapped == prefix {
            let upto = json!({ "upto": prefix.len() });
            self.post(self.route(&["l0", "boxes", from])?.verb("fork"), &upto).await?
        } else {
            self.post(self.route(&["l0", "boxes"])?, &json!({ "card_ids": swapped })).await?
        };
        Ok(cell(&made["box_id"]))
    }

    async fn context_box(&self, from: &str, given: &[String]) -> Result<String, Failure> {
        let mut wanted = swapped(given, &self.args.swaps);
        if wanted == given && self.args.instruction.is_none() {
            return Ok(from.to_owned());
        }
        let seen = self.get(&["turns", &self.args.id, "view"]).await?;
        let place = given.iter().position(|id| seen["instruction_card_id"] == *id);
        let old = place.map(|place| wanted.remove(place));
        let asked = match &self.args.instruction {
            Some(text) => {
                let new =
                    json!({ "content": text, "metadata": { "type": "task.instruction", "role": "user" } });
                Some(cell(&self.post(self.route(&["l0", "cards"])?, &new).await?["card_id"]))
            }
            None => old,
        };
        // A box that is written out does not tell what the original inherited: what is asked stands last.
        wanted.retain(|id| Some(id) != asked.as_ref());
        wanted.extend(asked);
        let made = self.post(self.route(&["l0", "boxes"])?, &json!({ "card_ids": wanted })).await?;
        Ok(cell(&made["box_id"]))
    }

    async fn end(&self, turn: &str) -> Result<Value, Failure> {
        loop {
            let seen: Value = self.get(&["turns", turn]).await?;
            if seen["ended_at"].is_string() {
                return Ok(seen);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// What a turn came to, and what it spent.
    async fn side(&self, turn: &Value, output: Output) -> Result<Value, Failure> {
        let id = cell(&turn["agent_turn_id"]);
        let route = self.route(&["cost"])?.query("agent_turn_id", Some(&id)).query("by", Some("turn"));
        let cost: Value = self.client.get(&route).await?.parse()?;
        let spent = &cost["total"];
        let number = |name: &str| spent[name].as_u64().unwrap_or(0);
        let price = price(number("calls"), spent["cost_micros"].as_u64(), number("unpriced_calls"));
        let delivered = match turn["deliverable_card_id"].as_str() {
            Some(card) => self.get(&["cards", card]).await?,
            None => Value::Null,
        };
        let delivered = match output.json {
            true => cardwire_team::text_of(&delivered["content"]),
            false => text::words(&delivered),
        };
        Ok(json!({
            "agent_turn_id": id, "agent_id": turn["agent_id"], "status": turn["status"], "error": turn["error"],
            "error_code": turn["error_code"], "calls": spent["calls"], "input_tokens": spent["input_tokens"],
            "output_tokens": spent["output_tokens"], "cost_micros": spent["cost_micros"],
            "unpriced_calls": spent["unpriced_calls"], "cost": price, "output": delivered,
        }))
    }
}

/// A time as it is told.
fn moment(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

fn swapped(ids: &[String], swaps: &[Swap]) -> Vec<String> {
    let swap = |id: &String| {
        let other = swaps.iter().find(|swap| *id == swap.old.to_string());
        other.map_or_else(|| id.clone(), |swap| swap.new.to_string())
    };
    ids.iter().map(swap).collect()
}
