//! `cardwire experience`: what came of a session, for later ones (EX-01).

use super::written::Written;
use crate::{
    cli::{InNamespace, InProject},
    client::{Answer, Client},
    failure::Failure,
    output::Output,
    route::Route,
    text::cell,
};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct ExperienceArgs {
    #[command(flatten)]
    project: InProject,
    #[command(flatten)]
    namespace: InNamespace,
    #[command(subcommand)]
    command: ExperienceCommand,
}

#[derive(Debug, Subcommand)]
enum ExperienceCommand {
    /// Show what is known so far.
    #[command(visible_alias = "show")]
    Get {
        /// Of which session.
        session: String,
    },
    /// Add to what is known; nobody finds it before it is saved.
    Note {
        /// Of which session.
        session: String,
        /// A file with what is to be added, as JSON or YAML: `{goal, outcome, summary, tools, agents, …}`; `-` for
        /// standard input.
        #[arg(long, value_name = "FILE")]
        from: PathBuf,
    },
    /// Save it, so that later sessions find it.
    Save {
        /// Of which session.
        session: String,
        /// What you say about it.
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        feedback: Option<String>,
    },
}

pub(crate) async fn run(args: ExperienceArgs, output: Output, client: &Client) -> Result<(), Failure> {
    let project = args.project.name()?;
    let route = |session: &str| Route::in_project(project, &["sessions", session, "experience"]);
    let named = |route: Route| route.query("namespace", args.namespace.namespace.as_deref());
    match args.command {
        ExperienceCommand::Get { session } => {
            let answer = client.get(&named(route(&session)?)).await?;
            if output.json { output.json(&answer.text) } else { show(&answer.parse()?, output) }
        }
        ExperienceCommand::Note { session, from } => {
            let body = Written::read(&from)?.into_json()?;
            let answer = client.post(&named(route(&session)?), &body).await?;
            if output.json {
                return output.json(&answer.text);
            }
            show(&answer.parse::<Value>()?["experience"], output)
        }
        ExperienceCommand::Save { session, feedback } => {
            let body = feedback.map_or_else(|| json!({}), |text| json!({ "feedback": text }));
            let answer = client.post(&named(route(&session)?.verb("save")), &body).await?;
            if saved(&session, &answer, output)? {
                return Ok(());
            }
            // Nothing to save is told like anything else that is not there.
            client.get(&named(route(&session)?)).await?;
            let reason = cell(&answer.parse::<Value>()?["reason"]);
            Err(Failure::failed(format!("the experience of session {session} was not saved: {reason}"))
                .hint("it is kept; save it again later"))
        }
    }
}

fn show(record: &Value, output: Output) -> Result<(), Failure> {
    let members = record.as_object().into_iter().flatten();
    let fields: Vec<_> = members.map(|(name, value)| (name.as_str(), cell(value))).collect();
    output.fields(&fields)
}

/// Tells what was saved, and whether.
fn saved(session: &str, answer: &Answer, output: Output) -> Result<bool, Failure> {
    let is_saved = answer.parse::<Value>()?["saved"] == true;
    if output.json {
        output.json(&answer.text)?;
    } else if is_saved {
        output.line(format_args!("saved the experience of session {session}"))?;
    }
    Ok(is_saved)
}
