//! `cardwire audit`.

use crate::{
    cli::{InProject, Made, Page},
    client::Client,
    failure::Failure,
    output::Output,
    route::Route,
    text::cell,
};
use clap::{Args, Subcommand};
use serde_json::Value;

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    #[command(flatten)]
    project: InProject,
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// List audit rows, newest first.
    List {
        /// Only what this one did: the id of a token or of a turn, or a part of the system.
        #[arg(long)]
        actor: Option<String>,
        /// Only this, e.g. card.delete.
        #[arg(long)]
        action: Option<String>,
        /// Only what was done to this.
        #[arg(long)]
        subject: Option<String>,
        /// Only what was allowed or denied.
        #[arg(long)]
        verdict: Option<String>,
        #[command(flatten)]
        made: Made,
        #[command(flatten)]
        page: Page,
    },
}

pub(crate) async fn run(args: AuditArgs, output: Output, client: &Client) -> Result<(), Failure> {
    let AuditCommand::List { actor, action, subject, verdict, made, page } = args.command;
    let route = Route::in_project(args.project.name()?, &["audit"])?
        .query("actor", actor)
        .query("action", action)
        .query("subject", subject)
        .query("verdict", verdict);
    let answer = client.get(&route.made(&made).page(&page)).await?;
    let row = |row: &Value| {
        let place = if row["position"].is_null() { "not yet".to_owned() } else { cell(&row["position"]) };
        let mut cells = vec![cell(&row["seq"]), place];
        cells.extend(["at", "actor", "action", "verdict", "subject"].map(|name| cell(&row[name])));
        cells
    };
    let header = ["SEQ", "SEALED", "AT", "ACTOR", "ACTION", "VERDICT", "SUBJECT"];
    output.page(&answer, &header, row)
}
