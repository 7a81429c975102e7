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
mod inspector;
mod measure;
mod plain_card;
mod postgres;
mod report;
mod sqlite;
mod turns;
mod world;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use cardwire_store::Store;
use cardwire_store_postgres::{PostgresConfig, PostgresStore};
use cardwire_store_sqlite::SqliteStore;
use clap::Parser;

use database::Database;
use inspector::{Browser, Surroundings};
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
    #[arg(long)]
    postgres_url: Option<String>,
    /// The directory `node_modules` that has `playwright-core`, for what is measured in a browser.
    #[arg(long)]
    node_modules: Option<PathBuf>,
    /// That browser.
    #[arg(long, default_value = "/usr/bin/chromium")]
    chromium: PathBuf,
    /// Serves this database instead of measuring: the area `inspector` runs this program so.
    #[arg(long, hide = true)]
    serve: Option<String>,
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
    /// Pages of the inspector: time, size, memory, and how they feel in a browser.
    Inspector,
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
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    if let Some(place) = &args.serve {
        runtime.block_on(serve(args.store, place))?;
        return Ok(ExitCode::SUCCESS);
    }
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
        measure_area(args, database, plan, dir.path()).await
    })?;
    report.print(args.json)?;
    let fail = !args.no_gate && !report.all_met();
    Ok(if fail { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Serves a database that this program made before.
async fn serve(store: StoreKind, place: &str) -> anyhow::Result<()> {
    let store: Arc<dyn Store> = match store {
        StoreKind::Sqlite => Arc::new(SqliteStore::open(Path::new(place))?),
        StoreKind::Postgres => Arc::new(PostgresStore::open(PostgresConfig::new(place.to_owned())).await?),
    };
    inspector::server::serve(store).await
}

async fn measure_area(
    args: &Args,
    database: Arc<dyn Database>,
    plan: Plan,
    dir: &Path,
) -> anyhow::Result<Report> {
    match args.area {
        Area::Facts => facts::run(database, plan).await,
        Area::Turns => turns::run(database, plan, args.only.as_deref()).await,
        Area::ForkJoin => fork_join::run(database, plan, args.only.as_deref()).await,
        Area::Context => context::run(database, plan, args.only.as_deref()).await,
        Area::Agents => agents::run(database, plan, args.only.as_deref()).await,
        Area::Inspector => {
            let store = match args.store {
                StoreKind::Sqlite => "sqlite",
                StoreKind::Postgres => "postgres",
            };
            let browser = args.node_modules.as_ref().map(|modules| Browser {
                node_modules: modules.clone(),
                chromium: args.chromium.clone(),
                dir: dir.to_owned(),
            });
            let around = Surroundings { store, browser };
            inspector::run(database.as_ref(), around, args.only.as_deref()).await
        }
        Area::Handoff => anyhow::bail!("this area has no database"),
    }
}
