//! PostgreSQL: the store and the raw limit on the same server.
//!
//! The raw limit of writing is what `pgbench` does with one small insert per transaction, that of reading a prepared
//! select over tokio-postgres. The connection used here is a superuser's, so it sees all rows.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use async_trait::async_trait;
use cardwire_model::{BoxId, ProjectId};
use cardwire_store::Store;
use cardwire_store_postgres::{PostgresConfig, PostgresStore};
use tokio_postgres::config::Host;
use tokio_postgres::{Client, Config, NoTls, Statement};

use crate::database::{Database, Filled};
use crate::measure::{self, CpuTicks};
use crate::plain_card::{BOX_ROWS, PlainCard};

const ROWS: &str = include_str!("../sql/rows_postgres.sql");
const STORED_ROWS: &str = include_str!("../sql/stored_rows_postgres.sql");
const STATEMENTS: &str = include_str!("../sql/statements_postgres.sql");
const FILL: &str = include_str!("../sql/fill_postgres.sql");
const TURN_ROWS: &str = include_str!("../sql/turn_rows_postgres.sql");
const RAW_TABLE: &str =
    "CREATE TABLE raw_commits (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, note text NOT NULL)";
const RAW_INSERT: &str = "INSERT INTO raw_commits (note) VALUES ('one small row');\n";
const LOG_POSITION: &str = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint";
const SERVER_PROCESSES: &str = "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()";

/// How long a server may take to tell of rows that an idle connection has written.
const TOLD_AFTER: Duration = Duration::from_secs(11);

pub(crate) struct Postgres {
    store: Arc<PostgresStore>,
    url: String,
    pgbench: PathBuf,
    script: PathBuf,
    client: Client,
    box_rows: Statement,
    log_position: Statement,
    statements: Option<Statement>,
    config: Config,
}

impl Postgres {
    pub(crate) async fn open(url: &str, pgbench: &Path, dir: &Path) -> anyhow::Result<Self> {
        let store = PostgresStore::open(PostgresConfig::new(url.to_owned())).await?;
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.context("cannot connect")?;
        // It ends with the client; an error shows in whatever the client was asked.
        tokio::spawn(connection);
        client
            .batch_execute(RAW_TABLE)
            .await
            .context("cannot create the raw table; is the database a new one?")?;
        let statements = count_statements(&client).await;
        if statements.is_none() {
            eprintln!("bench: statements are not counted, because the server lacks pg_stat_statements");
        }
        let script = dir.join("insert.sql");
        std::fs::write(&script, RAW_INSERT)?;
        Ok(Self {
            store: Arc::new(store),
            url: url.to_owned(),
            pgbench: pgbench.to_owned(),
            script,
            box_rows: client.prepare(BOX_ROWS).await?,
            log_position: client.prepare(LOG_POSITION).await?,
            statements,
            config: url.parse()?,
            client,
        })
    }

    /// The URL of another database of this server, or of this one behind another address.
    fn url(&self, database: Option<&str>, address: Option<SocketAddr>) -> anyhow::Result<String> {
        let address = address.or_else(|| self.address()).context("the server has no address")?;
        let user = self.config.get_user().context("the URL names no user")?;
        let password = match self.config.get_password() {
            Some(password) => format!(":{}", std::str::from_utf8(password)?),
            None => String::new(),
        };
        let database = database.or_else(|| self.config.get_dbname()).unwrap_or("postgres");
        Ok(format!("postgres://{user}{password}@{address}/{database}"))
    }

    async fn open_url(&self, url: String) -> anyhow::Result<Arc<dyn Store>> {
        Ok(Arc::new(PostgresStore::open(PostgresConfig::new(url)).await?))
    }

