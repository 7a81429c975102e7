//! A private server that speaks S3: moto, whose objects live as long as its process.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::process::{self, Kind, Server};
use super::tools;

const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// A running S3 server. Dropping it stops it.
pub(crate) struct S3 {
    server: Server,
    url: String,
}

impl S3 {
    /// Serve objects on a free port of 127.0.0.1.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let program = Program { path: tools::moto_server()? };
        let server = Server::start(&program, process::new_dir("s3")?)?;
        let url = format!("http://127.0.0.1:{}", server.port());
        Ok(Self { server, url })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Leave the log on disk after the server has stopped.
    pub(crate) fn keep_files(&mut self) -> &Path {
        self.server.keep_files()
    }
}

struct Program {
    path: PathBuf,
}

impl Kind for Program {
    const NAME: &'static str = "moto_server";

    fn command(&self, _dir: &Path, port: u16) -> Command {
        let mut command = Command::new(&self.path);
        command.args(["-H", "127.0.0.1", "-p"]).arg(port.to_string());
        command
    }

    fn is_ready(&self, _dir: &Path, port: u16) -> bool {
        // Only this server has such a page.
        page(port).is_some_and(|page| page.starts_with("HTTP/1.1 200") && page.contains("Moto"))
    }
}

fn page(port: u16) -> Option<String> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, ANSWER_WITHIN).ok()?;
    stream.set_read_timeout(Some(ANSWER_WITHIN)).ok()?;
    stream.write_all(b"GET /moto-api/ HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n").ok()?;
    let mut page = Vec::new();
    stream.take(1 << 16).read_to_end(&mut page).ok()?;
    Some(String::from_utf8_lossy(&page).into_owned())
}
