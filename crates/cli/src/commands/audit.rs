//! `cardwire audit`.

use crate::{
    cli::{InProject, Page},
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
        #[command(flatten)]
        page: Page,
    },
}

pub(crate) async fn run(args: AuditArgs, output: Output, client: &Client) -> Result<(), Failure> {
    let AuditCommand::List { page } = args.command;
    let route = Route::in_project(args.project.name()?, &["audit"])?.page(&page);
    let answer = client.get(&route).await?;
    if output.json {
        return output.json(&answer.text);
    }
    let list: Value = answer.parse()?;
    let items = list["items"].as_array().map_or(&[][..], Vec::as_slice);
    let row = |row: &Value| {
        let place = if row["position"].is_null() { "not yet".to_owned() } else { cell(&row["position"]) };
        let mut cells = vec![cell(&row["seq"]), place];
        cells.extend(["at", "actor", "action", "verdict", "subject"].map(|name| cell(&row[name])));
        cells
    };
    let header = ["SEQ", "SEALED", "AT", "ACTOR", "ACTION", "VERDICT", "SUBJECT"];
    output.table(&header, items.iter().map(row).collect())?;
    output.more(&list["next_cursor"]);
    Ok(())
}
