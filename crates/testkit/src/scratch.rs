//! [`ScratchDatabase`]: a database on the test server for one test. Dropping the value drops the database, so that the disk
//! holds only the databases of running tests.
//!
//! Migrating an empty database takes longer than most tests. The first test that needs the schema creates a template
//! database; every later test, also in another process, copies the template.

use std::sync::atomic::{AtomicU32, Ordering};
use tokio_postgres::{Client, Error, NoTls};

/// Where the test server is; `cargo xtask test` and `cargo xtask services` set it.
pub const POSTGRES: &str = "CARDWIRE_TEST_POSTGRES";

/// Another server, which tests may break.
pub const VICTIM: &str = "CARDWIRE_TEST_POSTGRES_VICTIM";

/// Held while a template is made. Any number will do as long as every test takes the same one.
const TEMPLATE_LOCK: i64 = 5_180_266_314_011_702_957;

/// A database for one test.
pub struct ScratchDatabase {
    url: String,
    name: String,
    server: String,
}

impl ScratchDatabase {
    /// Makes an empty database on the server that a variable names; fails loudly when there is no server.
    pub async fn empty(variable: &str) -> Self {
        Self::copy_of(server(variable), "template1").await
    }

    /// Makes a database with a schema: a copy of the template with that checksum, which `migrate` makes of an empty
    /// database, given its address, if the server has none yet.
    pub async fn migrated(variable: &str, checksum: &str, migrate: impl AsyncFnOnce(String)) -> Self {
        let server = server(variable);
        let template = format!("cw_template_{}", &checksum[..16]);
        let made = connected(&server, async |client| {
            if has_database(client, &template).await? {
                return Ok(());
            }
            // The lock is given back with the connection.
            client.execute("SELECT pg_advisory_lock($1)", &[&TEMPLATE_LOCK]).await?;
            if has_database(client, &template).await? {
                return Ok(());
            }
            let unfinished = format!("{template}_unfinished");
            client.batch_execute(&format!("DROP DATABASE IF EXISTS {unfinished}")).await?;
            client.batch_execute(&format!("CREATE DATABASE {unfinished}")).await?;
            migrate(url_of(&server, &unfinished)).await;
            client.batch_execute(&format!("ALTER DATABASE {unfinished} RENAME TO {template}")).await
        });
        made.await.unwrap();
        Self::copy_of(server, &template).await
    }

    async fn copy_of(server: String, template: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        // Process ids come round again on a server that stays up for long.
        let name = format!("cw_{}_{count}_{:x}", std::process::id(), crate::rng::fresh_seed());
        run(&server, &format!("CREATE DATABASE {name} TEMPLATE {template}")).await.unwrap();
        Self { url: url_of(&server, &name), name, server }
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
            let _ = runtime.block_on(run(&self.server, &statement));
            std::io::Result::Ok(())
        };
        std::thread::scope(|scope| {
            let _ = scope.spawn(drop).join();
        });
    }
}

fn server(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} is not set: run `cargo xtask test`, or `cargo xtask services`")
    })
}

fn url_of(server: &str, database: &str) -> String {
    let (base, _) = server.rsplit_once('/').unwrap();
    format!("{base}/{database}")
}

async fn run(server: &str, statement: &str) -> Result<(), Error> {
    connected(server, async |client| client.batch_execute(statement).await).await
}

/// Does some work on a connection of its own.
async fn connected<T>(server: &str, work: impl AsyncFnOnce(&Client) -> Result<T, Error>) -> Result<T, Error> {
    let (client, connection) = tokio_postgres::connect(server, NoTls).await?;
    tokio::select! {
        ended = connection => {
            ended?;
            panic!("the test server closed the connection")
        }
        done = work(&client) => done,
    }
}

async fn has_database(client: &Client, name: &str) -> Result<bool, Error> {
    Ok(client.query_opt("SELECT FROM pg_database WHERE datname = $1", &[&name]).await?.is_some())
}
