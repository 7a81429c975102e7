//! `cardwire context`: what models are sent, and why (RP-02..RP-04).

use super::{card, context_diff, context_show, session::said, written::Written};
use crate::{
    cli::InProject,
    client::{Answer, Client},
    failure::Failure,
    output::Output,
    route::Route,
    text::{cell, clean, clean_lines, count},
};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct ContextArgs {
    #[command(flatten)]
    project: InProject,
    #[command(subcommand)]
    command: ContextCommand,
}

#[derive(Debug, Subcommand)]
enum ContextCommand {
    /// Compose messages from what is given. Nothing is read or written, and no project is needed.
    Compose {
        /// A file with `{system_prompt, contexts, checkpoint_messages, query}`, as JSON or YAML; `-` for standard
        /// input.
        #[arg(long, value_name = "FILE")]
        from: PathBuf,
    },
    /// Show the blocks that a session would be given now.
    Collect(CollectArgs),
    /// Show what a call sent: render it again, and hold it against the hash of what was sent.
    Show {
        /// The call.
        call: String,
        /// Print the request itself, byte for byte.
        #[arg(long)]
        render: bool,
    },
    /// Show what came and went between two calls, by layer and card.
    Diff {
        /// A call, or a turn (its last call).
        left: String,
        /// The other one.
        right: String,
    },
    /// Tell why a card is in a call.
    Why(WhyArgs),
    /// Tell why a card is not in a call, and what it would have cost.
    WhyNot(WhyArgs),
    /// Show the messages that a summary stands for.
    Expand {
        /// The card of the summary.
        #[arg(value_name = "SUMMARY_CARD")]
        card: String,
    },
}

#[derive(Debug, Args)]
struct CollectArgs {
    /// Which session.
    session: String,
    /// Whose session; `default` when absent.
    #[arg(long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// In which role of which process, e.g. `sequential` or `map_reduce_worker`.
    #[arg(long, value_name = "PROCESS")]
    process: Option<String>,
    /// Share nothing, as a team with `enable_share_context: false`.
    #[arg(long)]
    no_share: bool,
    /// What is asked; what the session was asked last when absent.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    query: Option<String>,
}

#[derive(Debug, Args)]
struct WhyArgs {
    /// The call.
    call: String,
    /// The card.
    card: String,
}

pub(crate) async fn run(args: ContextArgs, output: Output, client: &Client) -> Result<(), Failure> {
    let project = || args.project.name();
    match args.command {
        ContextCommand::Compose { from } => {
            let body = Written::read(&from)?.into_json()?;
            composed(client.post(&Route::new(&["context", "compose"])?, &body).await?, output)
        }
        ContextCommand::Collect(collect) => {
            let route = Route::in_project(project()?, &["sessions", &collect.session, "context"])?;
            let route = route.verb("collect").query("namespace", collect.namespace.as_deref());
            collected(client.post(&route, &collect.body()).await?, output)
        }
        ContextCommand::Show { call, render } => {
            let route = Route::in_project(project()?, &["calls", &call, "context"])?;
            context_show::show(client.get(&route.query("render", Some(true))).await?, render, output)
        }
        ContextCommand::Diff { left, right } => {
            let route = Route::in_project(project()?, &["context"])?.verb("diff");
            let route = route.query("left", Some(left)).query("right", Some(right));
            context_diff::show(client.get(&route).await?, output)
        }
        ContextCommand::Why(asked) | ContextCommand::WhyNot(asked) => {
            let route = Route::in_project(project()?, &["context"])?.verb("why");
            let route = route.query("call", Some(asked.call)).query("card", Some(asked.card));
            why(client.get(&route).await?, output)
        }
        ContextCommand::Expand { card } => {
            let route = Route::in_project(project()?, &["context"])?.verb("expand").query("card", Some(card));
            expanded(client.get(&route).await?, output)
        }
    }
}

impl CollectArgs {
    fn body(&self) -> Value {
        let mut body = json!({ "enable_share_context": !self.no_share });
        for (name, value) in [("process", &self.process), ("query", &self.query)] {
            if let Some(value) = value {
                body[name] = value.clone().into();
            }
        }
        body
    }
}

fn composed(answer: Answer, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.json(&answer.text);
    }
    let composed: Value = answer.parse()?;
    let messages = composed["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let row = |message: &Value| {
        let key = cell(&message["metadata"]["context_key"]);
        vec![cell(&message["role"]), key, said(message)]
    };
    output.table_with_preview(&["ROLE", "BLOCK", "CONTENT"], messages.iter().map(row).collect())?;
    let tokens = count(composed["manifest"]["total_tokens"].as_u64().unwrap_or(0), "token", "tokens");
    let omitted = composed["omissions"].as_array().map_or(0, Vec::len);
    output.note(format_args!("{tokens}; {omitted} left out"));
    Ok(())
}

/// The blocks as they are: they are written to be read.
fn collected(answer: Answer, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.json(&answer.text);
    }
    let collected: Value = answer.parse()?;
    for (key, text) in collected["contexts"].as_object().into_iter().flatten() {
        output.line(format_args!("{}:\n{}\n", clean(key), clean_lines(&cell(text))))?;
    }
    for warning in collected["warnings"].as_array().into_iter().flatten() {
        output.note(clean(&cell(warning)));
    }
    Ok(())
}

/// One line: whether, by which rule, and at what price.
fn why(answer: Answer, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.json(&answer.text);
    }
    let why: Value = answer.parse()?;
    let tokens = count(why["tokens"].as_u64().unwrap_or(0), "token", "tokens");
    let [reason, rule] = ["reason", "rule"].map(|name| cell(&why[name]));
    let layer = why["layer"].as_str().map_or_else(String::new, |layer| format!(" in layer {layer}"));
    let (what, price) = match why["included"] == true {
        true => ("included", tokens),
        false => ("left out", format!("would have cost {tokens}")),
    };
    output.line(clean(&format!("{what}{layer} ({reason}, {price}): {rule}")))
}

fn expanded(answer: Answer, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.json(&answer.text);
    }
    let expanded: Value = answer.parse()?;
    output.line(format_args!("{}\n", clean_lines(&cell(&expanded["summary"]))))?;
    card::table(expanded["cards"].as_array().into_iter().flatten(), output)
}
