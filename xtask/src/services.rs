//! The real servers that tests and benchmarks run against, private to one run.
//!
//! Nothing here is optional: a server that cannot be had is an error that says what to install, because a
//! test that is skipped silently proves nothing. Every server listens on 127.0.0.1 only, keeps its data in
//! a temporary directory and is stopped when its value is dropped.

mod nats;
mod postgres;
mod process;
mod s3;
mod tools;

use std::io::{self, Read};
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::Context;

use crate::interrupt;

pub(crate) use nats::Nats;
pub(crate) use postgres::Postgres;
pub(crate) use s3::S3;
pub(crate) use tools::{chromium, node_modules};

/// The variables by which programs in Node find their packages and a browser.
pub(crate) const NODE_MODULES: &str = "CARDWIRE_TEST_NODE_MODULES";
pub(crate) const CHROMIUM: &str = "CARDWIRE_TEST_CHROMIUM";

/// Everything the tests need from outside.
pub(crate) struct Services {
    postgres: Postgres,
    /// For tests that break the server under load; nobody else's databases are on it.
    victim: Postgres,
    nats: Nats,
    nats_server: PathBuf,
    s3: S3,
    schemathesis: PathBuf,
    sdk_python: PathBuf,
    client_python: PathBuf,
    node_modules: PathBuf,
    chromium: PathBuf,
}

impl Services {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let schemathesis = tools::schemathesis()?;
        let sdk_python = tools::sdk_python()?;
        let client_python = tools::client_python()?;
        let node_modules = tools::node_modules()?;
        let chromium = tools::chromium()?;
        Ok(Self {
            postgres: Postgres::start()?,
            victim: Postgres::start()?,
            nats: Nats::start()?,
            nats_server: tools::nats_server()?,
            s3: S3::start()?,
            schemathesis,
            sdk_python,
            client_python,
            node_modules,
            chromium,
        })
    }

    /// The variables by which tests find the servers.
    pub(crate) fn env(&self) -> Vec<(&'static str, String)> {
        vec![
            ("CARDWIRE_TEST_POSTGRES", self.postgres.url().to_owned()),
            ("CARDWIRE_TEST_POSTGRES_VICTIM", self.victim.url().to_owned()),
            ("CARDWIRE_TEST_NATS", self.nats.url().to_owned()),
            ("CARDWIRE_TEST_NATS_SERVER", self.nats_server.display().to_string()),
            ("CARDWIRE_TEST_S3", self.s3.url().to_owned()),
            ("CARDWIRE_TEST_SCHEMATHESIS", self.schemathesis.display().to_string()),
            ("CARDWIRE_TEST_SDK_PYTHON", self.sdk_python.display().to_string()),
            ("CARDWIRE_TEST_CLIENT_PYTHON", self.client_python.display().to_string()),
            (NODE_MODULES, self.node_modules.display().to_string()),
            (CHROMIUM, self.chromium.display().to_string()),
        ]
    }

    /// Leave data and logs on disk after the servers have stopped.
    pub(crate) fn keep_files(&mut self) {
        let dirs = [
            self.postgres.keep_files(),
            self.victim.keep_files(),
            self.nats.keep_files(),
            self.s3.keep_files(),
        ];
        for dir in dirs {
            eprintln!("services: keeping {}", dir.display());
        }
    }
}

/// `cargo xtask services`. The export lines go to stdout, everything else to stderr.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let services = Services::start()?;
    for (name, value) in services.env() {
        println!("export {name}='{value}'");
    }
    let psql = services.postgres.bin_dir().join("psql");
    eprintln!("services: try {} {}", psql.display(), services.postgres.url());
    eprintln!("services: up until Ctrl-C or the end of stdin");

    thread::Builder::new()
        .spawn(|| {
            // A failing read ends the servers just as the end of the input does.
            let _ = io::copy(&mut io::stdin().lock().by_ref(), &mut io::sink());
            interrupt::request();
        })
        .context("cannot watch stdin")?;
    while !interrupt::pause(Duration::from_secs(3600)) {}
    Ok(ExitCode::SUCCESS)
}
