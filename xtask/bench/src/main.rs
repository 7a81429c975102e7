//! Benchmarks against the raw limit of the same database, run as `cargo xtask bench <area>`.
//!
//! Absolute figures are noise on shared machines; ratios in one run are not. So whatever is measured is measured in
//! turns with the plainest program that does the same to the same database, in several rounds, and the gate looks
//! at medians of ratios only. This program starts no server: it is given a directory or a URL.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool talks to its terminal")]

mod agents;
mod context;
mod costs;
mod counting;
mod database;
mod facts;
mod fork_join;
mod handoff;
mod measure;
mod plain_card;
mod postgres;
mod report;
mod sqlite;
mod turns;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;

use database::Database;
use report::Report;

/// Measure Cardwire against the raw limit of its database.
#[derive(Parser)]
#[command(name = "cardwire-bench")]
struct Args {
    /// What to measure.
    #[arg(value_enum)]
    area: Area,
    /// Which backend.
    #[arg(long, value_enum)]
    store: StoreKind,
    /// One JSON object per line instead of a table.
    #[arg(long)]
    json: bool,
    /// Rounds of each case; the median counts.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// How long each side of a round takes.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
    /// Of all areas but `facts`, only cases that start like this.
    #[arg(long)]
    only: Option<String>,
    /// Report without failing on a missed target.
    #[arg(long)]
    no_gate: bool,
    /// Where to put the database files; by default beside this program.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// The PostgreSQL server to measure on, as a superuser.
    #[arg(long, required_if_eq("store", "postgres"))]
    postgres_url: Option<String>,
    /// The server's `pgbench`.
    #[arg(long, default_value = "pgbench")]
    pgbench: PathBuf,
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
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum StoreKind {
    Sqlite,
    Postgres,
}

/// How often and how long.
#[derive(Clone, Copy)]
struct Plan {
    rounds: u32,
    time: Duration,
}

/// The one that the binary has.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let dir = match &args.dir {
        Some(dir) => dir.clone(),
        None => std::env::current_exe()?.parent().context("this program has no directory")?.to_owned(),
    };
    let dir = tempfile::Builder::new()
        .prefix("cardwire-bench-")
        .tempdir_in(&dir)
        .with_context(|| format!("cannot create a directory in {}", dir.display()))?;
    if let Some(warning) = measure::busy_machine() {
        eprintln!("bench: {warning}");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let plan = Plan { rounds: args.rounds, time: Duration::from_secs(args.seconds) };
    let report = runtime.block_on(async {
        if matches!(args.area, Area::Handoff) {
            return handoff::run(dir.path(), plan);
        }
        let database: Arc<dyn Database> = match args.store {
            StoreKind::Sqlite => Arc::new(sqlite::Sqlite::open(dir.path())?),
            StoreKind::Postgres => {
                let url = args.postgres_url.as_deref().context("--postgres-url is missing")?;
                Arc::new(postgres::Postgres::open(url, &args.pgbench, dir.path()).await?)
            }
        };
        measure_area(args, database, plan).await
    })?;
    report.print(args.json)?;
    let fail = !args.no_gate && !report.all_met();
    Ok(if fail { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn measure_area(args: &Args, database: Arc<dyn Database>, plan: Plan) -> anyhow::Result<Report> {
    match args.area {
        Area::Facts => facts::run(database, plan).await,
        Area::Turns => turns::run(database, plan, args.only.as_deref()).await,
        Area::ForkJoin => fork_join::run(database, plan, args.only.as_deref()).await,
        Area::Context => context::run(database, plan, args.only.as_deref()).await,
        Area::Agents => agents::run(database, plan, args.only.as_deref()).await,
        Area::Handoff => anyhow::bail!("this area has no database"),
    }
}
