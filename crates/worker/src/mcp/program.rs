//! The program of an MCP server: the one place where a worker starts a process.
//!
//! It finds nothing of the worker's environment but `PATH`, leads a group of its own, and ends, with all it has started,
//! before this value is gone.

use super::servers::ProgramPlace;
use std::{ffi::OsStr, process::Stdio, time::Duration};
use tokio::{
    io::AsyncReadExt,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    task::JoinSet,
};

/// How long a program may take to end after its input was closed.
const GRACE: Duration = Duration::from_secs(2);
/// Pause between two looks at whether it has ended.
#[cfg(unix)]
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How much of standard error is read at once.
const READ_BYTES: usize = 8 * 1024;

/// A program that runs.
#[derive(Debug)]
pub(super) struct Program {
    child: Child,
    /// Reads what it says on standard error, so that it never waits for a reader.
    _listening: JoinSet<()>,
}

impl Program {
    /// Starts it. Gives what is read from it and written to it.
    pub(super) fn start(
        server: &str,
        place: &ProgramPlace,
        path: Option<&OsStr>,
    ) -> Result<(Self, ChildStdout, ChildStdin), String> {
        let mut command = Command::new(&place.command);
        command.args(&place.args).env_clear();
        if let Some(path) = path {
            command.env("PATH", path);
        }
        command.envs(place.env.iter().map(|(name, value)| (name, value)));
        if let Some(dir) = &place.cwd {
            command.current_dir(dir);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        // A signal from the terminal is for the worker, which ends its programs in order.
        #[cfg(unix)]
        command.process_group(0);
        let mut child =
            command.spawn().map_err(|error| format!("cannot start `{}`: {error}", place.command))?;
        let (Some(output), Some(input), Some(errors)) =
            (child.stdout.take(), child.stdin.take(), child.stderr.take())
        else {
            return Err(format!("cannot speak with `{}`", place.command));
        };
        let mut listening = JoinSet::new();
        listening.spawn(listen(server.to_owned(), errors));
        Ok((Self { child, _listening: listening }, output, input))
    }

    /// Waits a while for its end; its input must be closed. What is left of it is ended.
    pub(super) async fn end(mut self) {
        let _ = tokio::time::timeout(GRACE, self.ended()).await;
        self.kill();
        let _ = self.child.wait().await;
    }

    /// Waits for its end without taking note of it: its number stays its own, so that its group can be ended too.
    #[cfg(unix)]
    async fn ended(&self) {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        while let Some(id) = self.id()
            && let Ok(None) = waitid(WaitId::Pid(id), look)
        {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    #[cfg(not(unix))]
    async fn ended(&mut self) {
        let _ = self.child.wait().await;
    }

    /// Ends the program and what it has started.
    fn kill(&mut self) {
        #[cfg(unix)]
        if let Some(group) = self.id() {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.start_kill();
    }

    /// Its number, until its end was taken note of.
    #[cfg(unix)]
    fn id(&self) -> Option<rustix::process::Pid> {
        rustix::process::Pid::from_raw(i32::try_from(self.child.id()?).ok()?)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Such lines often quote what a call was given, so that only how much there was is logged (OB-06).
async fn listen(server: String, mut errors: ChildStderr) {
    let mut read = vec![0; READ_BYTES];
    while let Ok(bytes @ 1..) = errors.read(&mut read).await {
        tracing::debug!(server, bytes, "wrote on standard error");
    }
}
