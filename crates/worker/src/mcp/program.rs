//! The program of an MCP server: the one place where a worker starts a process.
//!
//! It finds nothing of the worker's environment but `PATH`, leads a group of its own, and ends, with all it has started,
//! before this value is gone.

use super::servers::ProgramPlace;
use cardwire_model::{credential::looks_like_credential, limits};
use std::{
    ffi::OsStr,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    io::AsyncReadExt,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    sync::watch,
    task::JoinSet,
};

/// How long a program may take to end after its input was closed.
const GRACE: Duration = Duration::from_secs(2);
/// Pause between two looks at whether it has ended.
#[cfg(unix)]
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How long is waited for the rest of what a program says that has ended.
const HEAR_OUT: Duration = Duration::from_millis(500);
/// How much of standard error is read at once.
const READ_BYTES: usize = 8 * 1024;

/// A program that runs.
#[derive(Debug)]
pub(super) struct Program {
    child: Child,
    /// Reads what it says on standard error, so that it never waits for a reader.
    _listening: JoinSet<()>,
    /// Ends when it says no more.
    listened: watch::Receiver<()>,
}

/// The last that a program said on standard error: told to whoever wants to know why it does not serve, and to no model.
#[derive(Debug, Clone, Default)]
pub(super) struct LastWords(Arc<Mutex<Vec<u8>>>);

impl LastWords {
    fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn hear(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(bytes);
        // One byte more than is told shows that there was more.
        let gone = kept.len().saturating_sub(limits::MCP_LAST_WORDS_BYTES + 1);
        kept.drain(..gone);
    }

    /// Its last lines, without those that look like a secret (SEC-09); nothing if it said nothing.
    pub(super) fn lines(&self) -> Option<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let text = String::from_utf8_lossy(&kept).into_owned();
        let is_cut = kept.len() > limits::MCP_LAST_WORDS_BYTES;
        let mut lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        if is_cut && lines.len() > 1 {
            // It begins in the middle.
            lines.remove(0);
        }
        let first = lines.len().saturating_sub(limits::MCP_LAST_WORDS_LINES);
        let told = |line: &&str| match looks_like_credential(line) {
            true => "[a line that looks like a secret]".to_owned(),
            false => line.chars().filter(|letter| !letter.is_control()).collect(),
        };
        let lines: Vec<String> = lines.get(first..).unwrap_or_default().iter().map(told).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

impl Program {
    /// Starts it. Gives what is read from it and written to it.
    pub(super) fn start(
        server: &str,
        place: &ProgramPlace,
        path: Option<&OsStr>,
        words: &LastWords,
    ) -> Result<(Self, ChildStdout, ChildStdin), String> {
        words.clear();
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
        let (listens, listened) = watch::channel(());
        listening.spawn(listen(server.to_owned(), errors, words.clone(), listens));
        Ok((Self { child, _listening: listening, listened }, output, input))
    }

    /// Waits a moment for the end of what it says.
    pub(super) async fn heard_out(&self) {
        let mut listened = self.listened.clone();
        let end = async { while listened.changed().await.is_ok() {} };
        let _ = tokio::time::timeout(HEAR_OUT, end).await;
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
async fn listen(server: String, mut errors: ChildStderr, words: LastWords, _listens: watch::Sender<()>) {
    let mut read = vec![0; READ_BYTES];
    while let Ok(bytes @ 1..) = errors.read(&mut read).await {
        words.hear(&read[..bytes]);
        tracing::debug!(server, bytes, "wrote on standard error");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-02, SEC-09
    #[test]
    fn the_last_lines_of_a_program_are_told_without_secrets() {
        let words = LastWords::default();
        assert_eq!(words.lines(), None);
        words.hear(b"starting\n\nkey sk-abcdefghijklmnopqrstuv\n");
        words.hear("no such directory: /d\u{e4}ta\n".as_bytes());
        let told = "starting\n[a line that looks like a secret]\nno such directory: /d\u{e4}ta";
        assert_eq!(words.lines().as_deref(), Some(told));
        for line in 0..limits::MCP_LAST_WORDS_LINES + 1 {
            words.hear(format!("{line}\n").as_bytes());
        }
        assert_eq!(words.lines().unwrap().lines().next(), Some("1"), "{:?}", words.lines());
        words.hear("x".repeat(limits::MCP_LAST_WORDS_BYTES).as_bytes());
        assert_eq!(
            words.lines().unwrap().len(),
            limits::MCP_LAST_WORDS_BYTES,
            "a line is told as far as it is kept"
        );
        words.clear();
        assert_eq!(words.lines(), None);
    }
}
