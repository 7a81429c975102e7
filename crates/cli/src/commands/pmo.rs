//! `cardwire pmo`: hand work over, and pack what is handed over.

use super::written::Written;
use crate::{
    cli::InProject,
    client::{Answer, Client},
    failure::Failure,
    output::Output,
    route::Route,
    text::cell,
};
use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(crate) struct PmoArgs {
    #[command(flatten)]
    project: InProject,
    #[command(subcommand)]
    command: PmoCommand,
}

#[derive(Debug, Subcommand)]
enum PmoCommand {
    /// Call a tool in the name of an agent: delegate_async, launch_principal, ask_expert, fork_join, provision_agent, or a recipe.
    Call(CallArgs),
    /// Pack a context box by the rules of a handover.
    Pack {
        /// A file with `{tool_suffix, source_agent_id?, arguments?, handover}`, as JSON or YAML; `-` for standard input.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Say what would be packed, and write nothing.
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Debug, Args)]
struct CallArgs {
    /// Which tool or recipe.
    tool: String,
    /// Who calls: an agent of the roster.
    #[arg(long, value_name = "AGENT")]
    caller: String,
    /// Its arguments: a JSON object, or `@FILE` with one in JSON or YAML.
    #[arg(long, value_name = "JSON|@FILE")]
    args: Option<String>,
    /// The channel; `public` when absent.
    #[arg(long)]
    channel: Option<String>,
    /// How long to wait for an answer that takes its time.
    #[arg(long, value_name = "N")]
    wait_ms: Option<u64>,
    /// Say what the target would be given, and write nothing.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Serialize)]
struct Body<'a> {
    caller_agent_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel_id: Option<&'a str>,
    /// As they were given: what a number looks like is for the server to judge.
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_ms: Option<u64>,
}

pub(crate) async fn run(args: PmoArgs, output: Output, client: &Client) -> Result<(), Failure> {
    let project = args.project.name()?;
    match args.command {
        PmoCommand::Call(call) => {
            let route = Route::in_project(project, &["pmo", &call.tool])?.verb("call");
            let answer = client.post(&dry(route, call.dry_run), &call.body()?).await?;
            if call.dry_run { preflight(&answer, output) } else { called(&answer, output) }
        }
        PmoCommand::Pack { file, dry_run } => {
            let route = Route::in_project(project, &["pmo", "pack_context"])?;
            let answer = client.post(&dry(route, dry_run), &Written::read(&file)?.into_json()?).await?;
            if dry_run {
                return preflight(&answer, output);
            }
            if output.json {
                return output.json(&answer.text);
            }
            // What a turn needs.
            output.line(cell(&answer.parse::<Value>()?["context_box_id"]))
        }
    }
}

fn dry(route: Route, dry_run: bool) -> Route {
    route.query("dry_run", dry_run.then_some(true))
}

impl CallArgs {
    fn body(&self) -> Result<Body<'_>, Failure> {
        let args = match self.args.as_deref() {
            None => None,
            Some(text) => Some(match text.strip_prefix('@') {
                Some(path) => Written::read(Path::new(path))?.into_json()?,
                None => serde_json::from_str(text)
                    .map_err(|error| Failure::usage(format!("`--args` does not hold JSON: {error}")))?,
            }),
        };
        Ok(Body {
            caller_agent_id: &self.caller,
            channel_id: self.channel.as_deref(),
            args,
            wait_ms: self.wait_ms,
        })
    }
}

