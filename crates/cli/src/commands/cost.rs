//! `cardwire cost` (OB-04).

use super::{names::Names, price::price};
use crate::{
    cli::InProject,
    client::Client,
    failure::Failure,
    output::Output,
    route::Route,
    text::{cell, count},
};
use clap::{Args, ValueEnum};
use serde_json::Value;

#[derive(Debug, Args)]
pub(crate) struct CostArgs {
    #[command(flatten)]
    project: InProject,
    /// By what to sum.
    #[arg(long, value_enum, default_value_t = By::Agent)]
    by: By,
    /// Only this agent.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only this turn.
    #[arg(long, value_name = "TURN")]
    turn: Option<String>,
    /// Only this turn and those below it.
    #[arg(long, value_name = "TURN", conflicts_with = "turn")]
    subtree: Option<String>,
    /// Only the branches of this batch and the turns below them.
    #[arg(long, value_name = "BATCH")]
    batch: Option<String>,
    /// Only this trace.
    #[arg(long, value_name = "TRACE")]
    trace: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum By {
    Agent,
    Turn,
    Step,
    Model,
    Layer,
    Card,
}

impl By {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Turn => "turn",
            Self::Step => "step",
            Self::Model => "model",
            Self::Layer => "layer",
            Self::Card => "card",
        }
    }
}

pub(crate) async fn run(args: &CostArgs, output: Output, client: &Client) -> Result<(), Failure> {
    let project = args.project.name()?;
    let route = Route::in_project(project, &["cost"])?
        .query("by", Some(args.by.as_str()))
        .query("agent_id", args.agent.as_deref())
        .query("agent_turn_id", args.turn.as_deref())
        .query("subtree_of", args.subtree.as_deref())
        .query("batch_id", args.batch.as_deref())
        .query("trace_id", args.trace.as_deref());
    let answer = client.get(&route).await?;
    if output.json {
        return output.json(&answer.text);
    }
    let sums: Value = answer.parse()?;
    let number = |spent: &Value, name: &str| spent[name].as_u64().unwrap_or(0);
    let row = |name: String, spent: &Value| {
        let mut row = vec![name];
        let numbers = ["calls", "input_tokens", "cached_tokens", "output_tokens"];
        row.extend(numbers.map(|number| cell(&spent[number])));
        row.push(price(
            number(spent, "calls"),
            spent["cost_micros"].as_u64(),
            number(spent, "unpriced_calls"),
        ));
        row
    };
    let items = sums["items"].as_array().map_or(&[][..], Vec::as_slice);
    let names = match args.by {
        By::Agent => Names::of(items, &["name"], project, client).await,
        By::Turn | By::Step | By::Model | By::Layer | By::Card => Names::default(),
    };
    let mut rows: Vec<_> = items.iter().map(|item| row(names.show(&item["name"]), item)).collect();
    rows.push(row("total".to_owned(), &sums["total"]));
    let name = args.by.as_str().to_ascii_uppercase();
    output.table(&[&name, "CALLS", "IN", "CACHED", "OUT", "COST"], rows)?;
    let unpriced = number(&sums["total"], "unpriced_calls");
    if unpriced > 0 {
        output.note(format_args!(
            "{} of models whose prices are not known: `prices: {{input, output}}` of a team's `model` says them, in \
             dollars for a million tokens",
            count(unpriced, "call", "calls")
        ));
    }
    Ok(())
}
