//! Rows to values. Columns are read by place, in the order of the statements in `sql/read`.
//!
//! A row that cannot be read is damage, reported as such and never guessed at; the report names the column's
//! meaning, never its value.

mod card;
mod log;

pub(crate) use card::{CardReader, ENTRY_COLUMNS, box_head, entry};
pub(crate) use log::{audit, chain_head, event};

use crate::number::from_stored;
use cardwire_model::{
    CanonicalJson, Hash256, Project, ProjectSettings, Realm, Revision, Scope, Timestamp, Token, TokenId,
};
use cardwire_store::StoreError;
use tokio_postgres::{Row, types::FromSql};
use uuid::Uuid;

pub(crate) type Read<T> = Result<T, StoreError>;

pub(crate) fn damaged(what: &str) -> StoreError {
    StoreError::Damaged(format!("{what} cannot be read"))
}

pub(crate) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Read<T> {
    row.try_get(column).map_err(|_| damaged(row.columns().get(column).map_or("a column", |c| c.name())))
}

pub(crate) fn number<T: TryFrom<i64>>(row: &Row, column: usize, what: &str) -> Read<T> {
    from_stored(get(row, column)?, what)
}

pub(crate) fn hash(row: &Row, column: usize) -> Read<Hash256> {
    Hash256::from_slice(get(row, column)?).ok_or_else(|| damaged("a hash"))
}

pub(crate) fn optional_hash(row: &Row, column: usize) -> Read<Option<Hash256>> {
    get::<Option<&[u8]>>(row, column)?
        .map(|bytes| Hash256::from_slice(bytes).ok_or_else(|| damaged("a hash")))
        .transpose()
}

pub(crate) fn time(row: &Row, column: usize) -> Read<Timestamp> {
    get(row, column).map(Timestamp::from_micros)
}

pub(crate) fn optional_time(row: &Row, column: usize) -> Read<Option<Timestamp>> {
    Ok(get::<Option<i64>>(row, column)?.map(Timestamp::from_micros))
}

pub(crate) fn json(row: &Row, column: usize) -> Read<CanonicalJson> {
    get(row, column).map(CanonicalJson::from_stored)
}

/// Reads all rows, or says which kind of damage was found first.
pub(crate) fn all<T>(rows: &[Row], read: impl FnMut(&Row) -> Read<T>) -> Read<Vec<T>> {
    rows.iter().map(read).collect()
}

/// Reads the one row there may be.
pub(crate) fn first<T>(rows: &[Row], read: impl FnOnce(&Row) -> Read<T>) -> Read<Option<T>> {
    rows.first().map(read).transpose()
}

pub(crate) fn realm(key: &str) -> Read<Realm> {
    Realm::from_key(key).map_err(|_| damaged("a realm"))
}

pub(crate) fn project(row: &Row) -> Read<Project> {
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

pub(crate) fn token(row: &Row) -> Read<Token> {
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
