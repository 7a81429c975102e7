//! The sequencer: gives committed events their places in the log (NF-08).
//!
//! Writers draw `seq` from a sequence and never wait for each other; the order of `seq` is not the order of commits.
//! The sequencer gives `last_position` afterwards, and only positions are ever shown. The events of a transaction are
//! a group or a few, with one `seq` and one `last_position` each; within a group they are in their order.
//!
//! **Why a reader never misses an event.** A run takes the lock first and looks for events in a *later* statement,
//! whose snapshot (READ COMMITTED) holds everything committed before, the work of earlier runs included: a
//! transaction's changes are visible before its lock is free. Runs follow each other, so places are given 1, 2, 3, …
//! without gaps, each batch behind the last, and a batch appears as a whole. An event that commits later, whatever
//! its `seq`, finds all given places taken and gets a later one. Once a reader saw place p, every place up to p is
//! taken and committed, and none of them changes: a row that has a place is not selected again, and only the
//! sequencer's role may write the column.
//!
//! **Why an event implies durable state.** Only committed rows are visible to the run, and the event was written by
//! the commit it tells of.
//!
//! **Why the order of one box (or agent) is commit order.** A commit draws its `seq` last, holding the lock on the
//! box's row. The next commit on that box gets the lock after the first has committed, hence draws a higher `seq`
//! (the sequence caches nothing), and no snapshot shows it without the first. Within a run places follow `seq`;
//! between runs, the one seen first was committed first.

use crate::{
    error::{pool_error, store_error},
    rows::number,
    sql,
};
use cardwire_store::StoreError;
use deadpool_postgres::Pool;
use futures_util::future::join4;
use tokio_postgres::types::ToSql;

/// Groups of events numbered in one transaction: long enough to be cheap, short enough to be seen soon.
const BATCH: u64 = 1_000;

/// Any number will do as long as every sequencer of a database takes the same one.
const LOCK: &str = "SELECT pg_advisory_xact_lock(4846791580151137091)";

struct Numbered {
    groups: u64,
    events: u64,
}

/// Numbers what is committed now, and answers how many events that were.
pub(crate) async fn number_events(pool: &Pool) -> Result<u64, StoreError> {
    let mut total = 0;
    loop {
        let Numbered { groups, events } = number_batch(pool).await?;
        total += events;
        if groups < BATCH {
            return Ok(total);
        }
    }
}

/// One transaction in one round trip. The statements are sent together but run one after the other, each with a
/// snapshot of its own.
async fn number_batch(pool: &Pool) -> Result<Numbered, StoreError> {
    let client = pool.get().await.map_err(pool_error)?;
    let [begin, lock, give, commit] = {
        let prepare = |sql| client.prepare_cached(sql);
        [
            prepare(sql::BEGIN).await,
            prepare(LOCK).await,
            prepare(sql::NUMBER_EVENTS).await,
            prepare(sql::END).await,
        ]
    };
    let (begin, lock) = (begin.map_err(store_error)?, lock.map_err(store_error)?);
    let (give, commit) = (give.map_err(store_error)?, commit.map_err(store_error)?);
    let limit = crate::number::to_bigint(BATCH);
    let params: [&(dyn ToSql + Sync); 1] = [&limit];
    let (begun, locked, numbered, committed) = join4(
        client.execute(&begin, &[]),
        client.execute(&lock, &[]),
        client.query_one(&give, &params),
        client.execute(&commit, &[]),
    )
    .await;
    begun.map_err(store_error)?;
    locked.map_err(store_error)?;
    // A COMMIT after a failed statement says Ok and rolls back, so this is looked at first.
    let numbered = numbered.map_err(store_error)?;
    committed.map_err(store_error)?;
    Ok(Numbered { groups: number(&numbered, 0, "groups")?, events: number(&numbered, 1, "events")? })
}
