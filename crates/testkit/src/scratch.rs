//! A database of one's own on the test server, gone with its value: a thousand tests must not need a thousand
//! databases' room at once.

use std::sync::atomic::{AtomicU32, Ordering};
use tokio_postgres::NoTls;

/// Where the test server is; `cargo xtask test` and `cargo xtask services` set it.
pub const POSTGRES: &str = "CARDWIRE_TEST_POSTGRES";

/// Another server, which tests may break.
pub const VICTIM: &str = "CARDWIRE_TEST_POSTGRES_VICTIM";

/// An empty database.
pub struct ScratchDatabase {
    url: String,
    name: String,
    server: String,
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
        execute(&server, &format!("CREATE DATABASE {name}")).await.unwrap();
        let (base, _) = server.rsplit_once('/').unwrap();
        Self { url: format!("{base}/{name}"), name, server }
    }

    /// How to connect to it.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for ScratchDatabase {
    fn drop(&mut self) {
        // A value may be dropped inside a runtime, which must not be blocked on another one.
        let drop = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let statement = format!("DROP DATABASE {} WITH (FORCE)", self.name);
            // A server that a test has broken takes its databases with it.
            let _ = runtime.block_on(execute(&self.server, &statement));
            std::io::Result::Ok(())
        };
        std::thread::scope(|scope| {
            let _ = scope.spawn(drop).join();
        });
    }
}

async fn execute(server: &str, statement: &str) -> Result<(), tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(server, NoTls).await?;
    tokio::select! {
        ended = connection => {
            ended?;
            panic!("the test server closed the connection")
        }
        done = client.batch_execute(statement) => done,
    }
}
