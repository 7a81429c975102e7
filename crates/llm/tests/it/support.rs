//! A small HTTP server, the Python of the official libraries, and requests to make.

use cardwire_egress::{Allowed, Asker, Door, Keyring};
use cardwire_llm::{ChatModel, ChunkSink, ModelRequest, build};
use futures_util::{FutureExt, future::BoxFuture};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    process::{Child, Command},
    task::JoinHandle,
};

/// Where Python with the official libraries is; `cargo xtask test` and `cargo xtask services` install it and set this.
const PYTHON: &str = "CARDWIRE_TEST_SDK_PYTHON";
/// What our models are given as their key.
pub(crate) const KEY: &str = "hunter2hunter2";

/// One request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

/// The answer to one request: bytes as they go over the wire.
#[derive(Debug, Clone, Default)]
pub(crate) struct Served {
    pub(crate) parts: Vec<Vec<u8>>,
    /// Whether the connection stays open when all is said.
    pub(crate) hangs: bool,
}

impl Served {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::with(status, "content-type: application/json\r\n", body.to_string())
    }

    pub(crate) fn stream(events: &[String]) -> Self {
        let head = "HTTP/1.1 200 X\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n";
        let parts = std::iter::once(head.as_bytes().to_vec());
        Self {
            parts: parts.chain(events.iter().map(|event| event.clone().into_bytes())).collect(),
            hangs: false,
        }
    }

    pub(crate) fn with(status: u16, headers: &str, body: String) -> Self {
        let length = body.len();
        let head =
            format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n");
        Self { parts: vec![head.into_bytes(), body.into_bytes()], hangs: false }
    }
}

type Handler = Arc<dyn Fn(Asked) -> BoxFuture<'static, Served> + Send + Sync>;

/// A server for as long as it lives.
pub(crate) struct Server {
    pub(crate) url: String,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start<F>(handler: impl Fn(Asked) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Served> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let handler: Handler = Arc::new(move |asked| handler(asked).boxed());
        let task = tokio::spawn(async move {
            loop {
                let (connection, _) = listener.accept().await.unwrap();
                tokio::spawn(answer(connection, handler.clone()));
            }
        });
        Self { url, task }
    }

    /// Answers the n-th request with the n-th of these, and the last of them for ever. What was asked is kept.
    pub(crate) async fn saying(answers: Vec<Served>) -> (Self, Arc<Mutex<Vec<Asked>>>) {
        let log = Arc::new(Mutex::new(vec![]));
        let kept = log.clone();
        let server = Self::start(move |asked| {
            let mut log = kept.lock().unwrap();
            let served = answers.get(log.len()).or(answers.last()).cloned().unwrap_or_default();
            log.push(asked);
            async move { served }
        });
        (server.await, log)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The client may leave whenever it likes, so nothing here can fail.
async fn answer(connection: TcpStream, handler: Handler) {
    let mut connection = BufReader::new(connection);
    let Some(asked) = read(&mut connection).await else { return };
    let served = handler(asked).await;
    for part in served.parts {
        if connection.write_all(&part).await.is_err() || connection.flush().await.is_err() {
            return;
        }
    }
    if served.hangs {
        let _ = connection.read_u8().await;
    }
    let _ = connection.shutdown().await;
}

async fn read(connection: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut line = String::new();
    connection.read_line(&mut line).await.ok()?;
    let path = line.split_whitespace().nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        connection.read_line(&mut line).await.ok()?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.trim().to_owned()),
            None => break,
        };
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    connection.read_exact(&mut body).await.ok()?;
    Some(Asked { path, headers, body: String::from_utf8(body).ok()? })
}

/// Python with the official libraries, about to run a file that is beside this one.
pub(crate) fn python(script: &str) -> Command {
    let python = std::env::var(PYTHON)
        .unwrap_or_else(|_| panic!("{PYTHON} is not set: run `cargo xtask test`, or `cargo xtask services`"));
    let script: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(script);
    let mut command = Command::new(python);
    // Neither a proxy nor anybody's key may reach these libraries.
    command.env_clear().arg("-I").arg("-B").arg(script).kill_on_drop(true);
    command
}

/// The reference provider, and its address.
pub(crate) async fn reference_server() -> (Child, String) {
    let mut command = python("reference_server.py");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let port = lines.next_line().await.unwrap().expect("the reference server did not start");
    (child, format!("http://127.0.0.1:{port}"))
}

/// A model at this address that is asked once.
pub(crate) fn model(provider: &str, base_url: &str) -> Arc<dyn ChatModel> {
    model_with(json!({ "provider": provider, "base_url": base_url, "model": "m", "retries": 0 }))
}

pub(crate) fn model_with(mut config: Value) -> Arc<dyn ChatModel> {
    // A provider at another address is sent a key only by name.
    config["key"] = "named".into();
    let keys = [("CARDWIRE_KEY_NAMED".to_owned(), KEY.to_owned())];
    let door = Door::new(Keyring::from_variables(keys).unwrap(), Allowed::default());
    build(&config, &door, Asker::Operator).unwrap()
}

pub(crate) fn request(body: &Value) -> ModelRequest {
    ModelRequest {
        body: body.to_string(),
        agent_id: "a".to_owned(),
        role: None,
        turn_id: "turn_1".to_owned(),
        call_id: "call_1".to_owned(),
        step: 1,
    }
}

/// Keeps what it hears.
#[derive(Default)]
pub(crate) struct Heard(Mutex<String>);

impl Heard {
    pub(crate) fn all(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

impl ChunkSink for Heard {
    fn text(&self, delta: &str) {
        self.0.lock().unwrap().push_str(delta);
    }
}
