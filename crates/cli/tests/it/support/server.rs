//! A server process, ended with its value.

use super::{Backend, DEADLINE, Home, Reply, exchange};
use serde_json::Value;
use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
        mpsc,
    },
};

/// A live server.
pub(crate) struct Server {
    /// Its data; lives on when the server does not.
    pub(crate) home: Arc<Home>,
    /// `http://127.0.0.1:PORT`.
    pub(crate) url: String,
    /// The admin token.
    pub(crate) token: String,
    /// Its data directory.
    pub(crate) dir: PathBuf,
    child: Child,
    lines: Lines,
    log: PathBuf,
}

impl Server {
    /// A server on SQLite with a fresh data directory.
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::on(Backend::Sqlite, args)
    }

    /// A server with a fresh data directory and store.
    pub(crate) fn on(backend: Backend, args: &[&str]) -> Self {
        Home::new(backend).up(args)
    }

    pub(crate) fn start_in(home: &Arc<Home>, args: &[&str]) -> Self {
        Self::start_with(home, args, &[])
    }

    pub(crate) fn start_with(home: &Arc<Home>, args: &[&str], variables: &[(&str, &str)]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let log = home.root().join(format!("server-{}.log", COUNT.fetch_add(1, Ordering::Relaxed)));
        let mut command = home.command(&["up"]);
        command.envs(variables.iter().copied());
        if !args.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(&log).unwrap());
        let mut child = command.spawn().unwrap();
        let lines = Lines::of(child.stdout.take().unwrap());
        let printed = lines.next();
        let Some(url) = printed.as_deref().and_then(|line| line.strip_prefix("listening on ")) else {
            let _ = child.kill();
            let status = child.wait();
            panic!("the server did not start: {printed:?}, {status:?}\n{}", read(&log));
        };
        let (url, dir, token) = (url.to_owned(), home.data_dir(), home.token());
        Self { home: Arc::clone(home), url, token, dir, child, lines, log }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it logged so far.
    pub(crate) fn log(&self) -> String {
        read(&self.log)
    }

    /// `HOST:PORT`.
    pub(crate) fn address(&self) -> &str {
        self.url.split_once("://").unwrap().1
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.request("GET", path, "")
    }

    pub(crate) fn post(&self, path: &str, body: impl Into<Value>) -> Reply {
        self.request("POST", path, &body.into().to_string())
    }

    /// A request with the admin token and any text as body.
    pub(crate) fn request(&self, method: &str, path: &str, body: &str) -> Reply {
        self.request_as(&self.token, method, path, body)
    }

    /// A request with any token.
    pub(crate) fn request_as(&self, token: &str, method: &str, path: &str, body: &str) -> Reply {
        self.request_with(method, path, &[("authorization", &format!("Bearer {token}"))], body.as_bytes())
    }

    /// A request with exactly these headers, besides `host` and `content-length`.
    pub(crate) fn request_with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Reply {
        let mut request = format!("{method} {path} HTTP/1.0\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            request += &format!("host: {}\r\n", self.address());
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        request += &format!("content-length: {}\r\n\r\n", body.len());
        exchange(self.address(), &[request.as_bytes(), body].concat())
    }

    /// Asks the server to end, and answers how it did.
    pub(crate) fn terminate(self) -> ExitStatus {
        self.signal("TERM")
    }

    /// Sends a signal that ends the server, and waits for that.
    pub(crate) fn signal(mut self, signal: &str) -> ExitStatus {
        send_signal(self.pid(), signal);
        self.lines.wait_for_end();
        self.child.wait().unwrap()
    }

    /// Ends the server without a warning.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // After `kill` and `signal` there is nothing left to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- log of the server at {}\n{}", self.url, self.log());
        }
    }
}

pub(crate) fn send_signal(pid: u32, signal: &str) {
    let sent = Command::new("kill").arg(format!("-{signal}")).arg(pid.to_string()).status().unwrap();
    assert!(sent.success(), "no signal could be sent to {pid}");
}

fn read(path: &std::path::Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Lines of a process as they come.
pub(crate) struct Lines(Mutex<mpsc::Receiver<String>>);

impl Lines {
    /// Reads on in the background, so that the process never waits for us.
    pub(crate) fn of(output: impl Read + Send + 'static) -> Self {
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self(Mutex::new(lines))
    }

    /// The next line; `None` when the process has closed its output.
    pub(crate) fn next(&self) -> Option<String> {
        match self.0.lock().unwrap().recv_timeout(DEADLINE) {
            Ok(line) => Some(line),
            Err(mpsc::RecvTimeoutError::Disconnected) => None,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("no line within {DEADLINE:?}"),
        }
    }

    /// Waits until the process has closed its output, which it does at its end.
    pub(crate) fn wait_for_end(&self) {
        while self.next().is_some() {}
    }
}
