//! The server under the kit: this very program as `cardwire up`, on data that is thrown away.

use crate::{
    client::{Client, Http, Place, is_healthy},
    data_dir::DataDir,
    failure::Failure,
    presence::{self, Found},
};
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};
use tokio::time::{Instant, sleep};

const START_WITHIN: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// A live server.
pub(crate) struct Server {
    child: Child,
    dir: DataDir,
    log: PathBuf,
    place: Place,
}

impl Server {
    /// Starts a server with its data below this directory, on a free port of this machine.
    pub(crate) async fn start(root: &Path) -> Result<Self, Failure> {
        let (dir, log) = (DataDir::new(&root.join("data")), root.join("server.log"));
        let child = up(&dir, &log, "127.0.0.1:0")?;
        let place = Place { url: String::new(), certificate: None };
        let mut server = Self { child, dir, log, place };
        server.place = server.wait().await?;
        Ok(server)
    }

    /// Starts the server again after it was killed, on the same data and port.
    pub(crate) async fn start_again(&mut self) -> Result<(), Failure> {
        let address = self.place.url.strip_prefix("http://").unwrap_or_default();
        self.child = up(&self.dir, &self.log, address)?;
        self.place = self.wait().await?;
        Ok(())
    }

    /// `http://127.0.0.1:PORT`.
    pub(crate) fn url(&self) -> &str {
        &self.place.url
    }

    /// A client that may do everything.
    pub(crate) fn admin(&self) -> Result<Client, Failure> {
        let token = self.dir.read_token()?;
        let token = token.ok_or_else(|| Failure::failed("the server has made no admin token"))?;
        Http::new(&self.place, &token).map(Client::Http)
    }

    /// Until it answers.
    async fn wait(&mut self) -> Result<Place, Failure> {
        let deadline = Instant::now() + START_WITHIN;
        loop {
            if let Found::Live(address) = presence::find(&self.dir)
                && address.pid == self.child.id()
                && is_healthy(&address.place()).await
            {
                return Ok(address.place());
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                let log = fs::read_to_string(&self.log).unwrap_or_default();
                let last = log.lines().last().unwrap_or_default();
                return Err(Failure::failed(format!("the server did not start ({status}): {last}")));
            }
            if Instant::now() > deadline {
                return Err(Failure::failed("the server did not start in time"));
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    /// `kill -9`
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Whatever the caller's surroundings say, the store is ours: the watchdog's clock is moved.
fn up(dir: &DataDir, log: &Path, listen: &str) -> Result<Child, Failure> {
    let failed = |error: std::io::Error| Failure::failed(format!("cannot start a server: {error}"));
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_ours(name)) {
        command.env_remove(name);
    }
    command
        .args(["up", "--listen", listen, "--data-dir"])
        .arg(dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(log).map_err(failed)?)
        .spawn()
        .map_err(failed)
}

fn is_ours(variable: &std::ffi::OsStr) -> bool {
    variable.to_string_lossy().starts_with("CARDWIRE_")
}
