//! `cardwire cost` (OB-04).

use super::run_view::dollars;
use crate::{cli::InProject, client::Client, failure::Failure, output::Output, route::Route, text::cell};
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
    let route = Route::in_project(args.project.name()?, &["cost"])?
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
    let row = |name: &Value, spent: &Value| {
        let mut row = vec![cell(name)];
        let numbers = ["calls", "input_tokens", "cached_tokens", "output_tokens"];
        row.extend(numbers.map(|number| cell(&spent[number])));
        row.push(dollars(spent["cost_micros"].as_u64().unwrap_or(0)));
        row
    };
    let items = sums["items"].as_array().map_or(&[][..], Vec::as_slice);
    let mut rows: Vec<_> = items.iter().map(|item| row(&item["name"], item)).collect();
    rows.push(row(&"total".into(), &sums["total"]));
    let name = args.by.as_str().to_ascii_uppercase();
    output.table(&[&name, "CALLS", "IN", "CACHED", "OUT", "COST"], rows)
}
