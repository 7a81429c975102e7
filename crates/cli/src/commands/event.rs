//! `cardwire event`: the durable log, once or as it grows (API-13).

use crate::{
    cli::{InProject, Of},
    client::Client,
    context::Context,
    failure::Failure,
    follow::{Follower, needs_a_server},
    output::Output,
    route::Route,
    text::{cell, clean},
};
use clap::{Args, Subcommand};
use serde_json::Value;
use std::ops::ControlFlow;

#[derive(Debug, Args)]
pub(crate) struct EventArgs {
    #[command(flatten)]
    project: InProject,
    #[command(subcommand)]
    command: EventCommand,
}

#[derive(Debug, Subcommand)]
enum EventCommand {
    /// Print events in the order of the log; with --json one object per line.
    #[command(visible_alias = "list")]
    Tail(TailArgs),
}

#[derive(Debug, Args)]
struct TailArgs {
    /// Start after this position; 0 is the beginning.
    #[arg(long, value_name = "POSITION", default_value_t = 0)]
    after: u64,
    #[command(flatten)]
    of: Of,
    /// Only of this batch.
    #[arg(long, value_name = "BATCH")]
    batch: Option<String>,
    /// Go on with events as they happen, over restarts of the server too.
    #[arg(long, short)]
    follow: bool,
}

pub(crate) async fn run(args: EventArgs, context: &Context, client: &Client) -> Result<(), Failure> {
    let project = args.project.name()?;
    let EventCommand::Tail(args) = args.command;
    if args.follow {
        needs_a_server(client)
            .map_err(|failure| failure.hint("start one with `cardwire up`, or leave out `--follow`"))?;
    }
    let route = Route::in_project(project, &["events"])?
        .of(&args.of)
        .query("batch_id", args.batch.as_deref())
        .query("follow", (!args.follow).then_some(false));
    let mut log = Follower { context, route, follow: args.follow, position: args.after };
    log.read(client, |data| {
        print(data, context.output)?;
        Ok(ControlFlow::Continue(()))
    })
    .await
}

fn print(data: &str, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.line(data);
    }
    let event: Value = serde_json::from_str(data)
        .map_err(|error| Failure::failed(format!("the server sent an event that makes no sense: {error}")))?;
    let [position, at, kind, target, agent] =
        ["position", "at", "kind", "target", "agent_id"].map(|name| clean(&cell(&event[name])));
    output.line(format!("{position:>6}  {at}  {kind:<16}  {target}  {agent}").trim_end())
}
