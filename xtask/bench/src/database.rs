//! What the benchmarks need of a database: a store on it, its raw limit, and what it counts.
//!
//! Must not know what is measured. The two sides of a comparison always use the same database and file system.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use async_trait::async_trait;
use cardwire_model::{BoxId, ProjectId};
use cardwire_store::Store;

use crate::measure::CpuTicks;

/// A database that was filled.
pub(crate) struct Filled<'a> {
    pub(crate) name: &'a str,
    pub(crate) agents: usize,
    /// At least as many as have been written.
    pub(crate) turns: usize,
}

/// One database under test.
#[async_trait]
pub(crate) trait Database: Send + Sync {
    /// The backend's name.
    fn name(&self) -> &'static str;

    /// The least share of the raw commit rate that 32 writers must reach.
    fn commit_target(&self) -> f64;

    /// The least share of the raw commit rate that turns per second must reach with 64 at once.
    fn turn_target(&self) -> f64;

    /// Whether commits travel to another process.
    fn is_a_server(&self) -> bool {
        self.address().is_some()
    }

    /// Where the server is, if there is one.
    fn address(&self) -> Option<SocketAddr>;

    /// Bytes by which equal work may differ, because the database writes in units of so many.
    fn unit_bytes(&self) -> f64;

    /// The store under test.
    fn store(&self) -> Arc<dyn Store>;

    /// The raw limit of writing: commits of one small row each, per second.
    async fn raw_commits(&self, writers: usize, time: Duration) -> anyhow::Result<f64>;

    /// Turns per second of one client that writes their rows by plain statements, where there are such statements.
    /// Nothing is read or decided, so it is what the rows alone take.
    async fn plain_turns(&self, _: &Filled<'_>, _: Duration) -> anyhow::Result<Option<f64>> {
        Ok(None)
    }

    /// The raw limit of reading: a plain select of a box's cards into owned values. Answers how long it took and
    /// how many cards it read.
    async fn raw_read(&self, project: &ProjectId, box_id: BoxId) -> anyhow::Result<(Duration, usize)>;

    /// Brings the database to rest, with fresh statistics, before something exact is measured.
    async fn settle(&self) -> anyhow::Result<()>;

    /// Rows inserted and updated so far.
    async fn rows(&self) -> anyhow::Result<u64>;

    /// Bytes written so far: of the log, or of all files where the log cannot be told apart.
    async fn bytes(&self) -> anyhow::Result<u64>;

    /// Statements sent by stores so far, where the database counts them.
    async fn statements(&self) -> anyhow::Result<Option<u64>> {
        Ok(None)
    }

    /// Rows inserted and updated so far in the database under test, where it counts them by itself. Takes a while.
    async fn stored_rows(&self) -> anyhow::Result<Option<u64>> {
        Ok(None)
    }

    /// The database under test, once more, reached through another address.
    async fn open_behind(&self, _: SocketAddr) -> anyhow::Result<Arc<dyn Store>> {
        bail!("{} has no address", self.name())
    }

    /// A store on another database of this name, which is made if need be.
    async fn open(&self, name: &str) -> anyhow::Result<Arc<dyn Store>>;

    /// The same of that other database, once its rows are written.
    async fn settle_other(&self, _: &str) -> anyhow::Result<()> {
        Ok(())
    }

    /// Where that database is, for another process that opens it: a path or a URL.
    fn location(&self, name: &str) -> anyhow::Result<String>;

    /// Fills that database, which nobody has open, with idle agents and turns that have ended.
    async fn fill(&self, name: &str, agents: usize, turns: usize) -> anyhow::Result<()>;

    /// Removes that database.
    async fn drop(&self, name: &str) -> anyhow::Result<()>;

    /// Processor time used so far by everybody who takes part.
    async fn cpu(&self) -> anyhow::Result<CpuTicks>;
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use cardwire_model::{Commit, Status, Write};
    use cardwire_store::{EventFilter, RosterFilter, RowFilter};
    use cardwire_testkit::{
        fixtures::ProjectBuilder,
        scratch::{self, ScratchDatabase},
    };

    use super::*;
    use crate::postgres::Postgres;
    use crate::sqlite::Sqlite;

    /// What a fill says is there is what the store reads: it is written past the store, so that a change of tables would
    /// be seen here first.
    async fn assert_filled(database: &dyn Database, name: &str, agents: usize, turns: usize) {
        database.open(name).await.unwrap().close().await;
        database.fill(name, agents, turns).await.unwrap();
        let store = database.open(name).await.unwrap();
        let (project, all, limit) = ("filled".parse().unwrap(), RowFilter::default(), 100);
        let idle = RosterFilter { status: Some(Status::Idle), ..RosterFilter::default() };
        let roster = store.roster(&project, &idle, None, limit).await.unwrap();
        assert_eq!(roster.iter().filter(|one| one.head.is_some()).count(), agents);
        let rows = store.inbox(&project, &all, None, limit).await.unwrap();
        assert!(rows.iter().all(|row| !row.status.is_open() && row.ended.is_some()));
        let steps = store.steps(&project, &all, None, limit).await.unwrap();
        let edges = store.edges(&project, &all, None, limit).await.unwrap();
        assert_eq!((rows.len(), steps.len(), edges.len()), (turns, turns, turns));
        let events = store.events(&project, 0, &EventFilter::default(), limit).await.unwrap();
        let positions: Vec<u64> = events.iter().map(|event| event.position).collect();
        assert_eq!(positions, (1..=3 * turns as u64).collect::<Vec<_>>());
        assert_eq!(store.last_position(&project).await.unwrap(), 3 * turns as u64);
        store.close().await;
        database.drop(name).await.unwrap();
    }

    /// Rows are counted past the store as well.
    async fn assert_counted(database: &dyn Database) {
        let none = database.rows().await.unwrap();
        let project = ProjectBuilder::new("p1".parse().unwrap()).build();
        let mut commit = Commit::new(project.id.clone());
        commit.writes.push(Write::CreateProject(project));
        database.store().commit(commit).await.unwrap();
        assert_eq!((none, database.rows().await.unwrap()), (0, 1));
        assert!(database.bytes().await.unwrap() > 0);
        database.cpu().await.unwrap();
        database.settle().await.unwrap();
    }

    #[tokio::test]
    async fn what_the_benchmarks_write_and_count_past_the_store_is_what_it_keeps() {
        let dir = tempfile::tempdir().unwrap();
        let server = ScratchDatabase::empty(scratch::POSTGRES).await;
        let postgres = Postgres::open(server.url(), Path::new("pgbench"), dir.path()).await.unwrap();
        let sqlite = Sqlite::open(dir.path()).unwrap();
        let own = server.url().rsplit('/').next().unwrap();
        for database in [&postgres as &dyn Database, &sqlite] {
            assert_counted(database).await;
            assert_filled(database, &format!("{own}_idle"), 3, 0).await;
            assert_filled(database, &format!("{own}_busy"), 3, 7).await;
        }
    }
}
