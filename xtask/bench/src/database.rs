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

    /// Fills that database, which nobody has open, with idle agents and turns that have ended.
    async fn fill(&self, name: &str, agents: usize, turns: usize) -> anyhow::Result<()>;

    /// Removes that database.
    async fn drop(&self, name: &str) -> anyhow::Result<()>;

    /// Processor time used so far by everybody who takes part.
    async fn cpu(&self) -> anyhow::Result<CpuTicks>;
}
