//! Sessions, passages and what a search finds.

use super::{Result, hash, named, optional_time, slug, time, uuid};
use cardwire_model::{CardId, Embedding, Passage, PassageKind, Revision, Session, SessionKey, Shelf};
use cardwire_store::Hit;
use rusqlite::Row;

pub(crate) fn session(row: &Row<'_>) -> Result<Session> {
    Ok(Session {
        key: SessionKey { namespace: slug(row, 0)?, session: slug(row, 1)? },
        version: Revision::new(row.get::<_, i64>(2)? as u64),
        checkpoint: CardId::from_uuid(uuid(row, 3)?),
        created_at: time(row, 4)?,
        updated_at: time(row, 5)?,
        deleted_at: optional_time(row, 6)?,
    })
}

pub(crate) fn passage(row: &Row<'_>) -> Result<Passage> {
    let embedding = row.get_ref(7)?.as_blob_or_null()?;
    Ok(Passage {
        shelf: Shelf { kind: named(row, 0, PassageKind::from_name)?, namespace: slug(row, 1)? },
        source: row.get(2)?,
        part: row.get(3)?,
        card_id: CardId::from_uuid(uuid(row, 4)?),
        content_hash: hash(row, 5)?,
        terms: row.get(6)?,
        embedding: embedding.map(Embedding::from_stored),
        created_at: time(row, 8)?,
    })
}

pub(crate) fn hit(row: &Row<'_>) -> Result<Hit> {
    Ok(Hit {
        source: row.get(0)?,
        part: row.get(1)?,
        card_id: CardId::from_uuid(uuid(row, 2)?),
        content_hash: hash(row, 3)?,
        score: row.get(4)?,
    })
}
