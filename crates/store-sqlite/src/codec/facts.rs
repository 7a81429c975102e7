//! Projects, cards and boxes.

use super::{
    Result, damaged, hash, json, named, optional_hash, optional_time, optional_uuid, slug, text, time, uuid,
};
use cardwire_model::{
    BoxHead, BoxId, CanonicalJson, Card, CardFact, CardId, CardKind, Entry, EntrySource, Generation, Item,
    Origin, Project, ProjectSettings, Revision, Role, Segment,
};
use rusqlite::Row;

/// Reads the columns of a card, the first of which is `first`.
pub(crate) fn card(row: &Row<'_>, first: usize) -> Result<Card> {
    let at = |offset: usize| first + offset;
    Ok(Card {
        id: CardId::from_uuid(uuid(row, at(0))?),
        kind: CardKind::from_stored(text(row, at(1))?),
        role: named(row, at(2), Role::from_name)?,
        author_id: row.get(at(3))?,
        content: json(row, at(4))?,
        content_hash: hash(row, at(5))?,
        fact_hash: hash(row, at(6))?,
        tokens: row.get(at(7))?,
        tool_calls: row.get_ref(at(8))?.as_str_or_null()?.map(CanonicalJson::from_stored),
        tool_call_id: row.get(at(9))?,
        metadata: json(row, at(10))?,
        origin: named(row, at(11), Origin::from_name)?,
        credential: row.get(at(12))?,
        ttl_seconds: row.get(at(13))?,
        expires_at: optional_time(row, at(14))?,
        deleted_at: optional_time(row, at(15))?,
        created_at: time(row, at(16))?,
    })
}

pub(crate) fn box_head(row: &Row<'_>) -> Result<BoxHead> {
    Ok(BoxHead {
        box_id: BoxId::from_uuid(uuid(row, 0)?),
        generation: Generation::new(row.get(1)?),
        len: row.get(2)?,
        entries: row.get(3)?,
        depth: row.get(4)?,
        sealed: row.get(5)?,
        handover_hash: optional_hash(row, 6)?,
        created_at: time(row, 7)?,
    })
}

/// Number of columns that [`entry`] reads.
pub(crate) const ENTRY_COLUMNS: usize = 6;

pub(crate) fn entry(row: &Row<'_>) -> Result<Entry> {
    let item = match (optional_uuid(row, 0)?, optional_uuid(row, 1)?) {
        (Some(card), None) => Item::Card(CardId::from_uuid(card)),
        (None, Some(source)) => Item::Segment(Segment {
            box_id: BoxId::from_uuid(source),
            generation: Generation::new(row.get(2)?),
            len: row.get(3)?,
        }),
        (Some(_), Some(_)) | (None, None) => return Err(damaged(0, "entry")),
    };
    let source =
        EntrySource::from_parts(text(row, 4)?, row.get(5)?).ok_or_else(|| damaged(4, "entry source"))?;
    Ok(Entry { item, source })
}

pub(crate) fn card_fact(row: &Row<'_>) -> Result<CardFact> {
    Ok(CardFact {
        fact_hash: hash(row, 0)?,
        kind: CardKind::from_stored(text(row, 1)?),
        tool_call_id: row.get(2)?,
        author_id: row.get(3)?,
        origin: named(row, 4, Origin::from_name)?,
        deleted_at: optional_time(row, 5)?,
        expires_at: optional_time(row, 6)?,
    })
}

pub(crate) fn project(row: &Row<'_>) -> Result<Project> {
    Ok(Project {
        id: slug(row, 0)?,
        title: row.get(1)?,
        settings: ProjectSettings::from_stored(text(row, 2)?),
        revision: Revision::new(row.get::<_, i64>(3)? as u64),
        deletions: row.get::<_, i64>(4)? as u64,
        created_at: time(row, 5)?,
        updated_at: time(row, 6)?,
        deleted_at: optional_time(row, 7)?,
    })
}