/// How a call ended. A target that did not accept is a failure, told after its result.
fn called(answer: &Answer, output: Output) -> Result<(), Failure> {
    let call: Value = answer.parse()?;
    let result = &call["result"];
    if output.json {
        output.json(&answer.text)?;
    } else {
        let members = result.as_object().into_iter().flatten().filter(|(name, _)| *name != "error");
        let mut fields = vec![("tool_call_id", cell(&call["tool_call_id"]))];
        fields.extend(members.map(|(name, value)| (name.as_str(), cell(value))));
        fields.push(("tool_result_card_id", cell(&call["tool_result_card_id"])));
        output.fields(&fields)?;
    }
    if call["status"] == "success" || call["status"] == "accepted" {
        return Ok(());
    }
    if let Some(batch) = result["batch_id"].as_str() {
        let ended = format!("the batch ended as {}", cell(&call["status"]));
        return Err(Failure::failed(ended).hint(format!("`cardwire batch get {batch}` shows its tasks")));
    }
    let (code, message) = (cell(&result["error_code"]), cell(&result["error"]["message"]));
    Err(Failure::failed(format!("the call was not accepted: {code}: {message}"))
        .hint("`--dry-run` tells what would be handed over, without writing anything"))
}

/// What would be handed over, once for each task of a fork. Whatever keeps one from being sent is a failure.
fn preflight(answer: &Answer, output: Output) -> Result<(), Failure> {
    let told: Value = answer.parse()?;
    let tasks = told["tasks"].as_array();
    let handovers = tasks.map_or(std::slice::from_ref(&told["preflight"]), Vec::as_slice);
    if output.json {
        output.json(&answer.text)?;
    }
    let mut amiss = vec![];
    for (index, handover) in handovers.iter().enumerate() {
        let place = if tasks.is_some() { format!("task {index}: ") } else { String::new() };
        if !output.json {
            show(handover, &place, output)?;
        }
        amiss.extend(problems(handover).into_iter().map(|problem| format!("{place}{problem}")));
    }
    match amiss.is_empty() {
        true => Ok(()),
        false => Err(Failure::failed(format!("this cannot be handed over as it is: {}", amiss.join("; "))).hint(
            "hand on boxes of this project that the caller was given or has written, and no more than the model takes",
        )),
    }
}

/// One handover: its cards, and how the request would stand to what the model takes.
fn show(handover: &Value, place: &str, output: Output) -> Result<(), Failure> {
    let cards = handover["cards"].as_array().map_or(&[][..], Vec::as_slice);
    let names = ["card_id", "origin", "rule", "box_id", "type", "tokens"];
    let rows = cards.iter().map(|card| names.map(|name| cell(&card[name])).to_vec()).collect();
    output.table(&["CARD", "ORIGIN", "RULE", "BOX", "TYPE", "TOKENS"], rows)?;
    let tokens = &handover["tokens"];
    let (all, profile) = (cell(&tokens["total"]), cell(&tokens["profile"]));
    let room = match handover["window"].as_u64() {
        None => "the profile names no window".to_owned(),
        Some(window) => {
            let reserve = cell(&handover["reserve"]);
            let verdict = match (handover["valid"] == true, handover["fits"] == true) {
                (true, true) => "it fits".to_owned(),
                (true, false) => format!("{} tokens would be left out", cell(&handover["omitted_tokens"])),
                (false, _) => "it cannot be sent".to_owned(),
            };
            format!("the window is {window}, {reserve} of it for the answer: {verdict}")
        }
    };
    output.note(format_args!(
        "{place}about {all} tokens, {profile} of them the profile; {room}; nothing was written"
    ));
    Ok(())
}

/// Why a handover could not be sent.
fn problems(handover: &Value) -> Vec<String> {
    if handover["ok"] == true {
        return vec![];
    }
    let list = |name: &str| handover[name].as_array().map_or(&[][..], Vec::as_slice);
    let boxes: Vec<_> = list("missing_box_ids").iter().chain(list("denied_box_ids")).map(cell).collect();
    let mut problems = vec![];
    if !boxes.is_empty() {
        problems.push(format!("missing or not handed to the caller: {}", boxes.join(", ")));
    }
    let problem = &handover["problem"];
    if problem.is_object() {
        problems.push(format!("{}: {}", cell(&problem["code"]), cell(&problem["message"])));
    }
    problems
}
