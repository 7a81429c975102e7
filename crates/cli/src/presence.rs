//! The sign that a server lives: its address in `server.json`, and a lock that ends with the process however that
//! ends. Only a held lock makes the address worth believing: after a crash another program may have the port, and
//! must not be sent a token.

use crate::{client::Place, data_dir::DataDir, failure::Failure, private};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{Seek, Write},
    time::Duration,
};

/// What `server.json` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Address {
    pub(crate) url: String,
    pub(crate) pid: u32,
    /// The server's certificate (PEM), if it speaks TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) certificate: Option<String>,
    /// Not only programs on this machine may reach it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) open: bool,
}

impl Address {
    pub(crate) fn place(&self) -> Place {
        Place { url: self.url.clone(), certificate: self.certificate.clone() }
    }
}

/// What a data directory says about its server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// There is none.
    Nothing,
    /// One was there and ended without tidying up.
    Stale(Address),
    /// One lives here.
    Live(Address),
}

/// Looks for the server of a data directory.
pub(crate) fn find(dir: &DataDir) -> Found {
    let read = fs::read_to_string(dir.server_file()).ok();
    match read.and_then(|text| serde_json::from_str(&text).ok()) {
        None => Found::Nothing,
        Some(address) if is_locked(dir) => Found::Live(address),
        Some(address) => Found::Stale(address),
    }
}

fn is_locked(dir: &DataDir) -> bool {
    match File::open(dir.lock_file()) {
        Ok(file) => matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)),
        Err(_) => false,
    }
}

/// This process is the server of its data directory, until it is dropped.
pub(crate) struct Presence {
    dir: DataDir,
    _lock: File,
}

/// Somebody who only looks whether the lock is free holds it for a moment.
const CLAIM_ATTEMPTS: u32 = 10;
const CLAIM_AGAIN: Duration = Duration::from_millis(20);

impl Presence {
    /// Takes the lock, or says who has it.
    pub(crate) async fn claim(dir: &DataDir) -> Result<Self, Failure> {
        let path = dir.lock_file();
        let failed = |error| Failure::file("lock", &path, &error);
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        for _ in 0..CLAIM_ATTEMPTS {
            match lock.try_lock() {
                Ok(()) => {
                    let pid = std::process::id();
                    lock.set_len(0).and_then(|()| lock.rewind()).map_err(failed)?;
                    write!(lock, "{pid}").map_err(failed)?;
                    return Ok(Self { dir: dir.clone(), _lock: lock });
                }
                Err(TryLockError::WouldBlock) => tokio::time::sleep(CLAIM_AGAIN).await,
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
        let pid = fs::read_to_string(&path).ok().and_then(|text| text.trim().parse().ok());
        Err(in_use(dir, pid))
    }

    /// Tells where the server is reached.
    pub(crate) fn announce(&self, place: Place, open: bool) -> Result<(), Failure> {
        let path = self.dir.server_file();
        let Place { url, certificate } = place;
        let address = Address { url, pid: std::process::id(), certificate, open };
        let text = serde_json::to_string(&address).map_err(|error| Failure::failed(error.to_string()))?;
        private::write(&path, &text).map_err(|error| Failure::file("write", &path, &error))
    }
}

impl Presence {
    /// Sends nobody here any more.
    pub(crate) fn withdraw(&self) {
        // Whoever finds the file without the lock ignores it, so a failure here does no harm.
        let _ = fs::remove_file(self.dir.server_file());
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.withdraw();
    }
}

/// Another process has the data.
pub(crate) fn in_use(dir: &DataDir, pid: Option<u32>) -> Failure {
    let who = pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
    let message = format!("the data in `{}` is in use by {who}", dir.path().display());
    Failure::conflict(message).hint("stop that process, or use another `--data-dir`")
}
