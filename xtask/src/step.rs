//! One command that this program runs for somebody: its output passes through, and so do signals and its exit code.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::interrupt;

/// How long an interrupted step may take to end by itself.
const GRACE: Duration = Duration::from_secs(10);
const POLL_EVERY: Duration = Duration::from_millis(50);

/// Run a command to its end, with this process's output but without its input.
pub(crate) fn run(mut command: Command) -> anyhow::Result<ExitStatus> {
    let child = command.stdin(Stdio::null()).spawn().with_context(|| format!("cannot run {command:?}"))?;
    wait(child)
}

/// Wait for a step; when somebody asks to stop, pass that on and wait a little longer.
fn wait(mut child: Child) -> anyhow::Result<ExitStatus> {
    while !interrupt::pause(POLL_EVERY) {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
    }
    // Ctrl-C reached the step as well, a signal to this process alone did not.
    let _ = Command::new("sh").args(["-c", &format!("kill -TERM {}", child.id())]).output();
    let deadline = Instant::now() + GRACE;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        std::thread::park_timeout(POLL_EVERY);
    }
    child.kill()?;
    Ok(child.wait()?)
}

/// A step ended by a signal gets the code a shell would give it.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_step_keeps_its_exit_code() {
        let status = run({
            let mut command = Command::new("sh");
            command.args(["-c", "exit 42"]);
            command
        });
        assert_eq!(exit_code(status.unwrap()), ExitCode::from(42));
        assert_eq!(exit_code(ExitStatus::from_raw(9)), ExitCode::from(137));
    }
}
