//! Sessions as whole rows, and passages.

use super::{Read, Record, get, hash, name, named, number, optional_time, time};
use cardwire_model::{CardId, Embedding, Passage, PassageKind, Revision, Session, SessionKey, Shelf};
use tokio_postgres::Row;

/// A row of `state_sessions`.
pub(crate) fn session(row: &Record<'_>) -> Read<Session> {
    Ok(Session {
        key: SessionKey {
            namespace: name(row, 1, "a namespace")?,
            session: name(row, 2, "a session's name")?,
        },
        version: Revision::new(number(row, 3, "a version")?),
        checkpoint: CardId::from_uuid(get(row, 4)?),
        created_at: time(row, 5)?,
        updated_at: time(row, 6)?,
        deleted_at: optional_time(row, 7)?,
    })
}

/// An answer of `passages`.
pub(crate) fn passage(row: &Row) -> Read<Passage> {
    let kind = named(row, 0, PassageKind::from_name, "a kind of passage")?;
    Ok(Passage {
        shelf: Shelf { kind, namespace: name(row, 1, "a namespace")? },
        source: get(row, 2)?,
        part: number(row, 3, "a part")?,
        card_id: CardId::from_uuid(get(row, 4)?),
        content_hash: hash(row, 5)?,
        terms: get(row, 6)?,
        embedding: get::<Option<&[u8]>>(row, 7)?.map(Embedding::from_stored),
        created_at: time(row, 8)?,
    })
}
