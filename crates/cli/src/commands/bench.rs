//! `cardwire bench`: what this machine gives, in a few seconds.

use crate::{
    bench::{self, Case, Measured, Place},
    failure::Failure,
    output::Output,
    signals::Signals,
};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::{
    io::{self, IsTerminal},
    path::Path,
    sync::Arc,
    time::Duration,
};
use tempfile::TempDir;

/// Longer tells nothing more, and fills the disk.
const MOST_SECONDS: u64 = 60;
/// Between two turns of the spinner.
const SPIN_EVERY: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
#[command(after_help = EXPLAINED)]
pub(crate) struct BenchArgs {
    /// How long each line is measured.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=MOST_SECONDS))]
    seconds: u64,
}

const EXPLAINED: &str = "\
The embedded store is measured, in a temporary directory that is removed afterwards (TMPDIR says where), through the \
kernel of this process: no HTTP, no model, no service. --server and --data-dir are not used.

  commits/s  commits of one row, each synced to the disk before it counts
  turns/s    turns from their enqueue to their end, with a worker that writes one step with one card and delivers

Each with one under way at a time, and with 64: then commits share a sync. Figures of shared machines move by a \
tenth and more.";

pub(crate) async fn run(args: &BenchArgs, output: Output) -> Result<(), Failure> {
    let mut signals = Signals::listen()?;
    let root = TempDir::with_prefix("cardwire-bench-")
        .map_err(|error| Failure::file("make a directory in", &std::env::temp_dir(), &error))?;
    let place = Arc::new(Place::create(root.path()).await?);
    let bar = bar(output);
    let tell =
        |case: Case, in_flight: usize| bar.set_message(format!("{}, {in_flight} in flight", case.rate()));
    let outcome = tokio::select! {
        outcome = bench::run(&place, Duration::from_secs(args.seconds), tell) => outcome,
        () = signals.next() => Err(Failure::failed("stopped before everything was measured")
            .hint("`--seconds 1` takes less time")),
    };
    bar.finish_and_clear();
    place.close().await;
    let dir = root.path().to_owned();
    root.close().map_err(|error| Failure::file("remove", &dir, &error))?;
    print(&outcome?, args.seconds, &dir, output)
}

fn print(measured: &[Measured], seconds: u64, dir: &Path, output: Output) -> Result<(), Failure> {
    let optimised = !cfg!(debug_assertions);
    if output.json {
        let told = json!({
            "store": "sqlite", "version": env!("CARGO_PKG_VERSION"), "optimised": optimised,
            "seconds": seconds, "cases": measured,
        });
        return output.json(&told.to_string());
    }
    let row = |one: &Measured| {
        vec![
            one.case.rate().to_owned(),
            one.in_flight.to_string(),
            format!("{:.0}", one.per_second),
            format!("{:.2}", one.p50_ms),
            format!("{:.2}", one.p99_ms),
        ]
    };
    output.table(&["", "IN FLIGHT", "RATE", "P50 MS", "P99 MS"], measured.iter().map(row).collect())?;
    let parent = dir.parent().unwrap_or(dir);
    output.note(format_args!("measured in `{}`; TMPDIR chooses another disk", parent.display()));
    if !optimised {
        output.note("this is a debug build; a release build is several times as fast");
    }
    Ok(())
}

/// Only on a terminal.
fn bar(output: Output) -> ProgressBar {
    if output.json || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(SPIN_EVERY);
    bar
}
