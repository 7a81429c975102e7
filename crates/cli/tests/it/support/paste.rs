//! Shell lines of documents, run as a reader pastes them: one after the other in an empty directory beside the examples,
//! with the binary under test.

use super::Home;
use std::{net::TcpListener, path::Path, process::Command};

/// The port that documents name.
const PORT: &str = "7117";
/// How many seconds pasted lines may take: a line that waits for ever fails the test instead of holding it up.
const SECONDS: &str = "300";

/// What pasted lines printed.
#[derive(Debug)]
pub(crate) struct Pasted {
    pub(crate) output: String,
    pub(crate) errors: String,
}

/// Runs lines that must all succeed, on a port that is free here.
#[track_caller]
pub(crate) fn paste(home: &Home, lines: &str) -> Pasted {
    assert!(lines.contains(PORT), "no port {PORT} in\n{lines}");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    // What a failing line leaves running ends with the shell.
    let script =
        format!("trap 'kill $(jobs -p) 2> /dev/null || :' EXIT\n{}", lines.replace(PORT, &port.to_string()));

    let (examples, link) =
        (Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples")), home.root().join("examples"));
    if !link.exists() {
        std::os::unix::fs::symlink(examples, link).unwrap();
    }

    let binary = Path::new(env!("CARGO_BIN_EXE_cardwire"));
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut bash = Command::new("timeout");
    bash.args([SECONDS, "bash", "-eu", "-o", "pipefail", "-c", &script]).current_dir(home.root());
    for (name, value) in home.command(&[]).get_envs() {
        match value {
            Some(value) => bash.env(name, value),
            None => bash.env_remove(name),
        };
    }
    // Documents use the default data directory.
    let run = bash.env_remove("CARDWIRE_DATA_DIR").env("PATH", path).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let pasted = Pasted { output: text(&run.stdout), errors: text(&run.stderr) };
    assert!(run.status.success(), "{}\n{}", pasted.output, pasted.errors);
    pasted
}
