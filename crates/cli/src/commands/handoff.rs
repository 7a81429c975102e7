//! `cardwire handoff`: packages of paths and an index, made, checked, sent, shown and loaded (API-12, API-15).

use super::{
    document::{self, DocumentArgs},
    handoff_check, handoff_load, handoff_new, handoff_send,
};
use crate::{
    cli::{InProject, Page},
    client::{Answer, Client},
    context::Context,
    failure::Failure,
    locate::{self, Init},
    output::Output,
    route::Route,
    text::cell,
};
use clap::{Args, Subcommand};
use serde_json::Value;

#[derive(Debug, Args)]
pub(crate) struct HandoffArgs {
    #[command(subcommand)]
    command: HandoffCommand,
}

#[derive(Debug, Subcommand)]
enum HandoffCommand {
    /// Make a package: of design files, or of a directory of results.
    New(handoff_new::NewArgs),
    /// Check a package, a report, or a directory of results, and print every problem.
    Validate(handoff_check::ValidateArgs),
    #[command(flatten)]
    Ask(HandoffAsk),
}

/// Commands that are requests.
#[derive(Debug, Subcommand)]
enum HandoffAsk {
    /// Hand a package over; with --to, an agent is given it and something to do.
    Send(handoff_send::SendArgs),
    /// List packages, the oldest first.
    List {
        #[command(flatten)]
        project: InProject,
        #[command(flatten)]
        page: Page,
    },
    /// Show a package.
    #[command(visible_alias = "get")]
    Show {
        /// Its id.
        id: String,
        #[command(flatten)]
        project: InProject,
    },
    /// Load what a package refers to, under a budget of tokens.
    Load(handoff_load::LoadArgs),
    /// Show the report of a package: its problems, and what to change first.
    Report {
        /// The id of the package.
        id: String,
        #[command(flatten)]
        project: InProject,
    },
    /// Write and read further kinds of packages, each with its JSON Schema.
    Type(DocumentArgs),
}

pub(crate) async fn run(args: HandoffArgs, context: &Context) -> Result<(), Failure> {
    match args.command {
        // These need files only, so that they work where there is no server and no store.
        HandoffCommand::New(args) => handoff_new::run(args, context).await,
        HandoffCommand::Validate(args) => handoff_check::run(args, context).await,
        HandoffCommand::Ask(command) => {
            let client = locate::connect(context, Init::Never).await?;
            let outcome = ask(command, context.output, &client).await;
            client.close().await;
            outcome
        }
    }
}

async fn ask(command: HandoffAsk, output: Output, client: &Client) -> Result<(), Failure> {
    match command {
        HandoffAsk::Send(args) => handoff_send::run(args, output, client).await,
        HandoffAsk::List { project, page } => {
            let route = Route::in_project(project.name()?, &["handoffs"])?.page(&page);
            list(client.get(&route).await?, output)
        }
        HandoffAsk::Show { id, project } => {
            let route = Route::in_project(project.name()?, &["handoffs", &id])?;
            show(client.get(&route).await?, output)
        }
        HandoffAsk::Load(args) => handoff_load::run(args, output, client).await,
        HandoffAsk::Report { id, project } => handoff_load::report(&id, &project, output, client).await,
        HandoffAsk::Type(args) => document::run(document::Kind::HandoffType, args, output, client).await,
    }
}

fn list(answer: Answer, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.json(&answer.text);
    }
    let list: Value = answer.parse()?;
    let items = list["items"].as_array().map_or(&[][..], Vec::as_slice);
    let row = |item: &Value| {
        let names = ["handoff_id", "handoff_type", "token_estimate", "timestamp", "box_id"];
        names.map(|name| cell(&item[name])).to_vec()
    };
    output.table(&["HANDOFF", "TYPE", "TOKENS", "TIMESTAMP", "BOX"], items.iter().map(row).collect())?;
    output.more(&list["next_cursor"]);
    Ok(())
}

fn show(answer: Answer, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.json(&answer.text);
    }
    let shown: Value = answer.parse()?;
    let fields = ["handoff_id", "handoff_type", "timestamp", "token_estimate", "card_id", "box_id"];
    output.fields(&fields.map(|name| (name, cell(&shown[name]))))?;
    let package = &shown["package"];
    let samples = package["failure_samples_index"].as_array().map_or(&[][..], Vec::as_slice);
    if samples.is_empty() {
        return output.line(crate::pretty::indent(&package.to_string()));
    }
    output.fields(&[
        ("directory", cell(&package["execution_output_dir"])),
        ("reason", cell(&package["trigger_reason"])),
    ])?;
    let row = |sample: &Value| {
        let failed = sample["checkers_failed"].as_array().into_iter().flatten();
        let failed: Vec<&str> = failed.filter_map(Value::as_str).collect();
        let [id, priority, kind] = ["sample_id", "priority", "failure_type"].map(|name| cell(&sample[name]));
        vec![id, priority, kind, failed.join(", ")]
    };
    output.table_with_preview(
        &["SAMPLE", "PRIORITY", "FAILURE", "CHECKERS"],
        samples.iter().map(row).collect(),
    )?;
    for suggestion in package["modification_suggestions_summary"].as_array().into_iter().flatten() {
        output.line(format_args!("- {}", crate::text::clean(&cell(suggestion))))?;
    }
    Ok(())
}
