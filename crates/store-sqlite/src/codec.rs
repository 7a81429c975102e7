//! Rows to values. A row that cannot be read is damage, reported as such and never guessed at.

mod batches;
mod facts;
mod graph;
mod log;
mod roster;
mod sessions;
mod turns;

pub(crate) use batches::{batch, branch, sweep};
pub(crate) use facts::{ENTRY_COLUMNS, box_head, card, card_fact, entry, project};
pub(crate) use graph::{edge, step, tool_call};
pub(crate) use log::{audit, event, token};
pub(crate) use roster::{agent, identity_edge, profile, resource, tags_to_stored};
pub(crate) use sessions::{hit, passage, session};
pub(crate) use turns::{HEAD_COLUMNS, INBOX_COLUMNS, depth, head, held_row, inbox_item};

use cardwire_model::{CanonicalJson, Hash256, Timestamp};
use rusqlite::{Error, Row, types::Type};
use std::str::FromStr;
use uuid::Uuid;

type Result<T> = rusqlite::Result<T>;

fn damaged(column: usize, what: &str) -> Error {
    Error::FromSqlConversionFailure(column, Type::Text, format!("damaged {what}").into())
}

fn damaged_column(row: &Row<'_>, column: usize) -> Error {
    damaged(column, row.as_ref().column_name(column).unwrap_or("column"))
}

pub(crate) fn uuid(row: &Row<'_>, column: usize) -> Result<Uuid> {
    row.get(column).map(Uuid::from_bytes)
}

pub(crate) fn optional_uuid(row: &Row<'_>, column: usize) -> Result<Option<Uuid>> {
    let bytes: Option<[u8; 16]> = row.get(column)?;
    Ok(bytes.map(Uuid::from_bytes))
}

pub(crate) fn hash(row: &Row<'_>, column: usize) -> Result<Hash256> {
    optional_hash(row, column)?.ok_or_else(|| damaged_column(row, column))
}

fn optional_hash(row: &Row<'_>, column: usize) -> Result<Option<Hash256>> {
    match row.get_ref(column)?.as_blob_or_null()? {
        None => Ok(None),
        Some(bytes) => Hash256::from_slice(bytes).map(Some).ok_or_else(|| damaged_column(row, column)),
    }
}

pub(crate) fn time(row: &Row<'_>, column: usize) -> Result<Timestamp> {
    row.get(column).map(Timestamp::from_micros)
}

fn optional_time(row: &Row<'_>, column: usize) -> Result<Option<Timestamp>> {
    row.get::<_, Option<i64>>(column).map(|micros| micros.map(Timestamp::from_micros))
}

fn text<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a str> {
    Ok(row.get_ref(column)?.as_str()?)
}

/// A name given by people, or another text that is checked when it is parsed.
pub(crate) fn slug<T: FromStr>(row: &Row<'_>, column: usize) -> Result<T> {
    text(row, column)?.parse().map_err(|_| damaged_column(row, column))
}

fn optional_slug<T: FromStr>(row: &Row<'_>, column: usize) -> Result<Option<T>> {
    let text = row.get_ref(column)?.as_str_or_null()?;
    text.map(str::parse).transpose().map_err(|_| damaged_column(row, column))
}

/// One of a closed set of names.
fn named<T>(row: &Row<'_>, column: usize, from_name: impl FnOnce(&str) -> Option<T>) -> Result<T> {
    from_name(text(row, column)?).ok_or_else(|| damaged_column(row, column))
}

fn optional_named<T>(
    row: &Row<'_>,
    column: usize,
    from_name: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>> {
    let name = row.get_ref(column)?.as_str_or_null()?;
    name.map(|name| from_name(name).ok_or_else(|| damaged_column(row, column))).transpose()
}

fn json(row: &Row<'_>, column: usize) -> Result<CanonicalJson> {
    text(row, column).map(CanonicalJson::from_stored)
}
