//! Somebody who is signed in and fetches pages: a connection for each, read to its end and not kept.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use super::server::Server;

/// A page that was read.
pub(super) struct Fetched {
    /// From the first byte that was sent to the last that came.
    pub(super) time: Duration,
    /// Of the body.
    pub(super) bytes: usize,
}

pub(super) struct Visitor {
    address: SocketAddr,
    /// `name=value`.
    pub(super) cookie: String,
}

impl Visitor {
    /// Signs in with the server's token.
    pub(super) fn of(server: &Server) -> anyhow::Result<Self> {
        let (address, form) = (server.address, format!("token={}", server.token));
        let head = format!(
            "POST /inspect/login HTTP/1.0\r\nhost: {address}\r\norigin: http://{address}\r\ncontent-length: {}",
            form.len()
        );
        let mut answer = vec![];
        exchange(address, &format!("{head}\r\n\r\n{form}"), &mut answer)?;
        let answer = String::from_utf8_lossy(&answer);
        let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: "));
        let cookie = cookie.with_context(|| format!("no session: {answer}"))?;
        Ok(Self { address, cookie: cookie.split(';').next().unwrap_or_default().to_owned() })
    }

    pub(super) fn get(&self, path: &str, buffer: &mut Vec<u8>) -> anyhow::Result<Fetched> {
        let request =
            format!("GET {path} HTTP/1.0\r\nhost: {}\r\ncookie: {}\r\n\r\n", self.address, self.cookie);
        buffer.clear();
        let begun = Instant::now();
        exchange(self.address, &request, buffer)?;
        let time = begun.elapsed();
        let head = buffer.windows(4).position(|four| four == b"\r\n\r\n").context("no whole head")?;
        ensure!(
            buffer.starts_with(b"HTTP/1.0 200") || buffer.starts_with(b"HTTP/1.1 200"),
            "{path}: {}",
            String::from_utf8_lossy(&buffer[..buffer.len().min(2_000)])
        );
        ensure!(buffer.ends_with(b"</html>"), "{path} was cut");
        Ok(Fetched { time, bytes: buffer.len() - head - 4 })
    }
}

fn exchange(address: SocketAddr, request: &str, answer: &mut Vec<u8>) -> anyhow::Result<()> {
    let mut stream = TcpStream::connect(address).context("cannot connect")?;
    stream.set_nodelay(true)?;
    stream.write_all(request.as_bytes())?;
    stream.read_to_end(answer)?;
    Ok(())
}
