//! `cardwire handoff load` and `report`: what a package refers to, under a budget.

use crate::{
    cli::InProject,
    client::Client,
    failure::Failure,
    output::Output,
    pretty,
    route::Route,
    text::{cell, clean},
};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

#[derive(Debug, Args)]
pub(crate) struct LoadArgs {
    /// The id of the package.
    id: String,
    #[command(flatten)]
    project: InProject,
    /// How deep.
    #[arg(long, value_enum, default_value = "report_only")]
    mode: Mode,
    /// Tokens at most.
    #[arg(long, value_name = "TOKENS", default_value_t = 40_000)]
    budget: i64,
    /// `custom`: a sample. May be repeated.
    #[arg(long = "sample", value_name = "ID")]
    samples: Vec<String>,
    /// `custom`: a part of the samples; all when absent. May be repeated.
    #[arg(long = "part", value_enum, value_name = "PART")]
    parts: Vec<Part>,
    /// Give the report whole, also when it alone is over the budget.
    #[arg(long)]
    soft: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Mode {
    /// The report.
    ReportOnly,
    /// The report, and the typical case of each problem.
    Typical,
    /// The report, and every failed case.
    Full,
    /// What --sample and --part name.
    Custom,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Part {
    Report,
    Sample,
    Trace,
    Evaluation,
    Attribution,
}

fn name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

pub(crate) async fn run(args: LoadArgs, output: Output, client: &Client) -> Result<(), Failure> {
    let mut body = json!({ "mode": name(&args.mode), "budget": args.budget, "hard": !args.soft });
    if !args.samples.is_empty() {
        body["sample_ids"] = args.samples.into();
    }
    if !args.parts.is_empty() {
        body["parts"] = args.parts.iter().map(name).collect::<Vec<_>>().into();
    }
    let route = Route::in_project(args.project.name()?, &["handoffs", &args.id])?.verb("load");
    let answer = client.post(&route, &body).await?;
    if output.json {
        return output.json(&answer.text);
    }
    let load: Value = answer.parse()?;
    for part in load["loaded"].as_array().into_iter().flatten() {
        output.line(format_args!("--- {} ({} tokens)", title(part), part["tokens"]))?;
        output.line(pretty::indent(&part["content"].to_string()))?;
    }
    receipt(&load, output)
}

/// What was read, and what was not.
fn receipt(load: &Value, output: Output) -> Result<(), Failure> {
    let mut rows = vec![];
    for state in ["loaded", "omitted", "missing", "invalid", "changed"] {
        for part in load[state].as_array().into_iter().flatten() {
            // What was changed is among what cannot be used, and told once.
            if state == "invalid" && load["changed"].as_array().is_some_and(|changed| changed.contains(part))
            {
                continue;
            }
            let state = if part["truncated"] == true { "shortened" } else { state };
            let [sample, kind, tokens, path] =
                ["sample_id", "part", "tokens", "path"].map(|name| cell(&part[name]));
            rows.push(vec![sample, kind, state.to_owned(), tokens, path]);
        }
    }
    output.table(&["SAMPLE", "PART", "STATE", "TOKENS", "PATH"], rows)?;
    let over = if load["over_budget"] == true { "; the report alone is over the budget" } else { "" };
    output.line(format_args!("{} of {} tokens used{over}", load["used"], load["budget"]))
}

fn title(part: &Value) -> String {
    let of = part["sample_id"].as_str().map(|id| format!(" of {}", clean(id))).unwrap_or_default();
    format!("{}{of}", cell(&part["part"]))
}

pub(crate) async fn report(
    id: &str,
    project: &InProject,
    output: Output,
    client: &Client,
) -> Result<(), Failure> {
    let route = Route::in_project(project.name()?, &["handoffs", id])?.verb("load");
    let answer = client.post(&route, &json!({ "mode": "report_only", "hard": false })).await?;
    let load: Value = answer.parse()?;
    let report = &load["loaded"][0]["content"];
    if output.json {
        return output.json(&report.to_string());
    }
    let names = ["iteration", "total_samples", "failed_samples", "failure_rate", "generated_at"];
    output.fields(&names.map(|name| (name, cell(&report[name]))))?;
    let first: Vec<&Value> = report["modification_priority"].as_array().into_iter().flatten().collect();
    let row = |problem: &Value| {
        let priority = first.iter().find(|entry| entry["problem_id"] == problem["problem_id"]);
        let priority = priority.map_or_else(String::new, |entry| cell(&entry["priority"]));
        let [id, severity, affected, title] =
            ["problem_id", "severity", "affected_count", "title"].map(|name| cell(&problem[name]));
        let fix = cell(&problem["suggested_fix"]["target"]);
        vec![priority, id, severity, affected, fix, title]
    };
    let problems = report["layer1_problems"].as_array().into_iter().flatten();
    output.table_with_preview(
        &["FIRST", "PROBLEM", "SEVERITY", "AFFECTED", "CHANGE", "TITLE"],
        problems.map(row).collect(),
    )
}
