//! The two shapes of every read: at most one row, or all of them.

use crate::error::is_damage;
use cardwire_model::ProjectId;
use rusqlite::{Connection, OptionalExtension, Params, Result, Row};

pub(crate) fn one<T>(
    conn: &Connection,
    statement: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> Result<T>,
) -> Result<Option<T>> {
    conn.prepare_cached(statement)?.query_row(params, read).optional()
}

/// What a row says; nothing if it cannot be read, so that one such row never stops the rest (NF-09).
pub(crate) fn readable<T>(read: Result<T>, whose: &str) -> Result<Option<T>> {
    match read {
        Ok(row) => Ok(Some(row)),
        Err(error) if is_damage(&error) => {
            tracing::error!(%error, whose, "a stored row cannot be read, and is passed over");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// So many rows after a key, however many of those between cannot be read: a shorter page would be the last one. `read` gives
/// the next rows, each with its key.
pub(crate) fn full_page<K, T>(
    limit: usize,
    mut after: Option<K>,
    mut read: impl FnMut(Option<&K>, usize) -> Result<Vec<(K, Option<T>)>>,
) -> Result<Vec<T>> {
    let mut found = vec![];
    loop {
        let rest = limit - found.len();
        let page = read(after.as_ref(), rest)?;
        let is_last = page.len() < rest;
        for (key, row) in page {
            after = Some(key);
            found.extend(row);
        }
        if is_last || found.len() == limit {
            return Ok(found);
        }
    }
}

/// Projects as a JSON list, for a statement that names several.
pub(crate) fn names(projects: &[ProjectId]) -> String {
    serde_json::Value::from(projects.iter().map(ProjectId::as_str).collect::<Vec<_>>()).to_string()
}

pub(crate) fn all<T>(
    conn: &Connection,
    statement: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    conn.prepare_cached(statement)?.query_map(params, read)?.collect()
}
