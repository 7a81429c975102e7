//! The worker under test: a shell command with everything it starts, ended with this value and without a warning.

use crate::failure::Failure;
use std::{
    fs::{self, File},
    io,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

/// A live worker.
pub(crate) struct Worker {
    child: Child,
    log: PathBuf,
    ended: bool,
}

/// What a worker is told by its environment.
pub(crate) struct Orders<'a> {
    pub(crate) url: &'a str,
    pub(crate) token: &'a str,
    pub(crate) target: &'a str,
}

impl Worker {
    /// Starts the command; what it prints goes into a file.
    pub(crate) fn start(command: &str, orders: &Orders<'_>, log: PathBuf) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::failed(format!("cannot start the worker: {error}"));
        let printed = File::create(&log).map_err(failed)?;
        let child = shell(command)
            .env("CARDWIRE_URL", orders.url)
            .env("CARDWIRE_TOKEN", orders.token)
            .env("CARDWIRE_TARGET", orders.target)
            .env("NO_PROXY", "127.0.0.1")
            .env("no_proxy", "127.0.0.1")
            .stdin(Stdio::null())
            .stdout(printed.try_clone().map_err(failed)?)
            .stderr(printed)
            .spawn()
            .map_err(failed)?;
        Ok(Self { child, log, ended: false })
    }

    /// How it ended, if it did so by itself.
    pub(crate) fn end(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        // What the shell has left behind goes too, as long as the number of the group is surely ours.
        kill_all(&mut self.child);
        self.ended = true;
        let printed = fs::read(&self.log).unwrap_or_default();
        let last = String::from_utf8_lossy(&printed).trim_end().lines().last().map(str::to_owned);
        Some(match last {
            Some(last) => format!("{status}: {last}"),
            None => status.to_string(),
        })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if !self.ended {
            kill_all(&mut self.child);
            let _ = self.child.wait();
        }
    }
}

/// A shell in a process group of its own, so that it can be killed with everything it has started.
#[cfg(unix)]
fn shell(command: &str) -> Command {
    use std::os::unix::process::CommandExt;
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).process_group(0);
    shell
}

#[cfg(not(unix))]
fn shell(command: &str) -> Command {
    let mut shell = Command::new("cmd");
    shell.args(["/C", command]);
    shell
}

/// `kill -9` for the shell and everything it has started.
#[cfg(unix)]
fn kill_all(child: &mut Child) {
    let kill = format!("kill -s KILL -- -{}", child.id());
    let _ = Command::new("sh").args(["-c", &kill]).stderr(Stdio::null()).status();
}

#[cfg(not(unix))]
fn kill_all(child: &mut Child) {
    let _ = child.kill();
}
