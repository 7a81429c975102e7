//! `cardwire handoff send`: the package is stored; with `--to` an agent is given it as its context.

use super::{
    handoff_check::{PackageArgs, problems},
    written::Written,
};
use crate::{
    client::{Client, Payload},
    failure::Failure,
    output::Output,
    route::Route,
    text::cell,
};
use axum::http::Method;
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// The package, as JSON or YAML; `-` for standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    package: PackageArgs,
    /// The agent that is given the package.
    #[arg(long, value_name = "AGENT", requires = "from")]
    to: Option<String>,
    /// The agent in whose name it is given.
    #[arg(long, value_name = "AGENT", requires = "to")]
    from: Option<String>,
    /// What the agent is to do with it.
    #[arg(
        long,
        value_name = "TEXT",
        requires = "to",
        default_value = "You were handed a package. Load what you need of it and act on it."
    )]
    instruction: String,
}

pub(crate) async fn run(args: SendArgs, output: Output, client: &Client) -> Result<(), Failure> {
    let project = args.package.project.name()?;
    let route = args.package.on(Route::in_project(project, &["handoffs"])?).takes_long();
    let body = Payload::json(Written::read(&args.file)?.into_json()?.get().to_owned());
    let answer = client.ask(Method::POST, &route, Some(body)).await?;
    let mut sent: Value = serde_json::from_str(&answer.text).unwrap_or_default();
    if !(200..300).contains(&answer.status) {
        if !output.json {
            let found = sent["error"]["detail"]["problems"].as_array().map_or(&[][..], Vec::as_slice);
            problems(found.iter(), output)?;
        }
        return Err(answer.into_failure());
    }
    if let (Some(to), Some(from)) = (&args.to, &args.from) {
        let route = Route::in_project(project, &["pmo", "delegate_async"])?.verb("call");
        let given = json!({
            "caller_agent_id": from,
            "args": {
                "target_strategy": "reuse", "target_ref": to, "instruction": args.instruction,
                "context_box_id": sent["box_id"],
            },
        });
        let given: Value = client.post(&route, &given).await?.parse()?;
        sent["agent_turn_id"] = given["result"]["agent_turn_id"].clone();
    }
    if output.json {
        return output.json(&sent.to_string());
    }
    problems(sent["warnings"].as_array().into_iter().flatten(), output)?;
    let fields = ["handoff_id", "card_id", "box_id", "token_estimate", "agent_turn_id"];
    let shown = fields.into_iter().filter(|name| !sent[*name].is_null());
    output.fields(&shown.map(|name| (name, cell(&sent[name]))).collect::<Vec<_>>())
}
