//! `cardwire agent`: the roster, and what its agents are doing.

use super::names;
use crate::{
    cli::{InProject, Made, Of, Page},
    client::Client,
    failure::Failure,
    output::Output,
    route::Route,
    text::{cell, cells},
};
use clap::{Args, Subcommand};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};

#[derive(Debug, Args)]
pub(crate) struct AgentArgs {
    #[command(flatten)]
    project: InProject,
    #[command(subcommand)]
    command: AgentCommand,
}

#[derive(Debug, Subcommand)]
enum AgentCommand {
    /// List agents by name, with what each is doing.
    List {
        #[command(flatten)]
        page: Page,
    },
    /// List what agents are doing, the newest agents first.
    States {
        /// Only of this agent.
        #[arg(long, value_name = "AGENT")]
        agent: Option<String>,
        /// Only of the agent that has this turn live.
        #[arg(long, value_name = "TURN")]
        turn: Option<String>,
        /// Only of agents with a live turn of this trace.
        #[arg(long, value_name = "TRACE")]
        trace: Option<String>,
        /// Only of agents that are idle, dispatched, running or suspended.
        #[arg(long)]
        status: Option<String>,
        /// Only changed at or after this moment, e.g. 2026-01-31T12:00:00Z.
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
        /// Only changed before this moment.
        #[arg(long, value_name = "TIME")]
        until: Option<String>,
        #[command(flatten)]
        page: Page,
    },
    /// List what came into the inboxes of agents, newest first.
    Inbox {
        #[command(flatten)]
        of: Of,
        /// Only with this correlation.
        #[arg(long, value_name = "CORRELATION")]
        correlation: Option<String>,
        /// Only in this state: queued, pending, processing, consumed, error, skipped or deferred.
        #[arg(long)]
        status: Option<String>,
        #[command(flatten)]
        made: Made,
        #[command(flatten)]
        page: Page,
    },
    /// List how agents came to be and were changed, newest first.
    Edges {
        /// Only what this agent did, or what was done to it.
        #[arg(long, value_name = "AGENT")]
        agent: Option<String>,
        /// Only of this trace.
        #[arg(long, value_name = "TRACE")]
        trace: Option<String>,
        #[command(flatten)]
        made: Made,
        #[command(flatten)]
        page: Page,
    },
    /// Show an agent and what it is doing.
    #[command(visible_alias = "show")]
    Get {
        /// Its name.
        id: String,
    },
    /// Add an agent to the roster; one that is there stays what it is.
    Add {
        /// Its name: 1 to 128 characters of A-Z, a-z, 0-9, _ and -.
        id: String,
        /// What it is.
        #[arg(long, value_name = "NAME")]
        profile: String,
        /// A name for people.
        #[arg(long, value_name = "NAME")]
        display_name: Option<String>,
        /// For choosing agents; the profile's when absent. May be repeated.
        #[arg(long = "tag", value_name = "TAG")]
        tags: Vec<String>,
    },
    /// Rebuild the state of an agent that has lost it; one that has not is left alone.
    Rebuild {
        /// Its name.
        id: String,
    },
}

/// Agents whose state is asked for at the same time.
const AT_ONCE: usize = 8;
/// What is shown of the state of an agent.
const STATE: [&str; 5] = ["status", "turn_epoch", "active_agent_turn_id", "queued", "last_output_box_id"];

