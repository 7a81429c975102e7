//! `cardwire turn fork` (RP-06): a new turn from a prefix of an old one's boxes, with one thing changed, beside the old one.

use super::{mcp::McpArgs, run_view::dollars, worker};
use crate::{
    client::Client,
    failure::Failure,
    output::Output,
    route::Route,
    text::{self, cell},
};
use clap::Args;
use serde_json::{Value, json};
use std::time::Duration;

/// Pause between two looks at it.
const LOOK_EVERY: Duration = Duration::from_millis(50);

#[derive(Debug, Args)]
pub(super) struct ForkArgs {
    /// The turn to go on from, `turn_…`.
    id: String,
    /// The model call that is made anew, from 1.
    #[arg(long, value_name = "N", default_value_t = 1)]
    at: usize,
    /// Leave a layer out, e.g. `knowledge`. May be repeated.
    #[arg(long = "without-layer", value_name = "LAYER")]
    without: Vec<String>,
    /// Put a card in the place of another. May be repeated.
    #[arg(long = "swap", value_name = "CARD=CARD")]
    swaps: Vec<String>,
    /// Ask this model.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Give this instruction instead of the one it had.
    #[arg(long, value_name = "TEXT")]
    instruction: Option<String>,
    #[command(flatten)]
    mcp: McpArgs,
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
    let _worker = worker::beside(client, args.mcp.servers()?);
    let fork = Fork { client, project, args };
    let original: Value = client.get(&fork.route(&["turns", &args.id])?).await?.parse()?;
    let forked = fork.make(&original).await?;
    let ended = fork.end(&forked).await?;
    let sides = [fork.side(&original).await?, fork.side(&ended).await?];
    if output.json {
        return output.json(&json!({ "original": sides[0], "fork": sides[1] }).to_string());
    }
    let names =
        ["agent_turn_id", "agent_id", "status", "calls", "input_tokens", "output_tokens", "cost", "output"];
    let row = |name: &&str| {
        let mut row = vec![(*name).to_owned()];
        row.extend(sides.iter().map(|side| text::cut(&text::clean(&cell(&side[*name])), 60)));
        row
    };
    output.table(&["", "ORIGINAL", "FORK"], names.iter().map(row).collect())
}

