//! `cardwire turn fork` (RP-06): a new turn from a prefix of an old one's boxes, with one thing changed, beside the old one.

use super::{egress, mcp::McpArgs, price::price, worker};
use crate::{
    client::Client,
    failure::Failure,
    output::{Output, say},
    route::Route,
    text::{self, cell},
};
use cardwire_kernel::protocol::turn::without;
use cardwire_model::{CardId, Layer, StepId};
use clap::Args;
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
    at: String,
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

/// Which call is made anew: a number, or a step.
fn at(text: &str) -> Result<String, String> {
    let is_step = text.starts_with("step_") && text.parse::<StepId>().is_ok();
    if is_step || text.parse::<usize>().is_ok() {
        return Ok(text.to_owned());
    }
    Err("must be a number or the id of a step, `step_…`".to_owned())
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
    let forked = fork.make().await?;
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

    /// Dispatches the new turn. Gives its id, and says which layers the call did not have: the fork is no other for those.
    async fn make(&self) -> Result<String, Failure> {
        let ForkArgs { at, without, swaps, model, instruction, .. } = self.args;
        let swap = |swap: &Swap| json!({ "old": swap.old.to_string(), "new": swap.new.to_string() });
        let body = json!({
            "at": at, "without_layers": without.iter().map(|layer| layer.as_str()).collect::<Vec<_>>(),
            "swaps": swaps.iter().map(swap).collect::<Vec<_>>(), "model": model, "instruction": instruction,
        });
        let route = self.route(&["turns", &self.turn])?.verb("fork");
        let made = self.client.post(&route, &body).await.map_err(|failure| self.in_flags(failure))?;
        let made: Value = made.parse()?;
        for layer in made["absent_layers"].as_array().into_iter().flatten() {
            say(&format!("note: call {} of the turn had nothing of layer `{}`", made["at"], cell(layer)));
        }
        Ok(cell(&made["agent_turn_id"]))
    }

    /// The server's refusal, told by the name of the flag that caused it.
    fn in_flags(&self, failure: Failure) -> Failure {
        let (turn, project) = (&self.turn, self.project);
        let said = failure.message.clone();
        let (message, more) = if let Some(why) = said.strip_prefix("at: ") {
            (format!("`--at` {why}"), "steps")
        } else if let Some(why) = said.strip_prefix("swaps: ") {
            (format!("`--swap` {why}"), "view")
        } else if said.starts_with("step not found") {
            (format!("`--at`: {said}"), "steps")
        } else if said.starts_with("card not found") {
            (format!("`--swap`: {said}"), "view")
        } else {
            return failure;
        };
        Failure { message, ..failure }
            .hint(format!("`cardwire turn {more} {turn} --project {project}` shows what it has"))
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