pub(crate) async fn run(args: AgentArgs, output: Output, client: &Client) -> Result<(), Failure> {
    let project = args.project.name()?;
    match args.command {
        AgentCommand::List { page } => list(&page, project, output, client).await,
        AgentCommand::States { agent, turn, trace, status, since, until, page } => {
            let (of, made) = (Of { agent, turn, trace }, Made { since, until });
            let route = Route::in_project(project, &["state", "agents"])?.of(&of).query("status", status);
            let answer = client.get(&route.made(&made).page(&page)).await?;
            let header = ["AGENT", "STATUS", "EPOCH", "TURN", "QUEUED", "UPDATED"];
            let names = ["agent_id", "status", "turn_epoch", "active_agent_turn_id", "queued", "updated_at"];
            output.page(&answer, &header, cells(names))
        }
        AgentCommand::Inbox { of, correlation, status, made, page } => {
            let route = Route::in_project(project, &["state", "inbox"])?
                .of(&of)
                .query("correlation_id", correlation)
                .query("status", status);
            let answer = client.get(&route.made(&made).page(&page)).await?;
            let header = ["INBOX", "AGENT", "KIND", "STATUS", "TURN", "CREATED", "REASON"];
            let names = ["inbox_id", "agent_id", "kind", "status", "agent_turn_id", "created_at", "reason"];
            names::page(&answer, &header, names, &["agent_id"], project, output, client).await
        }
        AgentCommand::Edges { agent, trace, made, page } => {
            let route = Route::in_project(project, &["state", "identity", "edges"])?
                .query("agent_id", agent)
                .query("trace_id", trace);
            let answer = client.get(&route.made(&made).page(&page)).await?;
            let header = ["EDGE", "ACTION", "SOURCE", "TARGET", "TRACE", "CREATED"];
            let names = ["edge_id", "action", "source_agent_id", "target_agent_id", "trace_id", "created_at"];
            names::page(&answer, &header, names, &names[2..4], project, output, client).await
        }
        AgentCommand::Get { id } => get(&id, project, output, client).await,
        AgentCommand::Add { id, profile, display_name, tags } => {
            let mut body = json!({ "agent_id": id, "profile_name": profile });
            if let Some(name) = display_name {
                body["display_name"] = name.into();
            }
            if !tags.is_empty() {
                body["tags"] = json!(tags);
            }
            let answer = client.post(&Route::in_project(project, &["agents"])?, &body).await?;
            if output.json {
                return output.json(&answer.text);
            }
            let target = cell(&answer.parse::<Value>()?["worker_target"]);
            output.line(format_args!("agent {id} is served by workers of {target}"))
        }
        AgentCommand::Rebuild { id } => {
            let route = Route::in_project(project, &["state", "agents", &id])?.verb("rebuild");
            let answer = client.post(&route, &json!({})).await?;
            if output.json {
                return output.json(&answer.text);
            }
            let head: Value = answer.parse()?;
            let (status, epoch) = (cell(&head["status"]), cell(&head["turn_epoch"]));
            let what = if head["rebuilt"] == true { "was rebuilt and is" } else { "was not lost: it is" };
            output.line(format_args!("the state of agent {id} {what} {status} at epoch {epoch}"))
        }
    }
}

async fn get(id: &str, project: &str, output: Output, client: &Client) -> Result<(), Failure> {
    let mut agent: Value = client.get(&Route::in_project(project, &["agents", id])?).await?.parse()?;
    let state = state(id, project, client).await?;
    if output.json {
        agent["state"] = state;
        return output.json(&agent.to_string());
    }
    let names =
        ["agent_id", "profile_name", "profile_box_id", "worker_target", "display_name", "tags", "metadata"];
    let mut fields: Vec<_> = names.map(|name| (name, cell(&agent[name]))).to_vec();
    fields.extend(STATE.map(|name| (name, cell(&state[name]))));
    fields.extend(["created_at", "updated_at"].map(|name| (name, cell(&agent[name]))));
    output.fields(&fields)
}

/// What an agent is doing.
async fn state(id: &str, project: &str, client: &Client) -> Result<Value, Failure> {
    client.get(&Route::in_project(project, &["state", "agents", id])?).await?.parse()
}

async fn list(page: &Page, project: &str, output: Output, client: &Client) -> Result<(), Failure> {
    let mut list: Value = client.get(&Route::in_project(project, &["agents"])?.page(page)).await?.parse()?;
    // The list of states has another order.
    let agents = stream::iter(list["items"].as_array_mut().into_iter().flatten()).map(Ok);
    agents
        .try_for_each_concurrent(AT_ONCE, |agent| async move {
            agent["state"] = state(&cell(&agent["agent_id"]), project, client).await?;
            Ok::<_, Failure>(())
        })
        .await?;
    if output.json {
        return output.json(&list.to_string());
    }
    let row = |agent: &Value| {
        let mut row = ["agent_id", "profile_name", "worker_target"].map(|name| cell(&agent[name])).to_vec();
        row.extend(["status", "queued", "active_agent_turn_id"].map(|name| cell(&agent["state"][name])));
        row
    };
    let items = list["items"].as_array().map_or(&[][..], Vec::as_slice);
    let header = ["AGENT", "PROFILE", "TARGET", "STATUS", "QUEUED", "TURN"];
    output.table(&header, items.iter().map(row).collect())?;
    output.more(&list["next_cursor"]);
    Ok(())
}
