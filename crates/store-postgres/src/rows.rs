//! Rows to values. Columns are read by place: those of an answer in the order of its statement in `sql/read`, those of a
//! whole row ([`Record`]) in the order of its table.
//!
//! A row that cannot be read is damage, reported as such and never guessed at; the report names the column's
//! meaning, never its value.

mod batch;
mod card;
mod graph;
mod log;
mod record;
mod roster;
mod session;
mod turn;

pub(crate) use batch::{batch, branch};
pub(crate) use card::{CardReader, ENTRY_COLUMNS, box_head, card_fact, entry};
pub(crate) use graph::{call, edge, step};
pub(crate) use log::{audit, chain_head, event};
pub(crate) use record::{Record, optional_record, record, records};
pub(crate) use roster::{agent, identity_edge, profile, resource};
pub(crate) use session::{passage, session};
pub(crate) use turn::{head, held_row, inbox_item, writer};

use crate::number::from_stored;
use cardwire_model::{
    CanonicalJson, Hash256, Project, ProjectSettings, Realm, Revision, Scope, Timestamp, Token, TokenId,
};
use cardwire_store::StoreError;
use std::str::FromStr;
use tokio_postgres::{Row, types::FromSql};
use uuid::Uuid;

pub(crate) type Read<T> = Result<T, StoreError>;

pub(crate) fn damaged(what: &str) -> StoreError {
    StoreError::Damaged(format!("{what} cannot be read"))
}

/// What has columns: a row of an answer, or a whole row within one.
pub(crate) trait Columns {
    /// The value at a place; `None` when there is none of this type.
    fn value<'a, T: FromSql<'a>>(&'a self, column: usize) -> Option<T>;

    /// What a column is called, for people.
    fn name(&self, column: usize) -> &str;
}

impl Columns for Row {
    fn value<'a, T: FromSql<'a>>(&'a self, column: usize) -> Option<T> {
        self.try_get(column).ok()
    }

    fn name(&self, column: usize) -> &str {
        self.columns().get(column).map_or("a column", |column| column.name())
    }
}

pub(crate) fn get<'a, T: FromSql<'a>>(row: &'a impl Columns, column: usize) -> Read<T> {
    row.value(column).ok_or_else(|| damaged(row.name(column)))
}

pub(crate) fn number<T: TryFrom<i64>>(row: &impl Columns, column: usize, what: &str) -> Read<T> {
    from_stored(get(row, column)?, what)
}

pub(crate) fn optional<T: TryFrom<i64>>(row: &impl Columns, column: usize, what: &str) -> Read<Option<T>> {
    get::<Option<i64>>(row, column)?.map(|value| from_stored(value, what)).transpose()
}

/// A name given by people.
pub(crate) fn name<T: FromStr>(row: &impl Columns, column: usize, what: &str) -> Read<T> {
    get::<&str>(row, column)?.parse().map_err(|_| damaged(what))
}

pub(crate) fn optional_name<T: FromStr>(row: &impl Columns, column: usize, what: &str) -> Read<Option<T>> {
    get::<Option<&str>>(row, column)?.map(str::parse).transpose().map_err(|_| damaged(what))
}

/// One of a closed set, stored by its name.
pub(crate) fn named<T>(
    row: &impl Columns,
    column: usize,
    from_name: impl FnOnce(&str) -> Option<T>,
    what: &str,
) -> Read<T> {
    from_name(get(row, column)?).ok_or_else(|| damaged(what))
}

pub(crate) fn hash(row: &impl Columns, column: usize) -> Read<Hash256> {
    Hash256::from_slice(get(row, column)?).ok_or_else(|| damaged("a hash"))
}

pub(crate) fn optional_hash(row: &impl Columns, column: usize) -> Read<Option<Hash256>> {
    get::<Option<&[u8]>>(row, column)?
        .map(|bytes| Hash256::from_slice(bytes).ok_or_else(|| damaged("a hash")))
        .transpose()
}

pub(crate) fn time(row: &impl Columns, column: usize) -> Read<Timestamp> {
    get(row, column).map(Timestamp::from_micros)
}

pub(crate) fn optional_time(row: &impl Columns, column: usize) -> Read<Option<Timestamp>> {
    Ok(get::<Option<i64>>(row, column)?.map(Timestamp::from_micros))
}

pub(crate) fn json(row: &impl Columns, column: usize) -> Read<CanonicalJson> {
    get(row, column).map(CanonicalJson::from_stored)
}

/// Reads all rows, or says which kind of damage was found first.
pub(crate) fn all<T>(rows: &[Row], read: impl FnMut(&Row) -> Read<T>) -> Read<Vec<T>> {
    rows.iter().map(read).collect()
}

/// What a row says; nothing if it cannot be read, so that one such row never stops the rest (NF-09).
pub(crate) fn readable<T>(read: Read<T>, whose: &str) -> Read<Option<T>> {
    match read {
        Ok(row) => Ok(Some(row)),
        Err(error @ StoreError::Damaged(_)) => {
            tracing::error!(%error, whose, "a stored row cannot be read, and is passed over");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Reads the one row there may be.
pub(crate) fn first<T>(rows: &[Row], read: impl FnOnce(&Row) -> Read<T>) -> Read<Option<T>> {
    rows.first().map(read).transpose()
}

pub(crate) fn realm(key: &str) -> Read<Realm> {
    Realm::from_key(key).map_err(|_| damaged("a realm"))
}

pub(crate) fn project(row: &impl Columns) -> Read<Project> {
    Ok(Project {
        id: get::<&str>(row, 0)?.parse().map_err(|_| damaged("a project's name"))?,
        title: get(row, 1)?,
        settings: ProjectSettings::from_stored(get(row, 2)?),
        revision: Revision::new(number(row, 3, "a revision")?),
        deletions: number(row, 4, "a count of deletions")?,
        created_at: time(row, 5)?,
        updated_at: time(row, 6)?,
        deleted_at: optional_time(row, 7)?,
    })
}

pub(crate) fn token(row: &impl Columns) -> Read<Token> {
    Ok(Token {
        realm: realm(get(row, 0)?)?,
        id: TokenId::from_uuid(get::<Uuid>(row, 1)?),
        secret_hash: hash(row, 2)?,
        scopes: Scope::list_from_stored(get(row, 3)?),
        created_at: time(row, 4)?,
        expires_at: optional_time(row, 5)?,
        revoked_at: optional_time(row, 6)?,
    })
}
