//! A place for data that outlives the servers on it, and the command line on that place.

use super::Server;
use cardwire_store::Store;
use cardwire_store_postgres::{PostgresConfig, PostgresStore, schema_checksum};
use cardwire_testkit::scratch::{self, ScratchDatabase};
use serde_json::Value;
use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};
use tempfile::TempDir;

/// Which store a server uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    Sqlite,
    /// A scratch database on the server in `CARDWIRE_TEST_POSTGRES`; fails loudly when that is not set.
    Postgres,
    /// The same on the server that tests may break.
    Victim,
}

/// A data directory, not made yet, and the store that goes with it.
pub(crate) struct Home {
    root: TempDir,
    postgres: Option<Arc<ScratchDatabase>>,
}

impl Home {
    pub(crate) fn new(backend: Backend) -> Arc<Self> {
        let postgres = match backend {
            Backend::Sqlite => None,
            Backend::Postgres => Some(scratch(scratch::POSTGRES)),
            Backend::Victim => Some(scratch(scratch::VICTIM)),
        };
        Arc::new(Self { root: TempDir::new().unwrap(), postgres })
    }

    /// Another data directory on the same store, for a second server.
    pub(crate) fn sibling(&self) -> Arc<Self> {
        Arc::new(Self { root: TempDir::new().unwrap(), postgres: self.postgres.clone() })
    }

    /// The address of the store, if it is a server.
    pub(crate) fn postgres(&self) -> Option<&str> {
        self.postgres.as_ref().map(|database| database.url())
    }

    /// A directory that is there, for files beside the data.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.root.path().join("data")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.data_dir().join("cardwire.db")
    }

    pub(crate) fn server_file(&self) -> PathBuf {
        self.data_dir().join("server.json")
    }

    /// The admin token.
    pub(crate) fn token(&self) -> String {
        std::fs::read_to_string(self.data_dir().join("admin.token")).unwrap()
    }

    /// Starts a server on this data, on a free port of the loopback address, with more arguments.
    pub(crate) fn up(self: &Arc<Self>, args: &[&str]) -> Server {
        Server::start_in(self, args)
    }

    /// The same, with variables of the environment, as a secret should go.
    pub(crate) fn up_with(self: &Arc<Self>, args: &[&str], variables: &[(&str, &str)]) -> Server {
        Server::start_with(self, args, variables)
    }

    /// Writes a file beside the data, where commands run.
    pub(crate) fn file(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.root().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// The binary with nothing of the caller's surroundings, on this data. The store's address goes by the
    /// environment, as a password should.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cardwire"));
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().to_string();
            let foreign = name.starts_with("CARDWIRE_")
                || name.starts_with("OTEL_")
                || name.starts_with("AWS_")
                || name.to_lowercase().ends_with("_proxy");
            if foreign || ["RUST_LOG", "NO_COLOR", "CLICOLOR_FORCE", "COLUMNS"].contains(&name.as_str()) {
                command.env_remove(&name);
            }
        }
        if let Some(url) = self.postgres() {
            command.env("CARDWIRE_STORE", url);
        }
        command.env("CARDWIRE_DATA_DIR", self.data_dir()).current_dir(self.root()).args(args);
        command
    }

    /// Runs a command to its end.
    pub(crate) fn cardwire(&self, args: &[&str]) -> Run {
        Run::of(self.command(args), "")
    }

    /// Runs a command with input.
    pub(crate) fn cardwire_with(&self, args: &[&str], input: &str) -> Run {
        Run::of(self.command(args), input)
    }

    /// Runs a command that must succeed, and answers what it printed without the last line break.
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        self.cardwire(args).ok()
    }

    /// Runs a command with `--json` that must succeed.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.ok(&[args, &["--json"]].concat())).unwrap()
    }

    /// Writes a card with text into project `p1` and answers its id.
    pub(crate) fn put_card(&self, text: &str) -> String {
        self.ok(&["card", "put", "--project", "p1", "--type", "task.instruction", "--text", text])
    }
}

fn scratch(variable: &str) -> Arc<ScratchDatabase> {
    let checksum = schema_checksum(&PostgresConfig::new("")).unwrap();
    let migrate =
        async |url: String| PostgresStore::open(PostgresConfig::new(url)).await.unwrap().close().await;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    Arc::new(runtime.block_on(ScratchDatabase::migrated(variable, &checksum, migrate)))
}

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    pub(crate) fn of(mut command: Command, input: &str) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that does not read its input closes it.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self {
            code: output.status.code().expect("the command was killed"),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.stdout.trim_end_matches('\n').to_owned()
    }

    /// The command failed with this code, and its error line holds these words.
    #[track_caller]
    pub(crate) fn failed(&self, code: i32, words: &str) {
        let line = self.stderr.lines().find(|line| line.starts_with("error: "));
        assert_eq!(self.code, code, "{self:?}");
        assert!(line.is_some_and(|line| line.contains(words)), "no `{words}` in {self:?}");
    }
}
