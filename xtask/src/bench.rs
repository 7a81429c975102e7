//! `cargo xtask bench <area>`: how fast the product is, as a share of what its database can do at all.
//!
//! The measuring is done by the package `cardwire-bench`, so that this program need not be built with the product.
//! Here are only the surroundings: a private server where one is needed, and a directory that is removed afterwards.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;

use crate::services::{self, Postgres};
use crate::{step, workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// What to measure.
    #[arg(value_enum)]
    area: Area,
    /// Measure this backend only.
    #[arg(long, value_enum)]
    store: Option<Store>,
    /// One JSON object per line instead of a table.
    #[arg(long)]
    json: bool,
    /// Rounds of each case; the median counts.
    #[arg(long)]
    rounds: Option<u32>,
    /// How long each side of a round takes.
    #[arg(long)]
    seconds: Option<u64>,
    /// Of all areas but `facts`, only cases that start like this.
    #[arg(long)]
    only: Option<String>,
    /// Report without failing on a missed target.
    #[arg(long)]
    no_gate: bool,
    /// Where to put SQLite's files, below a new directory; by default Cargo's target directory.
    #[arg(long)]
    dir: Option<PathBuf>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Area {
    /// Cards and boxes: appending, reading, growth.
    Facts,
    /// Turns: from enqueue to task event.
    Turns,
    /// Forks: from the call to the parent's result.
    #[value(name = "fork_join")]
    ForkJoin,
    /// What models are sent: composing, sessions, search.
    Context,
    /// Agents: whole turns by the worker, with a scripted model.
    Agents,
    /// Handoff packages: checking and loading many files. No database is measured.
    Handoff,
    /// Pages of the inspector: time, size, memory, and how they feel in a browser where there is one.
    Inspector,
}

impl Area {
    fn name(self) -> &'static str {
        match self {
            Self::Facts => "facts",
            Self::Turns => "turns",
            Self::ForkJoin => "fork_join",
            Self::Context => "context",
            Self::Agents => "agents",
            Self::Handoff => "handoff",
            Self::Inspector => "inspector",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Store {
    Sqlite,
    Postgres,
}

/// Every wanted backend is measured, even after one has missed a target; the first failure is the exit code.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let base = args.dir.clone().unwrap_or_else(workspace::target_dir);
    fs::create_dir_all(&base).with_context(|| format!("cannot create {}", base.display()))?;
    let dir = tempfile::Builder::new()
        .prefix("bench-")
        .tempdir_in(&base)
        .with_context(|| format!("cannot create a directory in {}", base.display()))?;

    let browser = match args.area {
        Area::Inspector => browser(),
        Area::Facts | Area::Turns | Area::ForkJoin | Area::Context | Area::Agents | Area::Handoff => vec![],
    };
    let mut failed = None;
    for store in wanted(args.area, args.store) {
        // Kept until the measuring is over.
        let postgres = match store {
            Store::Sqlite => None,
            Store::Postgres => Some(Postgres::start_counting()?),
        };
        let server = postgres.as_ref().map(|postgres| (postgres.url(), postgres.bin_dir()));
        let mut command = workspace::cargo();
        command.args(["run", "--quiet", "--release", "--locked", "-p", "cardwire-bench", "--"]);
        command.args(arguments(args, store, dir.path(), server));
        command.args(&browser);
        let status = step::run(command)?;
        if !status.success() && failed.is_none() {
            failed = Some(step::exit_code(status));
        }
    }
    Ok(failed.unwrap_or(ExitCode::SUCCESS))
}

/// Where the browser is and what drives it. Without them everything else is measured all the same.
fn browser() -> Vec<String> {
    let found = services::node_modules().and_then(|modules| Ok((modules, services::chromium()?)));
    match found {
        Ok((modules, chromium)) => vec![
            format!("--node-modules={}", modules.display()),
            format!("--chromium={}", chromium.display()),
        ],
        Err(error) => {
            eprintln!("bench: no browser: {error:#}");
            vec![]
        }
    }
}

fn wanted(area: Area, store: Option<Store>) -> Vec<Store> {
    match (area, store) {
        // Files are the same for all.
        (Area::Handoff, _) => vec![Store::Sqlite],
        // Pages are made above the stores; what a store adds is measured where it is asked for.
        (Area::Inspector, None) => vec![Store::Sqlite],
        (Area::Facts | Area::Turns | Area::ForkJoin | Area::Context | Area::Agents, None) => {
            vec![Store::Sqlite, Store::Postgres]
        }
        (
            Area::Facts | Area::Turns | Area::ForkJoin | Area::Context | Area::Agents | Area::Inspector,
            Some(store),
        ) => vec![store],
    }
}

/// What `cardwire-bench` is told; `server` is a URL and the folder of the server's programs.
fn arguments(args: &Args, store: Store, dir: &Path, server: Option<(&str, &Path)>) -> Vec<String> {
    let store = match store {
        Store::Sqlite => "sqlite",
        Store::Postgres => "postgres",
    };
    let mut words = vec![args.area.name().to_owned(), format!("--store={store}")];
    words.push(format!("--dir={}", dir.display()));
    words.extend(args.rounds.map(|rounds| format!("--rounds={rounds}")));
    words.extend(args.seconds.map(|seconds| format!("--seconds={seconds}")));
    words.extend(args.only.as_ref().map(|only| format!("--only={only}")));
    words.extend(args.json.then(|| "--json".to_owned()));
    words.extend(args.no_gate.then(|| "--no-gate".to_owned()));
    if let Some((url, bin_dir)) = server {
        words.push(format!("--postgres-url={url}"));
        words.push(format!("--pgbench={}", bin_dir.join("pgbench").display()));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args() -> Args {
        Args {
            area: Area::Facts,
            store: None,
            json: true,
            rounds: Some(3),
            seconds: None,
            only: None,
            no_gate: false,
            dir: None,
        }
    }

    #[test]
    fn both_backends_are_measured_unless_one_is_named() {
        assert_eq!(wanted(Area::Turns, None), [Store::Sqlite, Store::Postgres]);
        assert_eq!(wanted(Area::Turns, Some(Store::Postgres)), [Store::Postgres]);
        assert_eq!(wanted(Area::Handoff, None), [Store::Sqlite]);
        assert_eq!(wanted(Area::Inspector, None), [Store::Sqlite]);
        assert_eq!(wanted(Area::Inspector, Some(Store::Postgres)), [Store::Postgres]);
    }

    #[test]
    fn arguments_are_passed_on_and_defaults_left_to_the_bench_itself() {
        assert_eq!(
            arguments(&args(), Store::Sqlite, Path::new("d"), None),
            ["facts", "--store=sqlite", "--dir=d", "--rounds=3", "--json"]
        );
    }

    #[test]
    fn postgres_comes_with_its_own_pgbench() {
        let server = Some(("postgres://localhost/x", Path::new("bin")));
        let words = arguments(&args(), Store::Postgres, Path::new("d"), server);
        assert_eq!(
            words[words.len() - 2..],
            ["--postgres-url=postgres://localhost/x", "--pgbench=bin/pgbench"]
        );
    }
}
