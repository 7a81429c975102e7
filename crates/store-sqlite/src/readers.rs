//! A fixed pool of read-only connections. Reads run on the blocking threads of the runtime, so that a slow one
//! holds up neither the writer nor the event loop. Those that find a few rows by their keys run where they are asked for:
//! handing such a read to another thread and back would cost more than the read.

use crate::error::read_error;
use cardwire_store::StoreError;
use rusqlite::Connection;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

/// Opens a connection for reading.
type Open = Box<dyn Fn() -> rusqlite::Result<Connection> + Send + Sync>;

pub(crate) struct Readers {
    idle: Arc<Idle>,
    free: Arc<Semaphore>,
}

/// Connections that nobody reads on.
struct Idle {
    /// None are kept after the end.
    connections: Mutex<Option<Vec<Connection>>>,
    open: Open,
}

impl Readers {
    /// A pool of so many connections.
    pub(crate) fn open(count: usize, open: Open) -> rusqlite::Result<Self> {
        let connections = (0..count).map(|_| open()).collect::<Result<_, _>>()?;
        let idle = Arc::new(Idle { connections: Mutex::new(Some(connections)), open });
        Ok(Self { idle, free: Arc::new(Semaphore::new(count)) })
    }

    /// Runs a read on a connection of the pool, in one consistent view of the database.
    pub(crate) async fn read<T, F>(&self, read: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let permit = Arc::clone(&self.free).acquire_owned().await.map_err(|_| closed())?;
        let idle = Arc::clone(&self.idle);
        let work = tokio::task::spawn_blocking(move || {
            let outcome = idle.with_one(|conn| consistently(conn, read));
            drop(permit);
            outcome
        });
        work.await.map_err(|error| StoreError::Internal(error.to_string()))?
    }

    /// Reads a few rows by their keys, in one consistent view.
    pub(crate) async fn rows<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send,
    ) -> Result<T, StoreError> {
        self.row(|conn| consistently(conn, read)).await
    }

    /// Reads with one statement, which is a consistent view by itself, a row by its key.
    pub(crate) async fn row<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send,
    ) -> Result<T, StoreError> {
        let _permit = self.free.acquire().await.map_err(|_| closed())?;
        self.idle.with_one(read)
    }

    /// Refuses further reads and closes the idle connections.
    pub(crate) fn close(&self) {
        self.free.close();
        self.idle.connections().take();
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".to_owned())
}

impl Idle {
    fn connections(&self) -> MutexGuard<'_, Option<Vec<Connection>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The caller holds a permit, so a connection that is not idle was lost: by a panic, or because its transaction could
    /// not be ended. Another one takes its place, or four such accidents would end all reading (F-23).
    fn with_one<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let idle = self.connections().as_mut().ok_or_else(closed)?.pop();
        let conn = idle.map_or_else(|| (self.open)(), Ok).map_err(read_error)?;
        let outcome = read(&conn);
        if !conn.is_autocommit()
            && let Err(error) = conn.execute_batch("ROLLBACK")
        {
            // A reader left within a transaction would show an old state for ever.
            tracing::warn!(%error, "a connection for reading is replaced: its transaction could not be ended");
        } else if let Some(connections) = &mut *self.connections() {
            connections.push(conn);
        }
        outcome.map_err(read_error)
    }
}

fn consistently<T>(
    conn: &Connection,
    read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    conn.prepare_cached("BEGIN")?.execute([])?;
    let outcome = read(conn);
    conn.prepare_cached("COMMIT")?.execute([])?;
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::hooks::{AuthAction, AuthContext, Authorization, TransactionOperation};
    use std::{
        panic::{AssertUnwindSafe, catch_unwind},
        sync::atomic::{AtomicUsize, Ordering},
    };

    /// Two connections, and how many were opened so far.
    fn readers() -> (Readers, Arc<AtomicUsize>) {
        let opened = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&opened);
        let open = move || {
            count.fetch_add(1, Ordering::Relaxed);
            Connection::open_in_memory()
        };
        (Readers::open(2, Box::new(open)).unwrap(), opened)
    }

    fn one(conn: &Connection) -> rusqlite::Result<i64> {
        conn.query_row("SELECT 1", [], |row| row.get(0))
    }

    /// F-23
    #[tokio::test]
    async fn reads_that_panic_cost_no_connection() {
        let (readers, opened) = readers();
        for _ in 0..5 {
            let lost = readers.read(|_| -> rusqlite::Result<()> { panic!("on purpose") }).await;
            assert!(matches!(lost, Err(StoreError::Internal(_))), "{lost:?}");
            let here = catch_unwind(AssertUnwindSafe(|| {
                readers.idle.with_one(|_| -> rusqlite::Result<()> { panic!("on purpose") })
            }));
            assert!(here.is_err());
        }
        assert_eq!(readers.read(one).await.unwrap(), 1);
        assert_eq!(readers.row(one).await.unwrap(), 1);
        assert!(opened.load(Ordering::Relaxed) <= 12);
    }

    /// F-23
    #[tokio::test]
    async fn a_transaction_that_cannot_be_ended_costs_no_connection() {
        let (readers, opened) = readers();
        for conn in readers.idle.connections().as_mut().unwrap() {
            conn.authorizer(Some(|context: AuthContext<'_>| {
                let rollback = AuthAction::Transaction { operation: TransactionOperation::Rollback };
                if context.action == rollback { Authorization::Deny } else { Authorization::Allow }
            }))
            .unwrap();
        }
        for _ in 0..3 {
            let read = |conn: &Connection| conn.execute_batch("BEGIN").and_then(|()| one(conn));
            assert_eq!(readers.row(read).await.unwrap(), 1, "what was read counts");
        }
        assert_eq!(opened.load(Ordering::Relaxed), 3, "one took its place, and is kept");
        readers.close();
        let closed = readers.row(one).await;
        assert!(matches!(closed, Err(StoreError::Unavailable(_))), "{closed:?}");
    }
}
