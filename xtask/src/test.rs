//! `cargo xtask test`: the one command that says whether the tree is good.
//!
//! It runs the same steps everywhere, on a developer's machine and in CI, and stops at the first that
//! fails with that step's exit code.

use std::process::{ExitCode, Stdio};
use std::thread;
use std::time::Instant;

use anyhow::{Context, anyhow};

use crate::services::Services;
use crate::{step, workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Leave the servers' data and logs on disk after they have stopped.
    #[arg(long)]
    keep: bool,
    /// Arguments for the test runner.
    #[arg(last = true)]
    runner_args: Vec<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let begun = Instant::now();
    let mut steps = steps(&args.runner_args, lockfile_is_fixed(), has_nextest());
    let test = steps.pop().context("there is no test step")?;
    // Only the tests need the servers; what is fetched for them is waited for while the tree is checked.
    let starting = thread::spawn(|| timed("services", Services::start));
    let checked = steps.iter().find_map(|step| run_step(step, &[]).transpose());
    // Whatever the checks say: servers that were started are stopped by us or by nobody.
    let started = starting.join().map_err(|_| anyhow!("starting the services panicked"))?;
    if let Some(failed) = checked {
        return failed;
    }
    let mut services = started?;
    if args.keep {
        services.keep_files();
    }
    if let Some(failed) = run_step(&test, &services.env())? {
        return Ok(failed);
    }
    drop(services);
    println!("test: all steps passed in {} s", begun.elapsed().as_secs());
    Ok(ExitCode::SUCCESS)
}

/// Runs one Cargo command; the exit code if it failed.
fn run_step(step: &[String], env: &[(&'static str, String)]) -> anyhow::Result<Option<ExitCode>> {
    let mut command = workspace::cargo();
    command.args(step).envs(env.iter().map(|(name, value)| (name, value)));
    let status = timed(&format!("cargo {}", step.join(" ")), || step::run(command))?;
    if status.success() {
        return Ok(None);
    }
    eprintln!("test: `cargo {}` failed ({status})", step.join(" "));
    Ok(Some(step::exit_code(status)))
}

/// The arguments of each Cargo command, in order. The last needs the servers.
fn steps(runner_args: &[String], locked: bool, nextest: bool) -> Vec<Vec<String>> {
    let locked: &[&str] = if locked { &["--locked"] } else { &[] };
    let runner: &[&str] = if nextest { &["nextest", "run"] } else { &["test"] };
    let with_locked = |command: &[&str], rest: &[&str]| words(&[command, locked, rest].concat());

    let mut test = with_locked(runner, &["--workspace"]);
    test.extend_from_slice(runner_args);
    vec![
        words(&["fmt", "--all", "--check"]),
        with_locked(&["clippy"], &["--workspace", "--all-targets", "--", "-D", "warnings"]),
        // The front door is built with fewer features than the tests are, so it is checked by itself.
        with_locked(&["check"], &["-p", "cardwire-cli"]),
        test,
    ]
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// A committed lock file is part of what is tested, and in CI it must be there.
fn lockfile_is_fixed() -> bool {
    std::env::var_os("CI").is_some_and(|value| value == "true")
        || workspace::root().join("Cargo.lock").exists()
}

fn has_nextest() -> bool {
    let mut command = workspace::cargo();
    command.args(["nextest", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn timed<T>(name: &str, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    eprintln!("test: {name}");
    let begun = Instant::now();
    let outcome = work();
    eprintln!("test: {name}: {:.1} s", begun.elapsed().as_secs_f64());
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(runner_args: &[&str], locked: bool, nextest: bool) -> Vec<String> {
        let steps = steps(&words(runner_args), locked, nextest);
        steps.iter().map(|step| step.join(" ")).collect()
    }

    #[test]
    fn the_steps_are_format_lint_check_and_test() {
        assert_eq!(
            lines(&["--no-fail-fast"], true, true),
            [
                "fmt --all --check",
                "clippy --locked --workspace --all-targets -- -D warnings",
                "check --locked -p cardwire-cli",
                "nextest run --locked --workspace --no-fail-fast",
            ]
        );
    }

    #[test]
    fn the_built_in_runner_serves_where_nextest_is_missing() {
        assert_eq!(lines(&[], false, false).last().unwrap(), "test --workspace");
    }
}
