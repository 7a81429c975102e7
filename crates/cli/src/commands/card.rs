//! `cardwire card`.

use super::{card_get, card_put};
use crate::{
    cli::InProject, client::Client, failure::Failure, output::Output, route::Route, text, text::cell,
};
use clap::{Args, Subcommand};
use serde_json::Value;

#[derive(Debug, Args)]
pub(crate) struct CardArgs {
    #[command(flatten)]
    project: InProject,
    #[command(subcommand)]
    command: CardCommand,
}

#[derive(Debug, Subcommand)]
enum CardCommand {
    /// Show cards in the order given; those that are not there are skipped.
    Get(card_get::GetArgs),
    /// Write a card.
    Put(Box<card_put::PutArgs>),
    /// Delete a card. It stays in its boxes and can be shown with `get --include-deleted`.
    Delete {
        /// Its id.
        id: String,
    },
}

pub(crate) async fn run(args: CardArgs, output: Output, client: &Client) -> Result<(), Failure> {
    let project = args.project.name()?;
    match args.command {
        CardCommand::Get(args) => card_get::run(&args, project, output, client).await,
        CardCommand::Put(args) => card_put::run(&args, project, output, client).await,
        CardCommand::Delete { id } => {
            client.delete(&Route::in_project(project, &["l0", "cards", &id])?).await?;
            if output.json { Ok(()) } else { output.line(format_args!("deleted card {id}")) }
        }
    }
}

/// Cards for people.
pub(crate) fn table<'a>(cards: impl Iterator<Item = &'a Value>, output: Output) -> Result<(), Failure> {
    let row = |card: &Value| {
        let mut row = ["card_id", "type", "role", "origin"].map(|name| cell(&card[name])).to_vec();
        let gone = if card["deleted_at"].is_null() { "" } else { "(deleted) " };
        row.push(format!("{gone}{}", text::content(card)));
        row
    };
    output.table_with_preview(&["CARD", "TYPE", "ROLE", "ORIGIN", "CONTENT"], cards.map(row).collect())
}
