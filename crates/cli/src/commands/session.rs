//! `cardwire session`: what a team remembers of a conversation.

use super::written::Written;
use crate::{
    cli::{InNamespace, InProject, Page},
    client::{Answer, Client},
    failure::Failure,
    output::Output,
    route::Route,
    text::{cell, content, count},
};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    #[command(flatten)]
    project: InProject,
    #[command(flatten)]
    namespace: InNamespace,
    #[command(subcommand)]
    command: SessionCommand,
}

#[derive(Debug, Subcommand)]
enum SessionCommand {
    /// List sessions by name.
    List {
        #[command(flatten)]
        page: Page,
    },
    /// Show a session: its fields, then its messages.
    #[command(visible_alias = "show")]
    Get {
        /// Its name.
        session: String,
        /// As it was at this checkpoint.
        #[arg(long, value_name = "CARD")]
        checkpoint: Option<String>,
        /// How many messages, results and timeline entries at most, the newest.
        #[arg(long, value_name = "N")]
        limit: Option<u32>,
        /// Only those before this place, as `earlier` of the answer says.
        #[arg(long, value_name = "PLACE")]
        before: Option<u32>,
    },
    /// Change a session, or make it.
    Patch {
        /// Its name.
        session: String,
        /// A file with the patch, as JSON or YAML: `{messages: {append: […]}, set: {…}, …}`; `-` for standard
        /// input.
        #[arg(long, value_name = "FILE")]
        from: PathBuf,
    },
    /// Put a summary in the place of older messages. They stay readable with `cardwire context expand`.
    Compact {
        /// Its name.
        session: String,
        /// The summary; what the one before it says stays in front of it. When absent a summariser is asked, which this server does not have yet.
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        summary: Option<String>,
        /// How many messages at the end stay.
        #[arg(long, value_name = "N")]
        keep: Option<u32>,
    },
    /// List what a session was, newest first.
    Checkpoints {
        /// Its name.
        session: String,
        #[command(flatten)]
        page: Page,
    },
    /// Put a session back to what it was.
    Restore {
        /// Its name.
        session: String,
        /// As it was at this checkpoint.
        #[arg(value_name = "CHECKPOINT")]
        checkpoint: String,
    },
    /// Delete a session and what it remembers.
    Delete {
        /// Its name.
        session: String,
    },
}

pub(crate) async fn run(args: SessionArgs, output: Output, client: &Client) -> Result<(), Failure> {
    let (project, namespace) = (args.project.name()?, args.namespace.namespace.as_deref());
    let route = |segments: &[&str]| Route::in_project(project, &[&["sessions"], segments].concat());
    let named = |route: Route| route.query("namespace", namespace);
    match args.command {
        SessionCommand::List { page } => list(client.get(&named(route(&[])?.page(&page))).await?, output),
        SessionCommand::Get { session, checkpoint, limit, before } => {
            let route = named(route(&[&session])?)
                .query("checkpoint", checkpoint.as_deref())
                .query("limit", limit)
                .query("before", before);
            show(client.get(&route).await?, output)
        }
        SessionCommand::Patch { session, from } => {
            let body = Written::read(&from)?.into_json()?;
            patched(client.post(&named(route(&[&session, "patches"])?), &body).await?, output)
        }
        SessionCommand::Compact { session, summary, keep } => {
            let mut body = json!({});
            if let Some(summary) = summary {
                body["summary"] = summary.into();
            }
            if let Some(keep) = keep {
                body["min_keep_entries"] = keep.into();
            }
            let route = named(route(&[&session])?.verb("compact"));
            compacted(&session, client.post(&route, &body).await?, output)
        }
        SessionCommand::Checkpoints { session, page } => {
            let route = named(route(&[&session, "checkpoints"])?.page(&page));
            checkpoints(client.get(&route).await?, output)
        }
        SessionCommand::Restore { session, checkpoint } => {
            let route = named(route(&[&session])?.verb("restore"));
            let answer = client.post(&route, &json!({ "checkpoint_id": checkpoint })).await?;
            if output.json {
                return output.json(&answer.text);
            }
            let version = cell(&answer.parse::<Value>()?["version"]);
            output.line(format_args!("session {session} is what it was, at version {version}"))
        }
        SessionCommand::Delete { session } => {
            client.delete(&named(route(&[&session])?).takes_long()).await?;
            if output.json { Ok(()) } else { output.line(format_args!("deleted session {session}")) }
        }
    }
}

