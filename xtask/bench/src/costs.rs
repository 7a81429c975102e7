//! What the rounds of a case cost, summed up.

use crate::counting::{Applied, CountingStore};
use crate::database::Database;
use crate::measure::Spending;

/// What was counted when a round began.
pub(crate) struct Before {
    spending: Spending,
    applied: Applied,
}

impl Before {
    pub(crate) async fn now(database: &dyn Database, counting: &CountingStore) -> anyhow::Result<Self> {
        Ok(Self { spending: Spending::now(database).await?, applied: counting.intercept().applied() })
    }
}

/// What all rounds cost.
#[derive(Default)]
pub(crate) struct Total {
    pub(crate) bytes: u64,
    pub(crate) cpu_us: f64,
    pub(crate) statements: Option<u64>,
    pub(crate) applied: Applied,
}

impl Total {
    pub(crate) async fn add(
        &mut self,
        before: &Before,
        database: &dyn Database,
        counting: &CountingStore,
    ) -> anyhow::Result<()> {
        // Positions are part of the work, though given a moment later.
        database.store().number_events().await?;
        let spent = before.spending.until_now(database).await?;
        self.bytes += spent.bytes;
        self.cpu_us += spent.cpu_us;
        self.statements = spent.statements.map(|more| self.statements.unwrap_or(0) + more);
        let applied = counting.intercept().applied();
        self.applied.commits += applied.commits - before.applied.commits;
        self.applied.rows += applied.rows - before.applied.rows;
        Ok(())
    }
}
