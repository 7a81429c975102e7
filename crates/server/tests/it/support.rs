//! A server without a socket: the real router over a real store, called in process.

mod context;
mod document;
pub(crate) mod inspect;
mod turns;

pub(crate) use context::{BrokenEmbedder, Meanings, Scribe, names, texts};
pub(crate) use turns::{Leased, report_body};

use async_trait::async_trait;
use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Method, Request, StatusCode},
};
use cardwire_handoff::LocalFiles;
use cardwire_kernel::{
    ContextConfig, Kernel, KernelConfig,
    clock::{Clock, SystemClock},
    protocol::watchdog::Policy,
};
use cardwire_model::Timestamp;
use cardwire_server::{ServerConfig, router};
use cardwire_store::{Asking, Intercept, Intercepted, Store, StoreError};
use cardwire_store_postgres::{PostgresConfig, PostgresStore, schema_checksum};
use cardwire_store_sqlite::SqliteStore;
use cardwire_testkit::scratch::{POSTGRES, ScratchDatabase};
use serde_json::{Value, json};
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
};
use tower::ServiceExt;

/// Which store is below.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Backend {
    Sqlite,
    Postgres,
}

/// Runs a test on both backends: it is about what they could do differently (walls, races, claims, search, time, sizes).
macro_rules! on_both {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $($(#[$doc])*
        mod $name {
            use crate::support::{Api, Backend};

            crate::support::on_backend!(sqlite, Sqlite, $name);
            crate::support::on_backend!(postgres, Postgres, $name);
        })*
    };
}
pub(crate) use on_both;

/// Runs a test on SQLite alone: it is about what stands above the stores, which conformance proves equal.
macro_rules! on_sqlite {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $($(#[$doc])*
        mod $name {
            use crate::support::{Api, Backend};

            crate::support::on_backend!(sqlite, Sqlite, $name);
        })*
    };
}
pub(crate) use on_sqlite;

/// One test on one backend.
macro_rules! on_backend {
    ($test:ident, $backend:ident, $name:ident) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $test() {
            super::$name(Api::start(Backend::$backend).await).await;
        }
    };
}
pub(crate) use on_backend;

/// The machine's clock, which a test can move on.
#[derive(Default)]
pub(crate) struct TestClock(AtomicI64);

impl TestClock {
    pub(crate) fn advance(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        SystemClock.now().plus_seconds(self.0.load(Ordering::SeqCst))
    }
}

/// Counts what is read.
#[derive(Default)]
struct Reads(Arc<AtomicU64>);

#[async_trait]
impl Intercept for Reads {
    fn read<T: Send>(&self, read: Asking<'_, T>) -> impl Future<Output = Result<T, StoreError>> + Send {
        self.0.fetch_add(1, Ordering::SeqCst);
        read
    }
}

/// A running kernel behind its router.
pub(crate) struct Api {
    pub(crate) router: Router,
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) admin: String,
    pub(crate) clock: Arc<TestClock>,
    _files: Arc<tempfile::TempDir>,
    database: Option<Arc<ScratchDatabase>>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Vec<u8>,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes)
            .unwrap_or_else(|_| panic!("not JSON: {}", String::from_utf8_lossy(&self.bytes)))
    }

    /// The error code, after checking the shape of the body.
    pub(crate) fn code(&self) -> String {
        let body = self.json();
        assert!(body["error"]["message"].is_string(), "{body}");
        body["error"]["code"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", String::from_utf8_lossy(&self.bytes));
        if self.bytes.is_empty() { Value::Null } else { self.json() }
    }

    #[track_caller]
    pub(crate) fn expect_error(&self, status: u16, code: &str) {
        self.expect(status);
        assert_eq!(self.code(), code);
    }
}

impl Api {
    pub(crate) async fn start(backend: Backend) -> Self {
        Self::start_with(backend, |config| config).await
    }

    pub(crate) async fn start_with(
        backend: Backend,
        change: impl FnOnce(ServerConfig) -> ServerConfig,
    ) -> Self {
        Self::start_on(backend, |store| store, change, Policy::default()).await
    }

    /// A server whose watchdog has times of its own.
    pub(crate) async fn start_timed(backend: Backend, watchdog: Policy) -> Self {
        Self::start_on(backend, |store| store, |config| config, watchdog).await
    }

    /// A server, and how many reads its store has answered.
    pub(crate) async fn counted() -> (Self, impl Fn() -> u64) {
        let reads = Reads::default();
        let count = Arc::clone(&reads.0);
        let wrap = |store: Arc<dyn Store>| Arc::new(Intercepted::new(store, reads)) as Arc<dyn Store>;
        let api = Self::start_on(Backend::Sqlite, wrap, |config| config, Policy::default()).await;
        (api, move || count.load(Ordering::SeqCst))
    }

