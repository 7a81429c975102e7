//! `cardwire profile`.

use super::{card_put::read_file, written::Written};
use crate::{
    cli::{InProject, Page},
    client::{Answer, Client, Payload},
    failure::Failure,
    output::Output,
    route::Route,
    text::cell,
};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct ProfileArgs {
    #[command(flatten)]
    project: InProject,
    #[command(subcommand)]
    command: ProfileCommand,
}

#[derive(Debug, Subcommand)]
enum ProfileCommand {
    /// List profiles by name.
    List {
        #[command(flatten)]
        page: Page,
    },
    /// Show a profile.
    #[command(visible_alias = "show")]
    Get {
        /// Its name.
        name: String,
    },
    /// Write a profile. Agents that are there keep what they were made with.
    Put(Box<PutArgs>),
    /// Delete a profile. Its agents go on.
    Delete {
        /// Its name.
        name: String,
    },
}

#[derive(Debug, Args)]
struct PutArgs {
    /// Its name: 1 to 128 characters of A-Z, a-z, 0-9, _ and -. With `--from` the file may say it.
    #[arg(required_unless_present = "from")]
    name: Option<String>,
    /// Which workers serve its agents.
    #[arg(long, value_name = "TARGET", required_unless_present = "from", conflicts_with = "from")]
    worker_target: Option<String>,
    #[command(flatten)]
    prompt: Prompt,
    /// For choosing agents. May be repeated.
    #[arg(long = "tag", value_name = "TAG", conflicts_with = "from")]
    tags: Vec<String>,
    /// A tool its agents may call. May be repeated.
    #[arg(long = "allow-tool", value_name = "TOOL", conflicts_with = "from")]
    tools: Vec<String>,
    /// How often a turn is given to a worker that does not start it, or dies at it; 3 when absent.
    #[arg(long, value_name = "N", conflicts_with = "from")]
    max_attempts: Option<u32>,
    /// How the model is asked: a JSON object.
    #[arg(long, value_name = "JSON", conflicts_with = "from")]
    llm_config: Option<String>,
    /// A description for people.
    #[arg(long, conflicts_with = "from")]
    description: Option<String>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Prompt {
    /// What its agents are told first.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    system_prompt: Option<String>,
    /// The same, from a file, or from `-` for standard input.
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
    /// The whole profile, from a file with JSON or YAML, or from `-` for standard input.
    #[arg(long, value_name = "PATH")]
    from: Option<PathBuf>,
}

pub(crate) async fn run(args: ProfileArgs, output: Output, client: &Client) -> Result<(), Failure> {
    let project = args.project.name()?;
    let route = |name: &str| Route::in_project(project, &["profiles", name]);
    match args.command {
        ProfileCommand::List { page } => list(&page, project, output, client).await,
        ProfileCommand::Get { name } => show(client.get(&route(&name)?).await?, output),
        ProfileCommand::Put(put) => {
            let (name, payload) = put.read()?;
            let answer = client.put(&route(&name)?, payload).await?;
            if output.json {
                return output.json(&answer.text);
            }
            // What a turn of its agents needs.
            output.line(cell(&answer.parse::<Value>()?["profile_box_id"]))
        }
        ProfileCommand::Delete { name } => {
            client.delete(&route(&name)?).await?;
            if output.json { Ok(()) } else { output.line(format_args!("deleted profile {name}")) }
        }
    }
}

impl PutArgs {
    /// Its name and what it says.
    fn read(&self) -> Result<(String, Payload), Failure> {
        if let Some(path) = &self.prompt.from {
            let written = Written::read(path)?;
            return Ok((written.name(self.name.as_deref())?, written.into_payload()));
        }
        let name = self.name.clone().ok_or_else(|| Failure::usage("no name is given"))?;
        Ok((name, Payload::json(self.body()?.to_string())))
    }

    fn body(&self) -> Result<Value, Failure> {
        let prompt = match (&self.prompt.system_prompt, &self.prompt.file) {
            (Some(text), _) => text.clone(),
            (None, Some(path)) => read_file(path)?,
            (None, None) => return Err(Failure::usage("no system prompt is given")),
        };
        let mut body = json!({ "worker_target": self.worker_target, "system_prompt": prompt });
        if !self.tags.is_empty() {
            body["tags"] = json!(self.tags);
        }
        if !self.tools.is_empty() {
            body["allowed_tools"] = json!(self.tools);
        }
        if let Some(most) = self.max_attempts {
            body["max_attempts"] = json!(most);
        }
        if let Some(text) = &self.description {
            body["description"] = json!(text);
        }
        if let Some(config) = &self.llm_config {
            body["llm_config"] = serde_json::from_str(config)
                .map_err(|error| Failure::usage(format!("`--llm-config` does not hold JSON: {error}")))?;
        }
        Ok(body)
    }
}

async fn list(page: &Page, project: &str, output: Output, client: &Client) -> Result<(), Failure> {
    let answer = client.get(&Route::in_project(project, &["profiles"])?.page(page)).await?;
    if output.json {
        return output.json(&answer.text);
    }
    let list: Value = answer.parse()?;
    let items = list["items"].as_array().map_or(&[][..], Vec::as_slice);
    let row = |profile: &Value| {
        let names = ["name", "worker_target", "profile_box_id", "updated_at", "system_prompt"];
        names.map(|name| cell(&profile[name])).to_vec()
    };
    let header = ["PROFILE", "TARGET", "BOX", "UPDATED", "PROMPT"];
    output.table_with_preview(&header, items.iter().map(row).collect())?;
    output.more(&list["next_cursor"]);
    Ok(())
}

fn show(answer: Answer, output: Output) -> Result<(), Failure> {
    if output.json {
        return output.json(&answer.text);
    }
    let profile: Value = answer.parse()?;
    let names = [
        "name",
        "worker_target",
        "profile_box_id",
        "tags",
        "allowed_tools",
        "llm_config",
        "max_attempts",
        "description",
        "created_at",
        "updated_at",
        "system_prompt",
    ];
    output.fields(&names.map(|name| (name, cell(&profile[name]))))
}
