//! `cardwire handoff validate`: every problem with its file and field. A server checks with its own files; without one this
//! process does, and shows how far it is.

use super::written::Written;
use crate::{
    cli::InProject,
    client::Client,
    context::Context,
    failure::{Code, Failure},
    locate::{self, Init},
    output::Output,
    route::Route,
    text::{cell, count},
    workspace,
};
use axum::http::Method;
use cardwire_handoff::{
    CheckOptions, Checked, FileError, Files, Gate, Problem, Refusal, RefusalKind, Types, check_report,
    is_report, package_from_directory,
};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use std::{
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};

/// How a package is to be taken.
#[derive(Debug, Args)]
pub(super) struct PackageArgs {
    #[command(flatten)]
    pub(super) project: InProject,
    /// The type, where the package does not say it.
    #[arg(long = "type", value_name = "TYPE")]
    handoff_type: Option<String>,
    /// `strict`: the files of an `init_to_execute` must be there; `off`: they are warned of.
    #[arg(long, value_name = "GATE")]
    gate: Option<Gate>,
}

impl PackageArgs {
    /// The route with the query that says so.
    pub(super) fn on(&self, route: Route) -> Route {
        let route = route.query("handoff_type", self.handoff_type.as_deref());
        route.query("gate", self.gate.map(Gate::as_str))
    }
}

#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// A package or a report, as JSON or YAML (`-` for standard input); or a directory of results, relative to the
    /// workspace root.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    package: PackageArgs,
    /// Read every file of an `execute_to_init`, instead of seeing that it is there.
    #[arg(long)]
    deep: bool,
}

pub(crate) async fn run(args: ValidateArgs, context: &Context) -> Result<(), Failure> {
    let output = context.output;
    let server = match (&context.globals.workspace_root, &args.package.project.project) {
        (Some(_), _) => None,
        // A project has types and a workspace of its own.
        (None, Some(_)) => Some(locate::connect(context, Init::Never).await?),
        (None, None) => locate::server(context).await?,
    };
    let outcome = match server {
        Some(client) if !is_directory(&args.file) => {
            let outcome = ask(&args, &client).await;
            client.close().await;
            outcome?
        }
        Some(_) | None => {
            let files = workspace::open_here(context, args.package.project.project.as_deref())?;
            // Files are waited for, and nothing else is to be done here.
            tokio::task::block_in_place(|| check(&args, &files))?
        }
    };
    tell(&outcome, output)
}

/// What came of a check: the answer of a server, or one like it.
struct Outcome {
    answer: Value,
    refused: Option<Failure>,
}

fn is_directory(path: &Path) -> bool {
    path.is_dir()
}

async fn ask(args: &ValidateArgs, client: &Client) -> Result<Outcome, Failure> {
    let route = match &args.package.project.project {
        Some(project) => Route::in_project(project, &["handoffs"])?,
        None => Route::new(&["handoffs"])?,
    };
    let route = args.package.on(route.verb("validate")).query("deep", args.deep.then_some(true)).takes_long();
    let body = crate::client::Payload::json(Written::read(&args.file)?.into_json()?.get().to_owned());
    let answer = client.ask(Method::POST, &route, Some(body)).await?;
    let value: Value = serde_json::from_str(&answer.text).unwrap_or_default();
    let refused = if (200..300).contains(&answer.status) { None } else { Some(answer.into_failure()) };
    Ok(Outcome { answer: value, refused })
}

/// The same in this process, with the files below a root.
fn check(args: &ValidateArgs, files: &dyn Files) -> Result<Outcome, Failure> {
    match look(args, files)? {
        Ok(answer) => Ok(Outcome { answer, refused: None }),
        Err(refusal) => {
            let problems = listed(&refusal.problems);
            let detail = json!({ "field": refusal.field, "problems": problems });
            let error = json!({ "code": refusal.code, "message": refusal.message, "detail": detail });
            Ok(Outcome { answer: json!({ "error": error }), refused: Some(refused(&refusal)) })
        }
    }
}

