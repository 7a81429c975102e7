//! `cardwire box`.

use super::card;
use crate::{
    cli::InProject,
    client::{Answer, Client},
    failure::Failure,
    output::Output,
    route::Route,
    text::cell,
};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

#[derive(Debug, Args)]
pub(crate) struct BoxArgs {
    #[command(flatten)]
    project: InProject,
    #[command(subcommand)]
    command: BoxCommand,
}

#[derive(Debug, Subcommand)]
enum BoxCommand {
    /// Make a box.
    Create {
        /// Its cards, in order.
        #[arg(value_name = "CARD")]
        cards: Vec<String>,
    },
    /// Show a box.
    #[command(visible_alias = "get")]
    Show {
        /// Its id.
        id: String,
        /// An earlier generation.
        #[arg(long, value_name = "N")]
        generation: Option<u32>,
        /// Show the cards themselves: the last ones, in box order.
        #[arg(long, conflicts_with = "generation")]
        cards: bool,
        /// How many cards; the server gives 1 to 500.
        #[arg(long, value_name = "N", requires = "cards")]
        limit: Option<u32>,
    },
    /// Add cards to a box; those that are there already stay where they are.
    Append {
        /// Its id.
        id: String,
        /// The cards, in order.
        #[arg(required = true, value_name = "CARD")]
        cards: Vec<String>,
        /// Refuse unless the box has exactly so many cards.
        #[arg(long, value_name = "N")]
        expected_len: Option<u32>,
    },
    /// Give a box other cards; the old generation stays readable.
    Rewrite {
        /// Its id.
        id: String,
        /// The cards, in order.
        #[arg(value_name = "CARD")]
        cards: Vec<String>,
    },
    /// Make a box that shows the first cards of another.
    Fork {
        /// Which box.
        id: String,
        /// How many cards; all when absent.
        #[arg(long, value_name = "N")]
        upto: Option<u32>,
    },
    /// Show where each card of a box came from.
    Provenance {
        /// Its id.
        id: String,
    },
}

pub(crate) async fn run(args: BoxArgs, output: Output, client: &Client) -> Result<(), Failure> {
    let project = args.project.name()?;
    let read = |id: &str, rest: &[&str]| Route::in_project(project, &[&["boxes", id], rest].concat());
    let write = |id: &str, rest: &[&str]| Route::in_project(project, &[&["l0", "boxes", id], rest].concat());
    match args.command {
        BoxCommand::Create { cards } => {
            let route = Route::in_project(project, &["l0", "boxes"])?;
            made(client.post(&route, &json!({ "card_ids": cards })).await?, output)
        }
        BoxCommand::Show { id, generation, cards: false, limit: _ } => {
            show(client.get(&read(&id, &[])?.query("generation", generation)).await?, output)
        }
        BoxCommand::Show { id, cards: true, limit, generation: _ } => {
            let answer = client.get(&read(&id, &["cards"])?.query("limit", limit)).await?;
            if output.json {
                return output.json(&answer.text);
            }
            card::table(answer.parse::<Vec<Value>>()?.iter(), output)
        }
        BoxCommand::Append { id, cards, expected_len } => {
            let mut body = json!({ "card_ids": cards });
            if let Some(len) = expected_len {
                body["expected_len"] = len.into();
            }
            changed(client.post(&write(&id, &["cards"])?, &body).await?, output)
        }
        BoxCommand::Rewrite { id, cards } => {
            let route = write(&id, &[])?.verb("rewrite");
            show(client.post(&route, &json!({ "card_ids": cards })).await?, output)
        }
        BoxCommand::Fork { id, upto } => {
            let body = upto.map_or_else(|| json!({}), |upto| json!({ "upto": upto }));
            made(client.post(&write(&id, &[])?.verb("fork"), &body).await?, output)
        }
        BoxCommand::Provenance { id } => provenance(client.get(&read(&id, &["provenance"])?).await?, output),
    }
}

/// A new box: its id is what the next command needs.
fn made(answer: Answer, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.json(&answer.text);
    }
    output.line(cell(&answer.parse::<Value>()?["box_id"]))
}

fn show(answer: Answer, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.json(&answer.text);
    }
    let shown: Value = answer.parse()?;
    let names = ["box_id", "generation", "len", "sealed", "created_at"];
    output.fields(&names.map(|name| (name, cell(&shown[name]))))?;
    let cards = shown["card_ids"].as_array().map_or(&[][..], Vec::as_slice);
    if cards.is_empty() {
        return Ok(());
    }
    output.line(format_args!("\n{}", cards.iter().map(cell).collect::<Vec<_>>().join("\n")))
}

fn changed(answer: Answer, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.json(&answer.text);
    }
    let change: Value = answer.parse()?;
    let added = change["added"].as_array().map_or(0, Vec::len);
    let (id, len) = (cell(&change["box_id"]), cell(&change["len"]));
    let cards = if added == 1 { "1 card" } else { &format!("{added} cards") };
    output.line(format_args!("added {cards} to box {id}, which has {len} now"))
}

fn provenance(answer: Answer, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.json(&answer.text);
    }
    let shown: Value = answer.parse()?;
    let cards = shown["cards"].as_array().map_or(&[][..], Vec::as_slice);
    let names = ["card_id", "origin", "rule", "box_id", "generation"];
    let rows = cards.iter().map(|card| names.map(|name| cell(&card[name])).to_vec()).collect();
    output.table(&["CARD", "ORIGIN", "RULE", "BOX", "GENERATION"], rows)
}