fn list(answer: Answer, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.json(&answer.text);
    }
    let list: Value = answer.parse()?;
    let items = list["items"].as_array().map_or(&[][..], Vec::as_slice);
    let names = ["session_id", "version", "checkpoint_id", "created_at", "updated_at"];
    let rows = items.iter().map(|session| names.map(|name| cell(&session[name])).to_vec()).collect();
    output.table(&["SESSION", "VERSION", "CHECKPOINT", "CREATED", "UPDATED"], rows)?;
    output.more(&list["next_cursor"]);
    Ok(())
}

/// What is set, and then what was said. The lists of results and events are told by their length.
fn show(answer: Answer, output: Output) -> Result<(), Failure> {
    const FIRST: [&str; 5] = ["session_id", "namespace", "version", "checkpoint_id", "memory_box_id"];
    const LISTS: [&str; 3] = ["messages", "mapreduce_results", "timeline"];
    const LAST: [&str; 3] = ["created_at", "updated_at", "compression__context"];
    if output.json {
        return output.json(&answer.text);
    }
    let session: Value = answer.parse()?;
    let list = |name: &str| session[name].as_array().map_or(&[][..], Vec::as_slice);
    let members = session.as_object().into_iter().flat_map(|members| members.keys()).map(String::as_str);
    let own = members.filter(|name| ![&FIRST[..], &LISTS, &LAST].concat().contains(name));
    let is_set = |value: &Value| {
        !(value.is_null() || value.as_array().is_some_and(Vec::is_empty) || *value == json!({}))
    };
    let names = FIRST.into_iter().chain(own).chain(LAST).filter(|name| is_set(&session[*name]));
    let mut fields: Vec<_> = names.map(|name| (name, cell(&session[name]))).collect();
    for name in LISTS {
        fields.push((name, list(name).len().to_string()));
    }
    output.fields(&fields)?;
    let messages = list("messages");
    if messages.is_empty() {
        return Ok(());
    }
    output.line("")?;
    let row = |message: &Value| {
        let mut row = ["role", "card_id", "origin"].map(|name| cell(&message[name])).to_vec();
        row.push(said(message));
        row
    };
    output.table_with_preview(&["ROLE", "CARD", "ORIGIN", "CONTENT"], messages.iter().map(row).collect())
}

/// What a message says, or what it calls.
pub(super) fn said(message: &Value) -> String {
    let content = content(message);
    match message["tool_calls"].as_array() {
        Some(calls) if content.is_empty() => format!("calls {}", cell(&json!(calls))),
        Some(_) | None => content,
    }
}

fn patched(answer: Answer, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.json(&answer.text);
    }
    let session: Value = answer.parse()?;
    let (name, version) = (cell(&session["session_id"]), cell(&session["version"]));
    let messages = count(session["message_count"].as_u64().unwrap_or(0), "message", "messages");
    output.line(format_args!("session {name} is at version {version}, with {messages}"))?;
    if session["changed"] == false {
        output.note("it was like that already; nothing was written");
    }
    Ok(())
}

/// A summary that could not be made is a failure; everything is as it was (CP-06).
fn compacted(name: &str, answer: Answer, output: Output) -> Result<(), Failure> {
    let done: Value = answer.parse()?;
    if output.json {
        output.json(&answer.text)?;
    } else if done["compacted"] == true {
        let covered = count(done["covered"].as_u64().unwrap_or(0), "message", "messages");
        let version = cell(&done["version"]);
        output
            .line(format_args!("a summary stands for {covered} of session {name}, at version {version}"))?;
    } else if done["success"] == true {
        output.line(format_args!("session {name} is too short to be compacted"))?;
    }
    if done["success"] == true {
        return Ok(());
    }
    Err(Failure::failed(format!("session {name} was not compacted: {}", cell(&done["error"])))
        .hint("give a summary of your own with `--summary TEXT`"))
}

fn checkpoints(answer: Answer, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.json(&answer.text);
    }
    let list: Value = answer.parse()?;
    let items = list["items"].as_array().map_or(&[][..], Vec::as_slice);
    let names = ["checkpoint_id", "version", "message_count", "created_at"];
    let rows = items.iter().map(|item| names.map(|name| cell(&item[name])).to_vec()).collect();
    output.table(&["CHECKPOINT", "VERSION", "MESSAGES", "CREATED"], rows)?;
    output.more(&list["next_cursor"]);
    Ok(())
}
