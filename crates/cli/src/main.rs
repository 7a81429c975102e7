//! `cardwire`: starts a server, and mirrors the HTTP API for people and scripts (API-15, API-17).
//!
//! Every command but `up`, `open`, `doctor`, `bench` and `completions` is one or a few HTTP requests, sent to a server or to
//! the same router in this process. But for what `bench` measures, this crate must not know what a request means to the kernel.
//! Invariant: a failure is one `error:` line and one `hint:` line on standard error, and a typed exit code.

mod admin;
mod bench;
mod browser;
mod cli;
mod client;
mod commands;
mod context;
mod data_dir;
mod embeddings;
mod failure;
mod follow;
mod hint;
mod locate;
mod logging;
mod open_files;
mod output;
mod ports;
mod presence;
mod pretty;
mod private;
#[cfg(test)]
mod reference;
mod replays;
mod route;
mod signals;
mod store;
mod tck;
mod telemetry;
mod text;
mod waiting;
mod workspace;

use clap::{Parser, error::ErrorKind};
use failure::{Code, Failure};
use hint::Asked;
use std::{process::ExitCode, time::Duration};

/// Turns make and drop many small things on several threads, which the system's allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // HTTPS and Postgres both take the provider of the process; a second install is harmless.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version come this way too. Whoever reads them may have left: `cardwire --help | head -1`.
            let _ = error.print();
            if !error.use_stderr() {
                return Code::Done.into();
            }
            let asked = Asked::here();
            let is_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
            output::advise(&if is_help { asked.usage_below() } else { asked.usage() });
            return Code::Usage.into();
        }
    };
    match run(cli) {
        Ok(()) => Code::Done.into(),
        Err(failure) => {
            output::report(&failure, Asked::here);
            failure.code.into()
        }
    }
}

/// A worker in this process asks the router in the same thread, one future inside the other; without optimisation that takes
/// more than the default of two megabytes.
const STACK_BYTES: usize = 8 << 20;

/// How long work on other threads may go on after the command has ended.
const LAST_WORK: Duration = Duration::from_millis(500);

fn run(cli: cli::Cli) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK_BYTES)
        .build()
        .map_err(|error| Failure::failed(format!("cannot start the runtime: {error}")))?;
    let outcome = runtime.block_on(commands::run(cli));
    // A file or a name that does not answer must not keep a process that has nothing left to do.
    runtime.shutdown_timeout(LAST_WORK);
    outcome
}
