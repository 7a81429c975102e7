//! A private PostgreSQL server: with default durability for benchmarks, without flushes for tests.
//!
//! PostgreSQL refuses to run as root, so root runs it as the operating system's user `postgres`.

use std::ffi::OsStr;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::process::{self, Kind, Server};
use super::tools;

/// A running PostgreSQL server with the superuser `postgres` and no password. Dropping it stops it.
pub(crate) struct Postgres {
    server: Server,
    programs: Programs,
    url: String,
}

impl Postgres {
    /// Create a database cluster in a temporary directory and serve it on a free port of 127.0.0.1.
    ///
    /// Tests kill the server, never the machine, so nothing they prove needs a flush; and every database they
    /// drop is a checkpoint.
    pub(crate) fn start() -> anyhow::Result<Self> {
        Self::start_with(&[
            "fsync=off",
            "full_page_writes=off",
            "max_wal_size=4GB",
            // Hundreds of small databases come and go: looking into each of them would take longer than the tests in it.
            "autovacuum_naptime=1h",
        ])
    }

    /// A server for measurements, which counts statements if it has the extension for it.
    pub(crate) fn start_counting() -> anyhow::Result<Self> {
        let library = "pg_stat_statements";
        let settings: &[_] = if tools::has_postgres_library(library)? {
            &["shared_preload_libraries=pg_stat_statements"]
        } else {
            &[]
        };
        Self::start_with(settings)
    }

    fn start_with(settings: &'static [&'static str]) -> anyhow::Result<Self> {
        let programs = Programs { bin_dir: tools::postgres_bin_dir()?, user: server_user()?, settings };
        let dir = process::new_dir("postgres")?;
        if let Some(User { uid, gid }) = programs.user {
            chown(dir.path(), Some(uid), Some(gid)).context("cannot hand the directory to postgres")?;
        }
        programs.initdb(dir.path())?;
        let server = Server::start(&programs, dir)?;
        let url = format!("postgres://postgres@127.0.0.1:{}/postgres", server.port());
        Ok(Self { server, programs, url })
    }

    /// The URL of the database `postgres`, as the superuser.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Where this server's own programs are (`psql`, `pgbench`).
    pub(crate) fn bin_dir(&self) -> &Path {
        &self.programs.bin_dir
    }

    /// Leave data and log on disk after the server has stopped.
    pub(crate) fn keep_files(&mut self) -> &Path {
        self.server.keep_files()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // A fast shutdown lets the server end its own children. If it fails, the handle's drop kills it.
        let dir = self.server.dir();
        let mut stop = self.programs.command("pg_ctl", dir);
        stop.args(["stop", "--mode=fast", "--silent", "--wait", "--timeout=30", "-D"]).arg(data_dir(dir));
        match stop.output() {
            Ok(output) if output.status.success() => {}
            Ok(output) => eprintln!("postgres: pg_ctl stop: {}", String::from_utf8_lossy(&output.stderr)),
            Err(error) => eprintln!("postgres: cannot run pg_ctl: {error}"),
        }
    }
}

/// The server's programs and who runs them.
struct Programs {
    bin_dir: PathBuf,
    user: Option<User>,
    /// What this server is told besides.
    settings: &'static [&'static str],
}

/// A user of the operating system.
#[derive(Clone, Copy)]
struct User {
    uid: u32,
    gid: u32,
}

impl Programs {
    fn command(&self, program: impl AsRef<OsStr>, dir: &Path) -> Command {
        let mut command = Command::new(self.bin_dir.join(program.as_ref()));
        // The caller's directory may be closed to the server's user.
        command.current_dir(dir);
        if let Some(User { uid, gid }) = self.user {
            command.uid(uid).gid(gid);
        }
        command
    }

    fn initdb(&self, dir: &Path) -> anyhow::Result<()> {
        let mut initdb = self.command("initdb", dir);
        initdb.args(["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "-D"]);
        let output = initdb.arg(data_dir(dir)).output().with_context(|| format!("cannot run {initdb:?}"))?;
        if !output.status.success() {
            let stdout = String::from_utf8_lossy(&output.stdout);
            let stderr = String::from_utf8_lossy(&output.stderr);
            bail!("initdb failed ({}):\n{stdout}{stderr}", output.status);
        }
        Ok(())
    }
}

impl Kind for Programs {
    const NAME: &'static str = "postgres";

    fn command(&self, dir: &Path, port: u16) -> Command {
        let mut command = self.command("postgres", dir);
        command.arg("-D").arg(data_dir(dir));
        for setting in [
            "listen_addresses=127.0.0.1".to_owned(),
            format!("port={port}"),
            format!("unix_socket_directories={}", dir.display()),
            // Tests run in parallel and each has a pool of its own.
            "max_connections=300".to_owned(),
        ] {
            command.arg("-c").arg(setting);
        }
        for setting in self.settings {
            command.arg("-c").arg(setting);
        }
        command
    }

    fn is_ready(&self, dir: &Path, port: u16) -> bool {
        // Asking through the socket in our own directory reaches our server and no other. The server opens
        // its TCP port before that socket.
        let mut ask = self.command("pg_isready", dir);
        ask.args(["--quiet", "--username=postgres", "--dbname=postgres", "--port"]).arg(port.to_string());
        ask.arg("--host").arg(dir);
        ask.status().is_ok_and(|status| status.success())
    }
}

fn data_dir(dir: &Path) -> PathBuf {
    dir.join("data")
}

fn server_user() -> anyhow::Result<Option<User>> {
    if !tools::is_root()? {
        return Ok(None);
    }
    let hint = "PostgreSQL refuses to run as root; create the system user `postgres` or do not run as root";
    let uid = tools::id(&["-u", "postgres"]).context(hint)?;
    let gid = tools::id(&["-g", "postgres"]).context(hint)?;
    Ok(Some(User { uid, gid }))
}
