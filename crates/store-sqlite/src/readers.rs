//! A fixed pool of read-only connections. Reads run on the blocking threads of the runtime, so that a slow one
//! holds up neither the writer nor the event loop. Those that find a few rows by their keys run where they are asked for:
//! handing such a read to another thread and back would cost more than the read.

use crate::error::store_error;
use cardwire_store::StoreError;
use rusqlite::Connection;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;

pub(crate) struct Readers {
    idle: Arc<Mutex<Vec<Connection>>>,
    free: Arc<Semaphore>,
}

impl Readers {
    pub(crate) fn new(connections: Vec<Connection>) -> Self {
        let free = Arc::new(Semaphore::new(connections.len()));
        Self { idle: Arc::new(Mutex::new(connections)), free }
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
            let outcome = with_one_of(&idle, |conn| consistently(conn, read));
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
        with_one_of(&self.idle, read)
    }

    /// Refuses further reads and closes the idle connections.
    pub(crate) fn close(&self) {
        self.free.close();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".to_owned())
}

/// Whoever asks holds a permit, so that one is there unless the store was closed.
fn with_one_of<T>(
    idle: &Mutex<Vec<Connection>>,
    read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> Result<T, StoreError> {
    let conn = idle.lock().unwrap_or_else(PoisonError::into_inner).pop().ok_or_else(closed)?;
    let outcome = read(&conn);
    if !conn.is_autocommit() {
        // A reader left within a transaction would show an old state for ever.
        conn.execute_batch("ROLLBACK").map_err(store_error)?;
    }
    idle.lock().unwrap_or_else(PoisonError::into_inner).push(conn);
    outcome.map_err(store_error)
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
