//! A private NATS server with JetStream.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::process::{self, Kind, Server};
use super::tools;

const ANSWER_WITHIN: Duration = Duration::from_secs(1);

/// A running NATS server. Dropping it stops it.
pub(crate) struct Nats {
    server: Server,
    url: String,
}

impl Nats {
    /// Serve JetStream from a temporary directory on a free port of 127.0.0.1.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let program = Program { path: tools::nats_server()? };
        let server = Server::start(&program, process::new_dir("nats")?)?;
        let url = format!("nats://127.0.0.1:{}", server.port());
        Ok(Self { server, url })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Leave data and log on disk after the server has stopped.
    pub(crate) fn keep_files(&mut self) -> &Path {
        self.server.keep_files()
    }
}

struct Program {
    path: PathBuf,
}

impl Kind for Program {
    const NAME: &'static str = "nats-server";

    fn command(&self, dir: &Path, port: u16) -> Command {
        let mut command = Command::new(&self.path);
        command.args(["-a", "127.0.0.1", "-p"]).arg(port.to_string());
        command.arg("--name").arg(server_name(dir));
        command.arg("-js").arg("-sd").arg(dir);
        command
    }

    fn is_ready(&self, dir: &Path, port: u16) -> bool {
        // The greeting names the server, so a stranger on the same port is not taken for ours.
        greeting(port).is_some_and(|line| {
            line.starts_with("INFO ")
                && line.contains(&server_name(dir))
                && line.contains("\"jetstream\":true")
        })
    }
}

/// The first line a NATS server sends.
fn greeting(port: u16) -> Option<String> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let stream = TcpStream::connect_timeout(&address, ANSWER_WITHIN).ok()?;
    stream.set_read_timeout(Some(ANSWER_WITHIN)).ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    Some(line)
}

/// The temporary directory's name is unique on this machine, hence the server's is.
fn server_name(dir: &Path) -> String {
    dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