struct Fork<'a> {
    client: &'a Client,
    project: &'a str,
    args: &'a ForkArgs,
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

    /// Dispatches the new turn. Gives its id.
    async fn make(&self, original: &Value) -> Result<String, Failure> {
        let box_of = |name: &str| original[name].as_str().unwrap_or_default();
        let swaps = self.swaps()?;
        let prefix = self.prefix(box_of("output_box_id")).await?;
        let output = self.output_box(box_of("output_box_id"), &prefix, &swaps).await?;
        let context = self.context_box(box_of("context_box_id"), &swaps).await?;
        let agent: Value = self.get(&["agents", &cell(&original["agent_id"])]).await?;
        let id = format!("fork_{}", output.chars().rev().take(12).collect::<String>());
        let new = json!({ "agent_id": id, "profile_name": agent["profile_name"] });
        self.post(self.route(&["agents"])?, &new).await?;
        let body = json!({
            "agent_id": id, "profile_box_id": original["profile_box_id"], "context_box_id": context,
            "output_box_id": output, "runtime_config": self.settings(original),
            "display_name": format!("fork of {}", self.args.id),
        });
        let turn = self.post(self.route(&["l0", "turns"])?, &body).await?;
        Ok(cell(&turn["agent_turn_id"]))
    }

    fn settings(&self, original: &Value) -> Value {
        let mut settings = original["runtime_config"].clone();
        if !settings.is_object() {
            settings = json!({});
        }
        settings["forked_from"] = self.args.id.clone().into();
        // What is only tried out is no part of a conversation.
        settings["remember"] = false.into();
        if !self.args.without.is_empty() {
            settings["without_layers"] = self.args.without.clone().into();
        }
        if let Some(model) = &self.args.model {
            settings["llm_config"] = json!({ "model": model });
        }
        settings
    }

    fn swaps(&self) -> Result<Vec<(&str, &str)>, Failure> {
        let pair = |swap: &String| swap.split_once('=').is_some();
        if let Some(wrong) = self.args.swaps.iter().find(|swap| !pair(swap)) {
            return Err(Failure::usage(format!("`--swap {wrong}` is not CARD=CARD")));
        }
        Ok(self.args.swaps.iter().filter_map(|swap| swap.split_once('=')).collect())
    }

    /// The cards before the call that is made anew.
    async fn prefix(&self, box_id: &str) -> Result<Vec<String>, Failure> {
        let shown: Value = self.get(&["boxes", box_id]).await?;
        let ids: Vec<String> = shown["card_ids"].as_array().into_iter().flatten().map(cell).collect();
        let route = self.route(&["boxes", box_id, "cards"])?.query("limit", Some(500));
        let cards: Vec<Value> = self.client.get(&route).await?.parse()?;
        let said = |card: &&Value| {
            card["type"] == "agent.thought" && card["metadata"]["agent_turn_id"] == self.args.id.as_str()
        };
        let thoughts: Vec<_> = cards.iter().filter(said).map(|card| cell(&card["card_id"])).collect();
        let is_own_end = |card: &&Value| {
            card["type"] == "task.deliverable" && card["metadata"]["agent_turn_id"] == self.args.id.as_str()
        };
        let wanted = match self.args.at.checked_sub(1) {
            Some(index) if index < thoughts.len() => thoughts.get(index).cloned(),
            Some(index) if index == thoughts.len() => {
                cards.iter().find(is_own_end).map(|card| cell(&card["card_id"]))
            }
            Some(_) | None => {
                let most = thoughts.len() + 1;
                return Err(Failure::usage(format!(
                    "`--at` must be 1 to {most}: the turn made so many calls"
                )));
            }
        };
        let upto = wanted.and_then(|card| ids.iter().position(|id| *id == card)).unwrap_or(ids.len());
        Ok(ids.into_iter().take(upto).collect())
    }

    async fn output_box(
        &self,
        from: &str,
        prefix: &[String],
        swaps: &[(&str, &str)],
    ) -> Result<String, Failure> {
        let swapped = swapped(prefix, swaps);
        let made = if swapped == prefix {
            let upto = json!({ "upto": prefix.len() });
            self.post(self.route(&["l0", "boxes", from])?.verb("fork"), &upto).await?
        } else {
            self.post(self.route(&["l0", "boxes"])?, &json!({ "card_ids": swapped })).await?
        };
        Ok(cell(&made["box_id"]))
    }

    async fn context_box(&self, from: &str, swaps: &[(&str, &str)]) -> Result<String, Failure> {
        let shown: Value = self.get(&["boxes", from]).await?;
        let ids: Vec<String> = shown["card_ids"].as_array().into_iter().flatten().map(cell).collect();
        let mut wanted = swapped(&ids, swaps);
        if let Some(text) = &self.args.instruction {
            let cards: Vec<Value> =
                self.client.get(&self.route(&["boxes", from, "cards"])?).await?.parse()?;
            let old = cards
                .iter()
                .find(|card| card["type"] == "task.instruction")
                .map(|card| cell(&card["card_id"]));
            let new = json!({ "content": text, "metadata": { "type": "task.instruction", "role": "user" } });
            let new = cell(&self.post(self.route(&["l0", "cards"])?, &new).await?["card_id"]);
            match old.and_then(|old| wanted.iter().position(|id| *id == old)) {
                Some(place) => wanted[place] = new,
                None => wanted.insert(0, new),
            }
        }
        if wanted == ids {
            return Ok(from.to_owned());
        }
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
    async fn side(&self, turn: &Value) -> Result<Value, Failure> {
        let id = cell(&turn["agent_turn_id"]);
        let route = self.route(&["cost"])?.query("agent_turn_id", Some(&id)).query("by", Some("turn"));
        let cost: Value = self.client.get(&route).await?.parse()?;
        let spent = &cost["total"];
        let delivered = match turn["deliverable_card_id"].as_str() {
            Some(card) => self.get(&["cards", card]).await?["content"].take(),
            None => Value::Null,
        };
        let output = cardwire_team::text_of(&delivered);
        Ok(json!({
            "agent_turn_id": id, "agent_id": turn["agent_id"], "status": turn["status"], "error": turn["error"],
            "calls": spent["calls"], "input_tokens": spent["input_tokens"],
            "output_tokens": spent["output_tokens"], "cost_micros": spent["cost_micros"],
            "cost": dollars(spent["cost_micros"].as_u64().unwrap_or(0)), "output": output,
        }))
    }
}

fn swapped(ids: &[String], swaps: &[(&str, &str)]) -> Vec<String> {
    let swap = |id: &String| {
        let other = swaps.iter().find(|(old, _)| id == old);
        other.map_or_else(|| id.clone(), |(_, new)| (*new).to_owned())
    };
    ids.iter().map(swap).collect()
}
