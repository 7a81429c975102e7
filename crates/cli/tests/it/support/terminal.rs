//! A command on a terminal, as a person has it: typed at, and read from. Python has the terminals.

use super::{Home, Run};
use std::process::Command;

/// What a person does: waits for words, and then types.
pub(crate) type Typed<'a> = (&'a str, &'a str);

/// Runs the command it is given with all its streams on a terminal. `{"expect": "type"}` pairs come as JSON. Exits as the
/// command does; 97 when words did not come in time.
const PLAYER: &str = r#"
import json, os, pty, select, sys, time
steps, command = json.loads(sys.argv[1]), sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
seen, end = b"", time.monotonic() + 60
while True:
    if steps and steps[0][0].encode() in seen:
        os.write(terminal, steps.pop(0)[1].encode())
        seen = b""
    if time.monotonic() > end:
        os.kill(pid, 9)
        sys.exit(97)
    if not select.select([terminal], [], [], 0.1)[0]:
        continue
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    if not piece:
        break
    seen += piece
    sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

impl Home {
    /// Runs a command on a terminal, where a person types. Everything that is shown is its output.
    pub(crate) fn on_terminal(&self, args: &[&str], typed: &[Typed<'_>]) -> Run {
        self.on_terminal_with(args, &[], typed)
    }

    /// The same, with variables of the environment.
    pub(crate) fn on_terminal_with(
        &self,
        args: &[&str],
        variables: &[(&str, &str)],
        typed: &[Typed<'_>],
    ) -> Run {
        let mut command = self.command(args);
        command.envs(variables.iter().copied());
        let mut player = Command::new("python3");
        player.args(["-c", PLAYER, &serde_json::to_string(typed).unwrap()]);
        player.arg(command.get_program()).args(command.get_args()).current_dir(self.root());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => player.env(name, value),
                None => player.env_remove(name),
            };
        }
        // Words are looked for in what is shown.
        Run::of(
            {
                player.env("NO_COLOR", "1");
                player
            },
            "",
        )
    }
}
