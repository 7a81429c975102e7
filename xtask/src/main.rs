//! The workspace's own commands, run as `cargo xtask <command>`.
//!
//! A fresh machine needs Rust and nothing else to work on Cardwire: whatever a command needs beyond that
//! (PostgreSQL, NATS, Python tools) it finds or fetches itself, and it says plainly when it cannot.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool talks to its terminal")]

mod bench;
mod interrupt;
mod screenshots;
mod services;
mod step;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Commands for working on Cardwire.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check the formatting, lint, build and run every test against real servers.
    Test(test::Args),
    /// Measure the product against the raw limit of its database.
    Bench(bench::Args),
    /// Start the servers the tests use and keep them up until Ctrl-C or the end of stdin.
    Services,
    /// Take the README's pictures of the inspector, of a real run in a real browser.
    Screenshots,
    /// Check the rules about the tree's structure.
    Tidy,
}

fn main() -> ExitCode {
    let outcome = interrupt::listen().and_then(|()| match Cli::parse().command {
        Command::Test(args) => test::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Services => services::run(),
        Command::Screenshots => screenshots::run(),
        Command::Tidy => tidy::run(),
    });
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