    /// A superuser's connection to another database.
    async fn other(&self, name: &str) -> anyhow::Result<Client> {
        let (client, connection) = tokio_postgres::connect(&self.url(Some(name), None)?, NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    fn pgbench(&self, clients: usize, time: Duration) -> Command {
        let mut command = Command::new(&self.pgbench);
        command.args(["-n", "-M", "prepared", "-c"]).arg(clients.to_string());
        command.arg("-j").arg(clients.min(2).to_string());
        // Whole seconds only.
        command.arg("-T").arg(time.as_secs().max(1).to_string());
        command
    }
}

/// Transactions per second.
async fn run(mut pgbench: Command) -> anyhow::Result<f64> {
    let name = pgbench.get_program().to_owned();
    let output = tokio::task::spawn_blocking(move || pgbench.output()).await?;
    let output = output.with_context(|| format!("cannot run {}", name.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    match rate(&text) {
        Some(rate) if output.status.success() => Ok(rate),
        _ => {
            bail!("pgbench failed ({}):\n{text}{}", output.status, String::from_utf8_lossy(&output.stderr))
        }
    }
}

/// The extension must have been loaded when the server started.
async fn count_statements(client: &Client) -> Option<Statement> {
    client.batch_execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements").await.ok()?;
    let statement = client.prepare(STATEMENTS).await.ok()?;
    client.query_one(&statement, &[]).await.ok().map(|_| statement)
}

#[async_trait]
impl Database for Postgres {
    fn name(&self) -> &'static str {
        "postgres"
    }

    fn commit_target(&self) -> f64 {
        0.5
    }

    fn turn_target(&self) -> f64 {
        0.1
    }

    fn address(&self) -> Option<SocketAddr> {
        let (host, port) = (self.config.get_hosts().first()?, self.config.get_ports().first()?);
        let Host::Tcp(host) = host else { return None };
        (host.as_str(), *port).to_socket_addrs().ok()?.next()
    }

    fn unit_bytes(&self) -> f64 {
        0.0
    }

    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store) as Arc<dyn Store>
    }

    async fn raw_commits(&self, writers: usize, time: Duration) -> anyhow::Result<f64> {
        let mut pgbench = self.pgbench(writers, time);
        pgbench.arg("-f").arg(&self.script).arg(&self.url);
        run(pgbench).await
    }

    async fn plain_turns(&self, filled: &Filled<'_>, time: Duration) -> anyhow::Result<Option<f64>> {
        let script = self.script.with_file_name("turn_rows.sql");
        std::fs::write(&script, TURN_ROWS.replace("{agents}", &filled.agents.to_string()))?;
        let mut pgbench = self.pgbench(1, time);
        pgbench.arg("-D").arg(format!("turn={}", filled.turns));
        pgbench.arg("-f").arg(&script).arg(self.url(Some(filled.name), None)?);
        run(pgbench).await.map(Some)
    }

    async fn raw_read(&self, project: &ProjectId, box_id: BoxId) -> anyhow::Result<(Duration, usize)> {
        let begun = Instant::now();
        let rows = self.client.query(&self.box_rows, &[&project.as_str(), &box_id.uuid()]).await?;
        let cards: Vec<PlainCard> = rows.iter().map(PlainCard::from_postgres).collect::<Result<_, _>>()?;
        let taken = begun.elapsed();
        Ok((taken, std::hint::black_box(cards).len()))
    }

    async fn settle(&self) -> anyhow::Result<()> {
        // Whole pages go to the log when they are first touched after a checkpoint; let that be over early.
        self.client.batch_execute("VACUUM ANALYZE").await?;
        Ok(self.client.batch_execute("CHECKPOINT").await?)
    }

    async fn rows(&self) -> anyhow::Result<u64> {
        Ok(u64::try_from(self.client.query_one(ROWS, &[]).await?.try_get::<_, i64>(0)?)?)
    }

    async fn bytes(&self) -> anyhow::Result<u64> {
        Ok(u64::try_from(self.client.query_one(&self.log_position, &[]).await?.try_get::<_, i64>(0)?)?)
    }

    async fn statements(&self) -> anyhow::Result<Option<u64>> {
        let Some(statements) = &self.statements else { return Ok(None) };
        let row = self.client.query_one(statements, &[]).await?;
        Ok(Some(u64::try_from(row.try_get::<_, i64>(0)?)?))
    }

    async fn stored_rows(&self) -> anyhow::Result<Option<u64>> {
        tokio::time::sleep(TOLD_AFTER).await;
        let row = self.client.query_one(STORED_ROWS, &[]).await?;
        Ok(Some(u64::try_from(row.try_get::<_, i64>(0)?)?))
    }

    async fn open_behind(&self, address: SocketAddr) -> anyhow::Result<Arc<dyn Store>> {
        self.open_url(self.url(None, Some(address))?).await
    }

    async fn open(&self, name: &str) -> anyhow::Result<Arc<dyn Store>> {
        let there = self.client.query_opt("SELECT 1 FROM pg_database WHERE datname = $1", &[&name]).await?;
        if there.is_none() {
            self.client.batch_execute(&format!("CREATE DATABASE {name}")).await?;
        }
        self.open_url(self.url(Some(name), None)?).await
    }

    fn location(&self, name: &str) -> anyhow::Result<String> {
        self.url(Some(name), None)
    }

    async fn fill(&self, name: &str, agents: usize, turns: usize) -> anyhow::Result<()> {
        let fill = FILL.replace("{agents}", &agents.to_string()).replace("{turns}", &turns.to_string());
        self.other(name).await?.batch_execute(&fill).await?;
        self.settle_other(name).await
    }

    async fn settle_other(&self, name: &str) -> anyhow::Result<()> {
        let client = self.other(name).await?;
        // As its own housekeeping would have done long ago.
        client.batch_execute("VACUUM ANALYZE").await?;
        Ok(client.batch_execute("CHECKPOINT").await?)
    }

    async fn drop(&self, name: &str) -> anyhow::Result<()> {
        Ok(self.client.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await?)
    }

    async fn cpu(&self) -> anyhow::Result<CpuTicks> {
        let own = std::process::id();
        let mut ticks = CpuTicks::from([(own, measure::process_ticks(own)?)]);
        for row in self.client.query(SERVER_PROCESSES, &[]).await? {
            let pid = u32::try_from(row.try_get::<_, i32>(0)?)?;
            // It may have ended since, and a server on another machine has no processes here.
            if let Ok(used) = measure::process_ticks(pid) {
                ticks.insert(pid, used);
            }
        }
        Ok(ticks)
    }
}

/// Transactions per second as pgbench says it, without the time it took to connect.
fn rate(output: &str) -> Option<f64> {
    let line = output.lines().find_map(|line| line.strip_prefix("tps = "))?;
    let (number, _) = line.split_once(' ')?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_read_from_what_pgbench_says() {
        let output = "latency average = 2.1 ms\ninitial connection time = 5.1 ms\n\
                      tps = 14951.260551 (without initial connection time)\n";
        assert_eq!(rate(output), Some(14951.260551));
        assert_eq!(rate("pgbench: error: no"), None);
    }
}
