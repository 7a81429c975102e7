//! `cardwire event`: the durable log, once or as it grows (API-13).

use crate::{
    cli::InProject,
    client::{Answer, ByteStream, Client},
    context::Context,
    failure::Failure,
    locate,
    output::Output,
    route::Route,
    sse::Parser,
    text::{cell, clean},
};
use clap::{Args, Subcommand};
use futures_util::StreamExt;
use serde_json::Value;
use std::time::Duration;

/// Pauses between attempts to come back: the first, and the longest.
const RETRY_FIRST: Duration = Duration::from_millis(200);
const RETRY_MAX: Duration = Duration::from_secs(5);

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
    /// Only events of this agent.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Go on with events as they happen, over restarts of the server too.
    #[arg(long, short)]
    follow: bool,
}

/// A reader of one project's log.
struct Tail<'a> {
    context: &'a Context,
    route: Route,
    follow: bool,
    /// The last position that was printed.
    position: u64,
}

pub(crate) async fn run(args: EventArgs, context: &Context, client: &Client) -> Result<(), Failure> {
    let project = args.project.name()?;
    let EventCommand::Tail(args) = args.command;
    if args.follow && matches!(client, Client::Embedded(_)) {
        return Err(Failure::failed("there is nothing to follow: no server is running")
            .hint("start one with `cardwire up`, or leave out `--follow`"));
    }
    let route = Route::in_project(project, &["events"])?
        .query("agent_id", args.agent.as_deref())
        .query("follow", (!args.follow).then_some(false));
    let mut tail = Tail { context, route, follow: args.follow, position: args.after };
    let stream = client.open(&tail.route, Some(tail.position)).await?.map_err(Answer::into_failure)?;
    tail.read(stream, context.output).await
}

/// How a stream ended.
enum End {
    /// The server ended it.
    Clean,
    /// The connection was lost.
    Lost(Failure),
}

impl Tail<'_> {
    async fn read(&mut self, mut stream: ByteStream, output: Output) -> Result<(), Failure> {
        loop {
            let end = self.drain(stream, output).await?;
            if self.follow {
                stream = self.come_back(output).await?;
                continue;
            }
            return match end {
                End::Clean => Ok(()),
                End::Lost(failure) => Err(failure),
            };
        }
    }

    /// Prints events until the stream ends.
    async fn drain(&mut self, mut stream: ByteStream, output: Output) -> Result<End, Failure> {
        let mut parser = Parser::default();
        while let Some(bytes) = stream.next().await {
            let bytes = match bytes {
                Ok(bytes) => bytes,
                Err(failure) => return Ok(End::Lost(failure)),
            };
            for message in parser.push(&bytes)? {
                print(&message.data, output)?;
                self.position = message.id.unwrap_or(self.position);
            }
        }
        Ok(End::Clean)
    }

    /// Finds the server again, which may have another address by now, and goes on where the log was left.
    async fn come_back(&self, output: Output) -> Result<ByteStream, Failure> {
        output.note("the event stream ended; trying again");
        let mut pause = RETRY_FIRST;
        loop {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(RETRY_MAX);
            let Some(client) = locate::server(self.context).await? else { continue };
            match client.open(&self.route, Some(self.position)).await {
                Ok(Ok(stream)) => return Ok(stream),
                // A token that was revoked or a project that was deleted does not come back by waiting.
                Ok(Err(answer)) if answer.is_final() => return Err(answer.into_failure()),
                Ok(Err(_)) | Err(_) => {}
            }
        }
    }
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
