//! `cardwire handoff new`: a package from what is on disk.

use super::{handoff_check::refused, written::Written};
use crate::{cli::InProject, context::Context, failure::Failure, workspace};
use cardwire_handoff::package_from_directory;
use cardwire_kernel::clock::{Clock, SystemClock};
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    #[command(subcommand)]
    kind: NewKind,
    /// Where to write it; standard output when absent. A file that is there is not overwritten.
    #[arg(long, global = true, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum NewKind {
    /// Of design files, for those who carry the design out.
    #[command(name = "init_to_execute")]
    InitToExecute {
        /// What the user asked for.
        #[arg(long, value_name = "TEXT")]
        requirement: String,
        /// A design file: its name in the package, and its path below the workspace root. May be repeated.
        #[arg(long = "artifact", value_name = "NAME=PATH", required = true)]
        artifacts: Vec<String>,
        /// Why the design is as it is.
        #[arg(long, value_name = "TEXT")]
        rationale: Option<String>,
        /// Something that is known to limit the design. May be repeated.
        #[arg(long = "constraint", value_name = "TEXT")]
        constraints: Vec<String>,
    },
    /// Of a directory of results, for those who made the design. Files are hashed, so that a changed one is noticed.
    #[command(name = "execute_to_init")]
    ExecuteToInit {
        /// The directory, relative to that of the project or to the workspace root.
        #[arg(value_name = "DIR")]
        directory: String,
        #[command(flatten)]
        project: InProject,
        /// Why it is handed back.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// One of the three to five most important changes. May be repeated.
        #[arg(long = "suggestion", value_name = "TEXT", required = true)]
        suggestions: Vec<String>,
        /// Further fields: a file with a JSON or YAML object, e.g. `iteration_summary`.
        #[arg(long, value_name = "FILE")]
        about: Option<PathBuf>,
    },
}

pub(crate) async fn run(args: NewArgs, context: &Context) -> Result<(), Failure> {
    let timestamp = SystemClock.now().to_string();
    let package = match args.kind {
        NewKind::InitToExecute { requirement, artifacts, rationale, constraints } => {
            let mut package = json!({
                "version": "2.0", "handoff_type": "init_to_execute", "timestamp": timestamp,
                "user_requirement": requirement, "design_artifacts": named(&artifacts)?,
            });
            if let Some(rationale) = rationale {
                package["design_rationale"] = rationale.into();
            }
            if !constraints.is_empty() {
                package["known_constraints"] = constraints.into();
            }
            package
        }
        NewKind::ExecuteToInit { directory, project, reason, suggestions, about } => {
            let mut fields: Map<String, Value> = match about {
                Some(file) => serde_json::from_str(Written::read(&file)?.into_json()?.get())
                    .map_err(|error| Failure::usage(format!("`--about` is no object: {error}")))?,
                None => Map::new(),
            };
            fields.insert("timestamp".to_owned(), timestamp.into());
            fields.insert("execution_output_dir".to_owned(), directory.as_str().into());
            fields.insert("trigger_reason".to_owned(), reason.into());
            fields.insert("modification_suggestions_summary".to_owned(), suggestions.into());
            let files = workspace::open_here(context, project.project.as_deref())?;
            tokio::task::block_in_place(|| package_from_directory(&files, &directory, Value::Object(fields)))
                .map_err(|refusal| refused(&refusal))?
        }
    };
    match args.out {
        None => context.output.json(&package.to_string()),
        Some(path) => write_new(&path, &format!("{package:#}\n")),
    }
}

/// Writes a file that is not there yet.
fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    let file = fs::OpenOptions::new().write(true).create_new(true).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        if error.kind() == io::ErrorKind::AlreadyExists {
            Failure::conflict(format!("`{}` is there already", path.display()))
                .hint("name a file that is not there yet")
        } else {
            Failure::file("write", path, &error)
        }
    })
}

/// `NAME=PATH` as a map.
fn named(artifacts: &[String]) -> Result<Value, Failure> {
    let pair = |text: &String| {
        let (name, path) = text.split_once('=').ok_or_else(|| {
            Failure::usage(format!("`--artifact {text}` is not NAME=PATH"))
                .hint("e.g. `--artifact business_rules_path=scenarios/leave/BusinessRules.md`")
        })?;
        Ok((name.to_owned(), Value::from(path)))
    };
    Ok(Value::Object(artifacts.iter().map(pair).collect::<Result<_, Failure>>()?))
}
