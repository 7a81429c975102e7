//! `cargo xtask test`: the one command that says whether the tree is good.
//!
//! It runs the same parts everywhere, on a developer's machine and in CI, and stops at the first that fails with that
//! part's exit code. Everything is compiled once: Clippy lints while it compiles what the tests run. It says what it is
//! about to do and how long that took last time, and ends with where the time went.

mod slowest;
mod times;

use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Instant;

use anyhow::anyhow;

use crate::services::Services;
use crate::{step, workspace};
use times::Times;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Leave the servers' data and logs on disk after they have stopped.
    #[arg(long)]
    keep: bool,
    /// Multiply the counts of random commits, simulated turns, kills and API requests by this factor.
    #[arg(long, value_name = "FACTOR", num_args = 0..=1, default_missing_value = "10")]
    long: Option<u32>,
    /// Arguments for the test runner.
    #[arg(last = true)]
    runner_args: Vec<String>,
}

/// The variable that carries the factor to the tests (`testkit/src/counts.rs`).
const FACTOR: &str = "CARDWIRE_TEST_FACTOR";

const FORMAT: &str = "format";
const BUILD: &str = "build and lint";
const SERVICES: &str = "services";
const TESTS: &str = "tests";

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let begun = Instant::now();
    let last = Times::load();
    announce(&last);
    let mut times = Times::default();
    let runner = Runner::find();

    // Only the tests need the servers; what is fetched for them is waited for while the tree is built.
    let starting = thread::spawn(|| times::measure(Services::start));
    let checked = check(&runner, &last, &mut times);
    // Whatever the checks say: servers that were started are stopped by us or by nobody.
    let (started, seconds) = starting.join().map_err(|_| anyhow!("starting the services panicked"))?;
    times.note(SERVICES, seconds);
    if let Some(failed) = checked? {
        return Ok(failed);
    }
    let mut services = started?;
    if args.keep {
        services.keep_files();
    }

    let mut tests = runner.run(&args.runner_args);
    tests.envs(services.env());
    if let Some(factor) = args.long {
        tests.env(FACTOR, factor.to_string());
    }
    let failed = run_part(TESTS, tests, &last, &mut times)?;
    drop(services);
    if runner.is_nextest {
        slowest::print(10)?;
    }
    times.print(begun.elapsed().as_secs_f64());
    if failed.is_none() {
        times.save()?;
        println!("test: all parts passed in {} s", begun.elapsed().as_secs());
    }
    Ok(failed.unwrap_or(ExitCode::SUCCESS))
}

/// What is about to happen, and how long it will take.
fn announce(last: &Times) {
    eprintln!("test: check the format, build and lint everything, run the tests against real servers");
    match last.total() {
        Some(total) => eprintln!("test: the last run took {total:.0} s; less is built this time"),
        None => eprintln!(
            "test: nothing is built yet: the first run compiles about 350 crates, which takes about 14 minutes on two\n\
             test: cores, and installs what tests need (PostgreSQL, NATS, Chromium, Python and npm packages); later runs take about 5"
        ),
    }
}

/// The parts that need no servers; the exit code of the first that fails.
fn check(runner: &Runner, last: &Times, times: &mut Times) -> anyhow::Result<Option<ExitCode>> {
    let mut format = workspace::cargo();
    format.args(["fmt", "--all", "--check"]);
    if let Some(failed) = run_part(FORMAT, format, last, times)? {
        return Ok(Some(failed));
    }
    run_part(BUILD, runner.build(), last, times)
}

/// Runs one command; the exit code if it failed.
fn run_part(
    name: &str,
    command: Command,
    last: &Times,
    times: &mut Times,
) -> anyhow::Result<Option<ExitCode>> {
    match last.of(name) {
        Some(seconds) => eprintln!("test: {name} (last time {seconds:.0} s)"),
        None => eprintln!("test: {name}"),
    }
    let (status, seconds) = times::measure(|| step::run(command));
    let status = status?;
    times.note(name, seconds);
    if status.success() {
        return Ok(None);
    }
    eprintln!("test: {name} failed ({status})");
    Ok(Some(step::exit_code(status)))
}

/// How tests are built and run.
struct Runner {
    is_nextest: bool,
    is_locked: bool,
}

impl Runner {
    fn find() -> Self {
        let mut version = workspace::cargo();
        version.args(["nextest", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
        Self {
            is_nextest: version.status().is_ok_and(|status| status.success()),
            is_locked: lockfile_is_fixed(),
        }
    }

    fn words(&self) -> Vec<&'static str> {
        let runner: &[_] = if self.is_nextest { &["nextest", "run"] } else { &["test"] };
        let locked: &[_] = if self.is_locked { &["--locked"] } else { &[] };
        [runner, &["--workspace"], locked].concat()
    }

    /// Compiles everything that the tests run.
    fn build(&self) -> Command {
        let mut command = linting_cargo();
        command.args(self.words()).arg("--no-run");
        command
    }

    fn run(&self, runner_args: &[String]) -> Command {
        let mut command = linting_cargo();
        command.args(self.words()).args(runner_args);
        command
    }
}

/// Cargo with Clippy in the place of the compiler: our crates are linted by the same process that compiles them, so that
/// nothing is built once for lints and once for tests. A warning is an error.
pub(crate) fn linting_cargo() -> Command {
    let mut command = workspace::cargo();
    command
        .env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver")
        .env("CLIPPY_ARGS", "-Dwarnings__CLIPPY_HACKERY__");
    command
}

/// A committed lock file is part of what is tested, and in CI it must be there.
fn lockfile_is_fixed() -> bool {
    std::env::var_os("CI").is_some_and(|value| value == "true")
        || workspace::root().join("Cargo.lock").exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_runner_serves_where_nextest_is_missing() {
        let nextest = Runner { is_nextest: true, is_locked: true };
        assert_eq!(nextest.words(), ["nextest", "run", "--workspace", "--locked"]);
        let built_in = Runner { is_nextest: false, is_locked: false };
        assert_eq!(built_in.words(), ["test", "--workspace"]);
    }
}
