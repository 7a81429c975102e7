//! `cardwire turn`.

use super::{names, turn_answer, turn_call, turn_dispatch, turn_fork, turn_replay};
use crate::{
    cli::{InProject, Made, Of, Page},
    client::{Answer, Client},
    context::Context,
    failure::Failure,
    output::Output,
    route::Route,
    text::{self, cell},
};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

#[derive(Debug, Args)]
pub(crate) struct TurnArgs {
    #[command(flatten)]
    project: InProject,
    #[command(subcommand)]
    command: TurnCommand,
}

#[derive(Debug, Subcommand)]
enum TurnCommand {
    /// Give an agent something to do.
    Dispatch(Box<turn_dispatch::DispatchArgs>),
    /// List turns, newest first.
    List {
        #[command(flatten)]
        of: Of,
        /// Only with this correlation.
        #[arg(long, value_name = "CORRELATION")]
        correlation: Option<String>,
        /// Only turns in this state: queued, dispatched, running, suspended, or how they ended.
        #[arg(long)]
        status: Option<String>,
        #[command(flatten)]
        made: Made,
        #[command(flatten)]
        page: Page,
    },
    /// Show a turn.
    #[command(visible_alias = "show")]
    Get {
        /// Its id, `turn_…`.
        id: String,
    },
    /// Show what a turn sees, or saw.
    View {
        /// Its id, `turn_…`.
        id: String,
        /// As it was when this step was written.
        #[arg(long, value_name = "STEP")]
        step: Option<String>,
    },
    /// Compose the next request of a turn to its model, and print the id of the call.
    Call(turn_call::CallArgs),
    /// List the steps of turns, newest first: calls of models, and what they spent.
    Steps {
        /// Its id, `turn_…`; of all turns when absent.
        id: Option<String>,
        /// Only of this agent.
        #[arg(long, value_name = "AGENT")]
        agent: Option<String>,
        /// Only of this trace.
        #[arg(long, value_name = "TRACE")]
        trace: Option<String>,
        /// Only those that their worker calls this.
        #[arg(long)]
        phase: Option<String>,
        /// Only those that ended like this, as their worker calls it.
        #[arg(long)]
        status: Option<String>,
        #[command(flatten)]
        made: Made,
        #[command(flatten)]
        page: Page,
    },
    /// List the edges of the execution graph, newest first: who sent, called and answered whom.
    Edges {
        #[command(flatten)]
        of: Of,
        /// Only with this correlation.
        #[arg(long, value_name = "CORRELATION")]
        correlation: Option<String>,
        /// Only of this primitive: enqueue, tool_call, report or join.
        #[arg(long)]
        primitive: Option<String>,
        /// Only of this phase: request or response.
        #[arg(long)]
        phase: Option<String>,
        #[command(flatten)]
        made: Made,
        #[command(flatten)]
        page: Page,
    },
    /// Run a turn that has ended once more with the answers it had, and say whether it comes to the same. Nothing is called.
    Replay {
        /// Its id, `turn_…`.
        id: String,
    },
    /// Go on from a point of a turn in another way, and compare. The turn itself is left as it is.
    Fork(turn_fork::ForkArgs),
    /// Answer what a turn asks of a person.
    Answer(turn_answer::AnswerArgs),
    /// Call a turn off.
    Stop {
        /// Its id, `turn_…`.
        id: String,
        /// Why, for people.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
}

/// What is shown of an edge.
const EDGE: [&str; 7] = [
    "edge_id",
    "primitive",
    "edge_phase",
    "source_agent_id",
    "target_agent_id",
    "correlation_id",
    "created_at",
];

pub(crate) async fn run(args: TurnArgs, context: &Context, client: &Client) -> Result<(), Failure> {
    let (project, output) = (args.project.name()?, context.output);
    let route = |segments: &[&str]| Route::in_project(project, &[&["turns"], segments].concat());
    match args.command {
        TurnCommand::Dispatch(args) => turn_dispatch::run(&args, project, context, client).await,
        TurnCommand::List { of, correlation, status, made, page } => {
            let route = route(&[])?.of(&of).query("correlation_id", correlation).query("status", status);
            let answer = client.get(&route.made(&made).page(&page)).await?;
            let header = ["TURN", "AGENT", "STATUS", "EPOCH", "CREATED", "ENDED"];
            let fields = ["agent_turn_id", "agent_id", "status", "turn_epoch", "created_at", "ended_at"];
            names::page(&answer, &header, fields, &["agent_id"], project, output, client).await
        }
        TurnCommand::Get { id } => show(client.get(&route(&[&id])?).await?, output),
        TurnCommand::View { id, step } => {
            view(client.get(&route(&[&id, "view"])?.query("step_id", step.as_deref())).await?, output)
        }
        TurnCommand::Call(args) => turn_call::run(&args, project, output, client).await,
        TurnCommand::Steps { id, agent, trace, phase, status, made, page } => {
            let route = Route::in_project(project, &["state", "steps"])?
                .query("agent_turn_id", id)
                .query("agent_id", agent)
                .query("trace_id", trace)
                .query("phase", phase)
                .query("status", status);
            steps(&client.get(&route.made(&made).page(&page)).await?, output)
        }
        TurnCommand::Edges { of, correlation, primitive, phase, made, page } => {
            let route = Route::in_project(project, &["state", "execution", "edges"])?
                .of(&of)
                .query("correlation_id", correlation)
                .query("primitive", primitive)
                .query("edge_phase", phase);
            let answer = client.get(&route.made(&made).page(&page)).await?;
            let header = ["EDGE", "PRIMITIVE", "PHASE", "SOURCE", "TARGET", "CORRELATION", "CREATED"];
            names::page(&answer, &header, EDGE, &EDGE[3..5], project, output, client).await
        }
        TurnCommand::Replay { id } => turn_replay::run(&id, project, output, client).await,
        TurnCommand::Fork(args) => turn_fork::run(&args, project, output, client).await,
        TurnCommand::Answer(args) => turn_answer::run(&args, project, output, client).await,
        TurnCommand::Stop { id, reason } => {
            let body = reason.map_or_else(|| json!({}), |reason| json!({ "reason": reason }));
            let answer = client.post(&route(&[&id])?.verb("stop"), &body).await?;
            if output.json { output.json(&answer.text) } else { output.line(format_args!("stopped {id}")) }
        }
    }
}

fn steps(answer: &Answer, output: Output) -> Result<(), Failure> {
    let row = |step: &Value| {
        let spent = &step["metadata"];
        vec![
            cell(&step["step_id"]),
            cell(&step["agent_turn_id"]),
            cell(&step["phase"]),
            cell(&step["status"]),
            cell(&step["call_id"]),
            cell(&spent["model"]),
            cell(&spent["usage"]["input_tokens"]),
            cell(&spent["usage"]["output_tokens"]),
        ]
    };
    output.page(answer, &["STEP", "TURN", "PHASE", "STATUS", "CALL", "MODEL", "IN", "OUT"], row)
}

fn show(answer: Answer, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.json(&answer.text);
    }
    let turn: Value = answer.parse()?;
    let fields: Vec<_> = turn.as_object().into_iter().flatten().collect();
    let shown = |name: &str, value: &Value| match (name, value["message"].as_str()) {
        ("waiting", Some(message)) => message.to_owned(),
        ("waiting", None) => format!("for a worker of target {}", cell(&value["worker_target"])),
        _ => cell(value),
    };
    let fields: Vec<_> =
        fields.into_iter().map(|(name, value)| (name.as_str(), shown(name, value))).collect();
    output.fields(&fields)
}

fn view(answer: Answer, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.json(&answer.text);
    }
    let seen: Value = answer.parse()?;
    let messages = seen["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let row = |message: &Value| {
        let mut row = ["card_id", "type", "role", "origin"].map(|name| cell(&message[name])).to_vec();
        row.push(text::content(message));
        row
    };
    let heads = ["CARD", "TYPE", "ROLE", "ORIGIN", "CONTENT"];
    output.table_with_preview(&heads, messages.iter().map(row).collect())
}
