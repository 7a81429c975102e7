//! A database of one's own on the test server. The server is private to a test run and thrown away with it, so
//! databases are not dropped.

use std::sync::atomic::{AtomicU32, Ordering};
use tokio_postgres::NoTls;

/// Where the test server is; `cargo xtask test` and `cargo xtask services` set it.
pub const POSTGRES: &str = "CARDWIRE_TEST_POSTGRES";

/// Another server, which tests may break.
pub const VICTIM: &str = "CARDWIRE_TEST_POSTGRES_VICTIM";

/// An empty database.
pub struct ScratchDatabase {
    url: String,
}

impl ScratchDatabase {
    /// Makes a database; fails loudly when there is no server.
    pub async fn create() -> Self {
        Self::create_on(POSTGRES).await
    }

    /// The same on the server that another variable names.
    pub async fn create_on(variable: &str) -> Self {
        let server = std::env::var(variable).unwrap_or_else(|_| {
            panic!("{variable} is not set: run `cargo xtask test`, or `cargo xtask services`")
        });
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        // Process ids come round again on a server that stays up for long.
        let name = format!("cw_{}_{count}_{:x}", std::process::id(), crate::rng::fresh_seed());
        let (client, connection) = tokio_postgres::connect(&server, NoTls).await.unwrap();
        let create = format!("CREATE DATABASE {name}");
        tokio::select! {
            ended = connection => panic!("the test server closed the connection: {ended:?}"),
            done = client.batch_execute(&create) => done.unwrap(),
        }
        let (base, _) = server.rsplit_once('/').unwrap();
        Self { url: format!("{base}/{name}") }
    }

    /// How to connect to it.
    pub fn url(&self) -> &str {
        &self.url
    }
}
