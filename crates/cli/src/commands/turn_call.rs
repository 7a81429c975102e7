//! `cardwire turn call`: compose the next request of a turn to its model, and keep the record of it.

use super::written::Written;
use crate::{
    client::Client,
    failure::Failure,
    output::Output,
    route::Route,
    text::{cell, clean, count},
};
use clap::Args;
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// The turn, `turn_…`. Somebody has to have started it.
    turn: String,
    /// Its epoch: a turn that was taken away composes nothing.
    #[arg(long, value_name = "N")]
    epoch: u64,
    /// Which model; what the profile's llm_config says when absent.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// In whose format: `openai-chat` or `anthropic-messages`.
    #[arg(long, value_name = "PROVIDER")]
    provider: Option<String>,
    /// A file with the list of tools, in the provider's form, as JSON or YAML; `-` for standard input.
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// How many tokens the model takes.
    #[arg(long, value_name = "N")]
    window: Option<u32>,
}

#[derive(Serialize)]
struct Body<'a> {
    turn_epoch: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a str>,
    /// As they were given: the request repeats them byte for byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<u32>,
}

pub(crate) async fn run(
    args: &CallArgs,
    project: &str,
    output: Output,
    client: &Client,
) -> Result<(), Failure> {
    let tools = args.tools.as_deref().map(|path| Written::read(path)?.into_json()).transpose()?;
    let body = Body {
        turn_epoch: args.epoch,
        model: args.model.as_deref(),
        provider: args.provider.as_deref(),
        tools,
        window: args.window,
    };
    let answer =
        client.post(&Route::in_project(project, &["l0", "turns", &args.turn, "calls"])?, &body).await?;
    if output.json {
        return output.json(&answer.text);
    }
    let call: Value = answer.parse()?;
    // What `context show` needs.
    output.line(cell(&call["call_id"]))?;
    let tokens = count(call["total_tokens"].as_u64().unwrap_or(0), "token", "tokens");
    let shared = cell(&call["shared_prefix_tokens"]);
    output.note(format_args!("{tokens}, {shared} of them at the start as in the call before"));
    for warning in call["warnings"].as_array().into_iter().flatten() {
        output.note(clean(&cell(warning)));
    }
    let omitted = call["omissions"].as_array().map_or(0, Vec::len) as u64;
    if omitted > 0 {
        let entries = count(omitted, "entry was", "entries were");
        output.note(format_args!("{entries} left out; `--json` tells which"));
    }
    Ok(())
}
