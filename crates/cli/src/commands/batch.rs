//! `cardwire batch`.

use super::names::{self, Names};
use crate::{
    cli::{InProject, Made, Page},
    client::{Answer, Client},
    context::Context,
    failure::Failure,
    output::Output,
    route::Route,
    text::cell,
};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

#[derive(Debug, Args)]
pub(crate) struct BatchArgs {
    #[command(flatten)]
    project: InProject,
    #[command(subcommand)]
    command: BatchCommand,
}

#[derive(Debug, Subcommand)]
enum BatchCommand {
    /// List batches, newest first.
    List {
        /// Only batches that this agent has forked.
        #[arg(long, value_name = "AGENT")]
        agent: Option<String>,
        /// Only batches that were forked in this turn.
        #[arg(long, value_name = "TURN")]
        turn: Option<String>,
        /// Only batches of this trace.
        #[arg(long, value_name = "TRACE")]
        trace: Option<String>,
        /// Only batches in this state: running, success, partial, failed or timeout.
        #[arg(long)]
        status: Option<String>,
        #[command(flatten)]
        made: Made,
        #[command(flatten)]
        page: Page,
    },
    /// Show a batch with its tasks.
    #[command(visible_alias = "show")]
    Get {
        /// Its id, `batch_…`.
        id: String,
    },
    /// Call a batch off: what has not ended is stopped.
    Cancel {
        /// Its id, `batch_…`.
        id: String,
    },
}

pub(crate) async fn run(args: BatchArgs, context: &Context, client: &Client) -> Result<(), Failure> {
    let (project, output) = (args.project.name()?, context.output);
    let route = |segments: &[&str]| Route::in_project(project, &[&["batches"], segments].concat());
    match args.command {
        BatchCommand::List { agent, turn, trace, status, made, page } => {
            let route = route(&[])?
                .query("agent_id", agent)
                .query("agent_turn_id", turn)
                .query("trace_id", trace)
                .query("status", status);
            let answer = client.get(&route.made(&made).page(&page)).await?;
            let header = ["BATCH", "PARENT", "STATUS", "TASKS", "CREATED", "CLOSED"];
            let fields = ["batch_id", "parent_agent_id", "status", "task_count", "created_at", "closed_at"];
            names::page(&answer, &header, fields, &["parent_agent_id"], project, output, client).await
        }
        BatchCommand::Get { id } => show(client.get(&route(&[&id])?).await?, project, output, client).await,
        BatchCommand::Cancel { id } => {
            let answer = client.post(&route(&[&id])?.verb("cancel"), &json!({})).await?;
            if output.json {
                return output.json(&answer.text);
            }
            let batch: Value = answer.parse()?;
            output.line(format_args!("{id} is {}", cell(&batch["status"])))
        }
    }
}

async fn show(answer: Answer, project: &str, output: Output, client: &Client) -> Result<(), Failure> {
    if output.json {
        return output.json(&answer.text);
    }
    let batch: Value = answer.parse()?;
    let fields = batch.as_object().into_iter().flatten().filter(|(name, _)| *name != "tasks");
    let fields: Vec<_> = fields.map(|(name, value)| (name.as_str(), cell(value))).collect();
    output.fields(&fields)?;
    let tasks = batch["tasks"].as_array().map_or(&[][..], Vec::as_slice);
    let names = Names::of(tasks, &["agent_id"], project, client).await;
    let row = |task: &Value| {
        let text = |name: &str| cell(&task[name]);
        let agent = names.show(&task["agent_id"]);
        vec![text("task_index"), text("status"), agent, text("output_box_id"), text("error_detail")]
    };
    let rows = tasks.iter().map(row).collect();
    output.table(&["TASK", "STATUS", "AGENT", "OUTPUT", "ERROR"], rows)
}
