//! One server process: a free port, a log, a bounded wait until it answers, and its end.

use std::fs::{self, File, Permissions};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tempfile::TempDir;

use crate::interrupt;

const READY_WITHIN: Duration = Duration::from_secs(60);
const POLL_EVERY: Duration = Duration::from_millis(20);
/// Another process can take the free port between our asking for it and the server's binding it.
const PORT_ATTEMPTS: usize = 5;

/// What differs between the kinds of servers.
pub(super) trait Kind {
    const NAME: &'static str;

    /// The command that runs the server in the foreground.
    fn command(&self, dir: &Path, port: u16) -> Command;

    /// Whether the server started by `command`, and not a stranger on its port, answers.
    fn is_ready(&self, dir: &Path, port: u16) -> bool;
}

/// A running server and the directory it lives in.
///
/// The order of the fields matters: the process ends before its directory is removed.
pub(super) struct Server {
    process: Process,
    port: u16,
    dir: TempDir,
}

impl Server {
    pub(super) fn start<K: Kind>(kind: &K, dir: TempDir) -> anyhow::Result<Self> {
        for _ in 0..PORT_ATTEMPTS {
            let port = free_port()?;
            let mut process = Process::spawn(kind.command(dir.path(), port), dir.path())?;
            if process.becomes_ready(kind, dir.path(), port)? {
                let server = Self { process, port, dir };
                eprintln!("services: {} is process {} on port {port}", K::NAME, server.pid());
                return Ok(server);
            }
        }
        bail!("{} found its port taken {PORT_ATTEMPTS} times in a row", K::NAME)
    }

    fn pid(&self) -> u32 {
        self.process.0.id()
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Leave the directory on disk when the server is dropped.
    pub(super) fn keep_files(&mut self) -> &Path {
        self.dir.disable_cleanup(true);
        self.dir.path()
    }
}

/// A child process that does not outlive its handle.
struct Process(Child);

impl Process {
    fn spawn(mut command: Command, dir: &Path) -> anyhow::Result<Self> {
        let log = File::create(log_path(dir)).context("cannot create the server's log")?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().with_context(|| format!("cannot run {command:?}"))?;
        Ok(Self(child))
    }

    /// Wait for the server's first answer; `false` when it ended because its port was taken.
    fn becomes_ready<K: Kind>(&mut self, kind: &K, dir: &Path, port: u16) -> anyhow::Result<bool> {
        let deadline = Instant::now() + READY_WITHIN;
        loop {
            if let Some(status) = self.0.try_wait()? {
                let log = read_log(dir);
                if log.to_lowercase().contains("address already in use") {
                    return Ok(false);
                }
                bail!("{} ended while starting ({status}); its log:\n{log}", K::NAME);
            }
            if kind.is_ready(dir, port) {
                return Ok(true);
            }
            if Instant::now() > deadline {
                let seconds = READY_WITHIN.as_secs();
                bail!("{} did not answer within {seconds} s; its log:\n{}", K::NAME, read_log(dir));
            }
            if interrupt::pause(POLL_EVERY) {
                bail!("interrupted while {} was starting", K::NAME);
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only when the process has already ended, which is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A new directory for a server's data, socket and log, closed to other users.
pub(super) fn new_dir(name: &str) -> anyhow::Result<TempDir> {
    let prefix = format!("cardwire-{name}-");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).permissions(Permissions::from_mode(0o700));
    builder.tempdir().context("cannot create a temporary directory")
}

fn log_path(dir: &Path) -> PathBuf {
    dir.join("server.log")
}

fn read_log(dir: &Path) -> String {
    fs::read_to_string(log_path(dir)).unwrap_or_else(|error| format!("(the log cannot be read: {error})"))
}

fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot find a free port")?;
    Ok(listener.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stand-in server: a shell command that may or may not count as ready.
    struct Script {
        line: &'static str,
        ready: bool,
    }

    impl Kind for Script {
        const NAME: &'static str = "script";

        fn command(&self, _dir: &Path, _port: u16) -> Command {
            let mut command = Command::new("sh");
            command.args(["-c", self.line]);
            command
        }

        fn is_ready(&self, _dir: &Path, _port: u16) -> bool {
            self.ready
        }
    }

    fn start(line: &'static str, ready: bool) -> anyhow::Result<Server> {
        Server::start(&Script { line, ready }, new_dir("test")?)
    }

    #[test]
    fn a_server_that_ends_while_starting_is_an_error_with_its_log() {
        let error = start("echo the disk is full; exit 3", false).err().unwrap().to_string();
        assert!(error.contains("exit status: 3") && error.contains("the disk is full"), "{error}");
    }

    #[test]
    fn a_taken_port_is_tried_again_but_not_forever() {
        let error = start("echo bind: Address already in use; exit 1", false).err().unwrap().to_string();
        assert!(error.contains("5 times in a row"), "{error}");
    }

    #[test]
    fn dropping_a_server_ends_its_process_and_removes_its_directory() {
        let server = start("exec sleep 600", true).unwrap();
        let dir = server.dir().to_owned();
        let pid = server.pid();
        drop(server);
        assert!(!dir.exists());
        let alive = Command::new("sh").args(["-c", &format!("kill -0 {pid}")]).output().unwrap();
        assert!(!alive.status.success(), "process {pid} is still there");
    }
}
