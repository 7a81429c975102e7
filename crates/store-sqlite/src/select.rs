//! The two shapes of every read: at most one row, or all of them.

use rusqlite::{Connection, OptionalExtension, Params, Result, Row};

pub(crate) fn one<T>(
    conn: &Connection,
    statement: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> Result<T>,
) -> Result<Option<T>> {
    conn.prepare_cached(statement)?.query_row(params, read).optional()
}

pub(crate) fn all<T>(
    conn: &Connection,
    statement: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    conn.prepare_cached(statement)?.query_map(params, read)?.collect()
}
