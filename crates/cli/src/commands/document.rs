//! `cardwire tool`, `recipe`, `team` and `plan`: documents under names, written in files.

use super::written::Written;
use crate::{
    cli::{InProject, Page},
    client::{Answer, Client},
    failure::Failure,
    output::Output,
    route::Route,
    text::cell,
};
use clap::{Args, Subcommand};
use serde_json::Value;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(crate) struct DocumentArgs {
    #[command(flatten)]
    project: InProject,
    #[command(subcommand)]
    command: DocumentCommand,
}

#[derive(Debug, Subcommand)]
enum DocumentCommand {
    /// List them by name.
    List {
        #[command(flatten)]
        page: Page,
    },
    /// Show one.
    #[command(visible_alias = "show")]
    Get {
        /// Its name.
        name: String,
    },
    /// Write one; the same text again changes nothing.
    Put {
        /// A file with JSON or YAML, by the end of its name; `-` for standard input.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Its name, where the file does not say it.
        #[arg(long)]
        name: Option<String>,
    },
    /// Delete one.
    Delete {
        /// Its name.
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    project: InProject,
    #[command(subcommand)]
    command: PlanCommand,
}

#[derive(Debug, Subcommand)]
enum PlanCommand {
    /// Show the plan.
    #[command(visible_alias = "show")]
    Get,
    /// Write the plan: any object.
    Put {
        /// A file with JSON or YAML, by the end of its name; `-` for standard input.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Delete the plan.
    Delete,
}

/// What a document is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Tool,
    Recipe,
    Team,
    HandoffType,
}

impl Kind {
    const fn noun(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Recipe => "recipe",
            Self::Team => "team",
            Self::HandoffType => "type",
        }
    }

    const fn route(self) -> &'static str {
        match self {
            Self::Tool => "tools",
            Self::Recipe => "recipes",
            Self::Team => "teams",
            Self::HandoffType => "handoff-types",
        }
    }

    /// What a list shows: headers, and the members below them. The last is cut to the width of the terminal.
    const fn columns(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Self::Tool => (
                &["TOOL", "AFTER", "APPROVAL", "UPDATED", "DESCRIPTION"],
                &["name", "after_execution", "approval", "updated_at", "description"],
            ),
            Self::Recipe => (&["RECIPE", "UPDATED", "DESCRIPTION"], &["name", "updated_at", "description"]),
            Self::HandoffType => {
                (&["TYPE", "UPDATED", "DESCRIPTION"], &["name", "updated_at", "description"])
            }
            Self::Team => {
                (&["TEAM", "PROCESS", "UPDATED", "AGENTS"], &["name", "process", "updated_at", "agents"])
            }
        }
    }
}

pub(crate) async fn run(
    kind: Kind,
    args: DocumentArgs,
    output: Output,
    client: &Client,
) -> Result<(), Failure> {
    let project = args.project.name()?;
    let route = |name: &str| Route::in_project(project, &[kind.route(), name]);
    match args.command {
        DocumentCommand::List { page } => list(kind, &page, project, output, client).await,
        DocumentCommand::Get { name } => show(client.get(&route(&name)?).await?, output),
        DocumentCommand::Put { file, name } => {
            let written = Written::read(&file)?;
            let name = written.name(name.as_deref())?;
            let answer = client.put(&route(&name)?, written.into_payload()).await?;
            if output.json { output.json(&answer.text) } else { said("wrote", kind, &name, output) }
        }
        DocumentCommand::Delete { name } => {
            client.delete(&route(&name)?).await?;
            if output.json { Ok(()) } else { said("deleted", kind, &name, output) }
        }
    }
}

pub(crate) async fn plan(args: PlanArgs, output: Output, client: &Client) -> Result<(), Failure> {
    let route = Route::in_project(args.project.name()?, &["plan"])?;
    match args.command {
        PlanCommand::Get => show(client.get(&route).await?, output),
        PlanCommand::Put { file } => write_plan(&file, &route, output, client).await,
        PlanCommand::Delete => {
            client.delete(&route).await?;
            if output.json { Ok(()) } else { output.line("deleted the plan") }
        }
    }
}

async fn write_plan(file: &Path, route: &Route, output: Output, client: &Client) -> Result<(), Failure> {
    let answer = client.put(route, Written::read(file)?.into_payload()).await?;
    if output.json { output.json(&answer.text) } else { output.line("wrote the plan") }
}

fn said(what: &str, kind: Kind, name: &str, output: Output) -> Result<(), Failure> {
    output.line(format_args!("{what} {} {name}", kind.noun()))
}

async fn list(
    kind: Kind,
    page: &Page,
    project: &str,
    output: Output,
    client: &Client,
) -> Result<(), Failure> {
    let answer = client.get(&Route::in_project(project, &[kind.route()])?.page(page)).await?;
    if output.json {
        return output.json(&answer.text);
    }
    let list: Value = answer.parse()?;
    let items = list["items"].as_array().map_or(&[][..], Vec::as_slice);
    let (header, names) = kind.columns();
    let shown = |value: &Value| match value.as_array() {
        Some(agents) => agents.iter().map(|agent| cell(&agent["id"])).collect::<Vec<_>>().join(", "),
        None => cell(value),
    };
    let row = |item: &Value| names.iter().map(|name| shown(&item[*name])).collect();
    output.table_with_preview(header, items.iter().map(row).collect())?;
    output.more(&list["next_cursor"]);
    Ok(())
}

/// What it says, between its name and what is known of it.
fn show(answer: Answer, output: Output) -> Result<(), Failure> {
    const FIRST: [&str; 2] = ["name", "description"];
    const LAST: [&str; 3] = ["card_id", "created_at", "updated_at"];
    if output.json {
        return output.json(&answer.text);
    }
    let document: Value = answer.parse()?;
    let members = document.as_object().into_iter().flat_map(|members| members.keys());
    let own = members.map(String::as_str).filter(|name| !FIRST.contains(name) && !LAST.contains(name));
    let first = FIRST.into_iter().filter(|name| document.get(name).is_some());
    let fields: Vec<_> = first.chain(own).chain(LAST).map(|name| (name, cell(&document[name]))).collect();
    output.fields(&fields)
}