fn look(args: &ValidateArgs, files: &dyn Files) -> Result<Result<Value, Refusal>, Failure> {
    let value: Value = if is_directory(&args.file) || files_has(files, &args.file) {
        let about = json!({
            "execution_output_dir": args.file, "timestamp": "1970-01-01T00:00:00Z",
            "trigger_reason": "to be checked", "iteration_summary": {},
            "modification_suggestions_summary": ["-", "-", "-"],
        });
        match package_from_directory(files, &args.file.display().to_string(), about) {
            Ok(package) => package,
            Err(refusal) => return Ok(Err(refusal)),
        }
    } else {
        let text = Written::read(&args.file)?.into_json()?;
        serde_json::from_str(text.get()).map_err(|error| Failure::usage(error.to_string()))?
    };
    if is_report(&value) {
        let told = |warnings: Vec<Problem>| json!({ "valid": true, "kind": "report", "warnings": listed(&warnings) });
        return Ok(check_report(&value).map(told));
    }
    let bar = bar();
    let options =
        CheckOptions { gate: args.package.gate, deep: args.deep, progress: &|files| bar.set_position(files) };
    let checked = Checked::parse(value, args.package.handoff_type.as_deref(), &Types::built_in())
        .and_then(|checked| checked.on_disk(files, &options));
    bar.finish_and_clear();
    Ok(checked.map(|checked| {
        json!({
            "valid": true, "kind": "package", "handoff_type": checked.whole.handoff_type(),
            "token_estimate": checked.fitted.token_estimate, "warnings": listed(&checked.warnings),
        })
    }))
}

/// Whether the argument is a directory of the workspace.
fn files_has(files: &dyn Files, path: &Path) -> bool {
    let Some(text) = path.to_str() else { return false };
    // One name is enough, and ends the list.
    let is_directory = |path| match files.list(&path, &mut |_| Err(FileError::Exists)) {
        Ok(()) | Err(FileError::Exists) => true,
        Err(FileError::Missing | FileError::Unsafe { .. } | FileError::TooLarge { .. }) => false,
        // Whoever looks next is told why.
        Err(FileError::Io(_)) => true,
    };
    !path.exists() && cardwire_handoff::SafePath::parse(text).is_ok_and(is_directory)
}

/// Only on a terminal.
fn bar() -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {pos} files looked at, {per_sec}") {
        bar.set_style(style);
    }
    bar
}

fn listed(problems: &[Problem]) -> Value {
    serde_json::to_value(problems).unwrap_or_default()
}

/// A refusal with the exit code of its kind.
pub(super) fn refused(refusal: &Refusal) -> Failure {
    match refusal.kind {
        RefusalKind::NotFound => Failure::not_found(&refusal.message),
        RefusalKind::Conflict => Failure::conflict(&refusal.message),
        RefusalKind::Invalid | RefusalKind::TooLarge | RefusalKind::Unprocessable => {
            Failure::failed(&refusal.message)
        }
    }
}

fn tell(outcome: &Outcome, output: Output) -> Result<(), Failure> {
    if output.json {
        output.json(&outcome.answer.to_string())?;
    } else {
        told(&outcome.answer, output)?;
    }
    match &outcome.refused {
        None => Ok(()),
        // A package that is not valid is a check that failed, however its sender would be answered.
        Some(Failure { code: Code::Usage | Code::Failed, message, .. }) => {
            Err(Failure::failed(message).hint("every problem is told with its file and field"))
        }
        Some(failure) => Err(failure.clone()),
    }
}

fn told(answer: &Value, output: Output) -> Result<(), Failure> {
    let warnings = answer["warnings"].as_array().map_or(&[][..], Vec::as_slice);
    let errors = answer["error"]["detail"]["problems"].as_array().map_or(&[][..], Vec::as_slice);
    problems(errors.iter().chain(warnings), output)?;
    if answer["valid"] == true {
        let kind = answer["handoff_type"].as_str().unwrap_or("report");
        let warned = count(warnings.len() as u64, "warning", "warnings");
        output.line(format_args!("valid: {kind}, {warned}"))?;
    }
    Ok(())
}

/// A table of problems, if there are any.
pub(super) fn problems<'a>(problems: impl Iterator<Item = &'a Value>, output: Output) -> Result<(), Failure> {
    let row = |problem: &Value| {
        ["severity", "code", "file", "field", "message"].map(|name| cell(&problem[name])).to_vec()
    };
    let rows: Vec<_> = problems.map(row).collect();
    if rows.is_empty() {
        return Ok(());
    }
    output.table(&["SEVERITY", "CODE", "FILE", "FIELD", "MESSAGE"], rows)
}
