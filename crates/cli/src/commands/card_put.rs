//! `cardwire card put`.

use crate::{client::Client, failure::Failure, output::Output, route::Route, text::cell};
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json, value::RawValue};
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// More than the server takes; reading on would only fill the memory.
const FILE_BYTES: u64 = 2 * cardwire_model::limits::BODY_BYTES as u64;

#[derive(Debug, Args)]
pub(crate) struct PutArgs {
    /// What the fact is, e.g. `task.instruction`.
    #[arg(long = "type", value_name = "TYPE")]
    kind: String,
    /// `system`, `user`, `assistant` or `tool`; by the type when absent.
    #[arg(long)]
    role: Option<String>,
    /// Who said it; for audit only.
    #[arg(long)]
    author: Option<String>,
    /// An id of your own; writing the same fact again under it does nothing.
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// How long the card lives.
    #[arg(long, value_name = "SECONDS")]
    ttl: Option<u32>,
    #[command(flatten)]
    content: ContentArgs,
    /// Take the file as JSON instead of text.
    #[arg(long, requires = "file")]
    as_json: bool,
    /// Add the card to this box afterwards.
    #[arg(long = "box", value_name = "BOX")]
    card_box: Option<String>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct ContentArgs {
    /// The content: a text.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
    /// The content: a JSON value.
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    content_json: Option<String>,
    /// The content: a file with text, or `-` for standard input.
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    card_id: Option<&'a str>,
    /// As it was given: what a number looks like is for the server to judge.
    content: Box<RawValue>,
    metadata: Metadata<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_seconds: Option<u32>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    r#type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    author_id: Option<&'a str>,
}

pub(crate) async fn run(
    args: &PutArgs,
    project: &str,
    output: Output,
    client: &Client,
) -> Result<(), Failure> {
    let body = Body {
        card_id: args.id.as_deref(),
        content: args.content.read(args.as_json)?,
        metadata: Metadata {
            r#type: &args.kind,
            role: args.role.as_deref(),
            author_id: args.author.as_deref(),
        },
        ttl_seconds: args.ttl,
    };
    let answer = client.post(&Route::in_project(project, &["l0", "cards"])?, &body).await?;
    let card: Value = answer.parse()?;
    let id = cell(&card["card_id"]);
    if let Some(card_box) = &args.card_box {
        append(card_box, &id, project, client).await?;
    }
    if output.json {
        return output.json(&answer.text);
    }
    output.line(&id)?;
    if card["idempotent"] == true {
        output.note("the same card was there already");
    }
    if card["suspected_credential"] == true {
        output.note("something in this card looks like a credential; people will not be shown its content");
    }
    Ok(())
}

async fn append(card_box: &str, card: &str, project: &str, client: &Client) -> Result<(), Failure> {
    let route = Route::in_project(project, &["l0", "boxes", card_box, "cards"])?;
    match client.post(&route, &json!({ "card_ids": [card] })).await {
        Ok(_) => Ok(()),
        // The card stays; whoever repeats the command would write another one.
        Err(failure) => {
            let message =
                format!("card {card} was written, but not added to box {card_box}: {}", failure.message);
            Err(Failure { message, ..failure }
                .hint(format!("`cardwire box append {card_box} {card}` adds it")))
        }
    }
}

impl ContentArgs {
    fn read(&self, as_json: bool) -> Result<Box<RawValue>, Failure> {
        match (&self.text, &self.content_json, &self.file) {
            (Some(text), _, _) => text_content(text),
            (_, Some(json), _) => json_content("--content-json", json),
            (_, _, Some(path)) => {
                let text = read_file(path)?;
                if as_json { json_content("--file", &text) } else { text_content(&text) }
            }
            (None, None, None) => Err(Failure::usage("no content is given")),
        }
    }
}

fn text_content(text: &str) -> Result<Box<RawValue>, Failure> {
    serde_json::value::to_raw_value(text).map_err(|error| Failure::failed(error.to_string()))
}

fn json_content(option: &str, json: &str) -> Result<Box<RawValue>, Failure> {
    serde_json::from_str(json)
        .map_err(|error| Failure::usage(format!("`{option}` does not hold JSON: {error}")))
}

/// A text file, or standard input for `-`.
pub(super) fn read_file(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = if path == Path::new("-") {
        io::stdin().lock().take(FILE_BYTES).read_to_string(&mut text)
    } else {
        File::open(path).and_then(|file| file.take(FILE_BYTES).read_to_string(&mut text))
    };
    match read {
        Ok(_) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(Failure::usage(format!("`{}` is not UTF-8 text", path.display())))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(Failure { code: crate::failure::Code::NotFound, ..Failure::file("read", path, &error) })
        }
        Err(error) => Err(Failure::file("read", path, &error)),
    }
}
