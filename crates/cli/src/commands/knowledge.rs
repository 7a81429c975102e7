//! `cardwire knowledge`: documents that agents are shown passages of (KN-01..KN-04).

use super::knowledge_add;
use crate::{
    cli::{InNamespace, InProject, Page},
    client::{Answer, Client},
    failure::Failure,
    output::Output,
    route::Route,
    text::{cell, content},
};
use clap::{Args, Subcommand};
use serde_json::Value;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct KnowledgeArgs {
    #[command(flatten)]
    project: InProject,
    #[command(flatten)]
    namespace: InNamespace,
    #[command(subcommand)]
    command: KnowledgeCommand,
}

#[derive(Debug, Subcommand)]
enum KnowledgeCommand {
    /// Take in text files, and directories with everything below them. A document takes the place of what was known by
    /// its name, which is its path as given.
    Add {
        /// Files and directories. What is hidden or no UTF-8 text is skipped.
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// List documents by name.
    List {
        #[command(flatten)]
        page: Page,
    },
    /// Find the sections that fit a query best.
    Search {
        /// What to look for, in words.
        query: String,
        /// How many sections at most.
        #[arg(long, value_name = "N")]
        limit: Option<u32>,
        /// `full_text`, `semantic` or `hybrid`; the best the server can when absent.
        #[arg(long, value_name = "METHOD")]
        method: Option<String>,
        /// The least score; what it means depends on the method.
        #[arg(long, value_name = "SCORE")]
        score_threshold: Option<f64>,
    },
    /// Drop a document: it is found no more.
    Remove {
        /// Its name, as `list` shows it.
        source: String,
    },
}

pub(crate) async fn run(args: KnowledgeArgs, output: Output, client: &Client) -> Result<(), Failure> {
    let (project, namespace) = (args.project.name()?, args.namespace.namespace.as_deref());
    let route = Route::in_project(project, &["knowledge"])?;
    match args.command {
        KnowledgeCommand::Add { paths } => {
            knowledge_add::run(&paths, namespace, &route, output, client).await
        }
        KnowledgeCommand::List { page } => {
            list(client.get(&route.query("namespace", namespace).page(&page)).await?, output)
        }
        KnowledgeCommand::Search { query, limit, method, score_threshold } => {
            let route = route
                .verb("search")
                .query("query", Some(query))
                .query("namespace", namespace)
                .query("limit", limit)
                .query("method", method.as_deref())
                .query("score_threshold", score_threshold);
            found(client.get(&route).await?, output)
        }
        KnowledgeCommand::Remove { source } => {
            let route = route.query("source_id", Some(&source)).query("namespace", namespace);
            client.delete(&route).await?;
            if output.json { Ok(()) } else { output.line(format_args!("removed {source}")) }
        }
    }
}

fn list(answer: Answer, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.json(&answer.text);
    }
    let list: Value = answer.parse()?;
    let items = list["items"].as_array().map_or(&[][..], Vec::as_slice);
    let rows = items.iter().map(|item| vec![cell(&item["source_id"]), cell(&item["parts"])]).collect();
    output.table(&["SOURCE", "PARTS"], rows)?;
    output.more(&list["next_cursor"]);
    Ok(())
}

fn found(answer: Answer, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.json(&answer.text);
    }
    let list: Value = answer.parse()?;
    let items = list["items"].as_array().map_or(&[][..], Vec::as_slice);
    let row = |item: &Value| {
        let score = item["score"].as_f64().map_or_else(String::new, |score| format!("{score:.3}"));
        let [source, title, card] = ["source_id", "title", "card_id"].map(|name| cell(&item[name]));
        vec![source, title, score, card, content(item)]
    };
    let header = ["SOURCE", "TITLE", "SCORE", "CARD", "CONTENT"];
    output.table_with_preview(&header, items.iter().map(row).collect())
}