    /// The same with something in front of the store.
    async fn start_on(
        backend: Backend,
        wrap: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>,
        change: impl FnOnce(ServerConfig) -> ServerConfig,
        watchdog: Policy,
    ) -> Self {
        let files = tempfile::tempdir().unwrap();
        let (store, database): (Arc<dyn Store>, _) = match backend {
            Backend::Sqlite => {
                (Arc::new(SqliteStore::open(&files.path().join("cardwire.db")).unwrap()), None)
            }
            Backend::Postgres => {
                let checksum = schema_checksum(&PostgresConfig::new("")).unwrap();
                let migrate = async |url: String| {
                    PostgresStore::open(PostgresConfig::new(url)).await.unwrap().close().await;
                };
                let database = ScratchDatabase::migrated(POSTGRES, &checksum, migrate).await;
                let store = PostgresStore::open(PostgresConfig::new(database.url())).await.unwrap();
                (Arc::new(store), Some(Arc::new(database)))
            }
        };
        let store = wrap(store);
        let clock = Arc::new(TestClock::default());
        let config = KernelConfig {
            clock: Arc::clone(&clock) as Arc<dyn Clock>,
            // Tests say when the watchdog looks.
            watchdog: Policy { tick: 0, ..watchdog },
            ..KernelConfig::new(Arc::clone(&store))
        };
        let kernel = Kernel::start(config);
        let admin = kernel.ensure_admin(None).await.unwrap().expose().to_owned();
        let root = files.path().join("workspace");
        std::fs::create_dir(&root).unwrap();
        let workspace = Some(Arc::new(LocalFiles::open(&root).unwrap()) as _);
        let config = ServerConfig { workspace, ..ServerConfig::new("test") };
        let router = router(Arc::clone(&kernel), change(config));
        let api = Self { router, kernel, store, admin, clock, _files: Arc::new(files), database };
        api.post("/projects", json!({ "project_id": "p1" })).await.expect(201);
        api.post("/projects", json!({ "project_id": "p2" })).await.expect(201);
        api
    }

    /// Another server on the same store, which remembers nothing: what a restart leaves. It has what `context` adds.
    pub(crate) fn again(&self, context: ContextConfig) -> Self {
        let config = KernelConfig {
            clock: Arc::clone(&self.clock) as Arc<dyn Clock>,
            watchdog: Policy { tick: 0, ..Policy::default() },
            context,
            ..KernelConfig::new(Arc::clone(&self.store))
        };
        let kernel = Kernel::idle(config);
        Self {
            router: router(Arc::clone(&kernel), ServerConfig::new("test")),
            kernel,
            store: Arc::clone(&self.store),
            admin: self.admin.clone(),
            clock: Arc::clone(&self.clock),
            _files: Arc::clone(&self._files),
            database: self.database.clone(),
        }
    }

    /// Where projects have their files.
    pub(crate) fn workspace(&self) -> PathBuf {
        self._files.path().join("workspace")
    }

    /// Where the Postgres below is.
    pub(crate) fn database_url(&self) -> &str {
        self.database.as_ref().unwrap().url()
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Reply {
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap().to_vec();
        assert!(parts.headers.contains_key("traceparent"), "API-06: every response carries traceparent");
        let content_type = parts.headers.get("content-type").and_then(|value| value.to_str().ok());
        let status = parts.status.as_u16();
        let fault = document::fault(method.as_str(), uri.path(), status, content_type, &bytes);
        assert_eq!(fault, None, "F-14: every answer is as the document says");
        Reply { status: parts.status, headers: parts.headers, bytes }
    }

    /// A request of a browser, for a page.
    pub(crate) async fn page(&self, request: Request<Body>) -> Reply {
        let (parts, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
        let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap().to_vec();
        Reply { status: parts.status, headers: parts.headers, bytes }
    }

    /// A request with chosen headers.
    pub(crate) async fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Reply {
        let mut request = Request::builder().method(Method::try_from(method).unwrap()).uri(path);
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            request = request.header("host", "127.0.0.1");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(body.into()).unwrap()).await
    }

    /// A request with a token.
    pub(crate) async fn with(&self, token: &str, method: &str, path: &str, body: &str) -> Reply {
        self.request(method, path, &[("authorization", &format!("Bearer {token}"))], body.to_owned()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.with(&self.admin, "GET", path, "").await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Reply {
        self.with(&self.admin, "POST", path, &body.to_string()).await
    }

    pub(crate) async fn post_raw(&self, path: &str, body: &str) -> Reply {
        self.with(&self.admin, "POST", path, body).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Reply {
        self.with(&self.admin, "DELETE", path, "").await
    }

    /// Writes a text card and gives its id.
    pub(crate) async fn card(&self, project: &str, text: &str) -> String {
        let body = json!({ "content": text, "metadata": { "type": "task.instruction" } });
        let card = self.post(&format!("/projects/{project}/l0/cards"), body).await.expect(201);
        card["card_id"].as_str().unwrap().to_owned()
    }

    /// Asks as an administrator, always with the same `Idempotency-Key`.
    pub(crate) async fn keyed(&self, path: &str, body: &Value) -> Reply {
        let bearer = format!("Bearer {}", self.admin);
        let headers = [("authorization", bearer.as_str()), ("idempotency-key", "k")];
        self.request("POST", path, &headers, body.to_string()).await
    }

    /// Writes so many text cards and gives their ids.
    pub(crate) async fn cards(&self, project: &str, count: usize) -> Vec<String> {
        let mut ids = vec![];
        for n in 0..count {
            ids.push(self.card(project, &format!("card {n}")).await);
        }
        ids
    }

    /// Makes a box of cards and gives its id.
    pub(crate) async fn make_box(&self, project: &str, ids: &[String]) -> String {
        let made =
            self.post(&format!("/projects/{project}/l0/boxes"), json!({ "card_ids": ids })).await.expect(201);
        made["box_id"].as_str().unwrap().to_owned()
    }

    /// The ids a box shows.
    pub(crate) async fn shown(&self, project: &str, box_id: &str) -> Vec<String> {
        let read = self.get(&format!("/projects/{project}/boxes/{box_id}")).await.expect(200);
        let ids: Vec<String> = serde_json::from_value(read["card_ids"].clone()).unwrap();
        assert_eq!(read["len"], ids.len());
        ids
    }

    /// Makes a token.
    pub(crate) async fn token(&self, body: Value) -> String {
        self.post("/tokens", body).await.expect(201)["token"].as_str().unwrap().to_owned()
    }
}

/// A well-formed id that nothing has.
pub(crate) const NOBODY: &str = "0192f0c123457abc8def0123456789ab";
