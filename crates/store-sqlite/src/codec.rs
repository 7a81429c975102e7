//! Rows to values and back. A row that cannot be read is damage, reported as such and never guessed at.

use cardwire_model::{
    AuditAction, AuditRow, AuditVerdict, BoxHead, BoxId, CanonicalJson, Card, CardId, CardKind, ChainHead,
    Entry, EntrySource, Event, EventId, EventKind, Generation, Hash256, Item, NewAudit, NewEvent, Origin,
    Project, ProjectSettings, Realm, Revision, Role, Scope, Segment, Timestamp, Token, TokenId,
};
use rusqlite::{Error, Row, types::Type};
use uuid::Uuid;

type Result<T> = rusqlite::Result<T>;

fn damaged(column: usize, what: &str) -> Error {
    Error::FromSqlConversionFailure(column, Type::Text, format!("damaged {what}").into())
}

pub(crate) fn uuid(row: &Row<'_>, column: usize) -> Result<Uuid> {
    let bytes: [u8; 16] = row.get(column)?;
    Ok(Uuid::from_bytes(bytes))
}

fn optional_uuid(row: &Row<'_>, column: usize) -> Result<Option<Uuid>> {
    let bytes: Option<[u8; 16]> = row.get(column)?;
    Ok(bytes.map(Uuid::from_bytes))
}

pub(crate) fn hash(row: &Row<'_>, column: usize) -> Result<Hash256> {
    optional_hash(row, column)?.ok_or_else(|| damaged(column, "hash"))
}

fn optional_hash(row: &Row<'_>, column: usize) -> Result<Option<Hash256>> {
    match row.get_ref(column)?.as_blob_or_null()? {
        None => Ok(None),
        Some(bytes) => Hash256::from_slice(bytes).map(Some).ok_or_else(|| damaged(column, "hash")),
    }
}

pub(crate) fn time(row: &Row<'_>, column: usize) -> Result<Timestamp> {
    row.get(column).map(Timestamp::from_micros)
}

pub(crate) fn optional_time(row: &Row<'_>, column: usize) -> Result<Option<Timestamp>> {
    row.get::<_, Option<i64>>(column).map(|micros| micros.map(Timestamp::from_micros))
}

fn text<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a str> {
    Ok(row.get_ref(column)?.as_str()?)
}

fn json(row: &Row<'_>, column: usize) -> Result<CanonicalJson> {
    text(row, column).map(CanonicalJson::from_stored)
}

/// Reads the columns of a card, the first of which is `first`.
pub(crate) fn card(row: &Row<'_>, first: usize) -> Result<Card> {
    let at = |offset: usize| first + offset;
    Ok(Card {
        id: CardId::from_uuid(uuid(row, at(0))?),
        kind: CardKind::from_stored(text(row, at(1))?),
        role: Role::from_name(text(row, at(2))?).ok_or_else(|| damaged(at(2), "role"))?,
        author_id: row.get(at(3))?,
        content: json(row, at(4))?,
        content_hash: hash(row, at(5))?,
        fact_hash: hash(row, at(6))?,
        tokens: row.get(at(7))?,
        tool_calls: row.get_ref(at(8))?.as_str_or_null()?.map(CanonicalJson::from_stored),
        tool_call_id: row.get(at(9))?,
        metadata: json(row, at(10))?,
        origin: Origin::from_name(text(row, at(11))?).ok_or_else(|| damaged(at(11), "origin"))?,
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

pub(crate) fn project(row: &Row<'_>) -> Result<Project> {
    Ok(Project {
        id: text(row, 0)?.parse().map_err(|_| damaged(0, "project name"))?,
        title: row.get(1)?,
        settings: ProjectSettings::from_stored(text(row, 2)?),
        revision: Revision::new(row.get::<_, i64>(3)? as u64),
        deletions: row.get::<_, i64>(4)? as u64,
        created_at: time(row, 5)?,
        updated_at: time(row, 6)?,
        deleted_at: optional_time(row, 7)?,
    })
}

pub(crate) fn token(row: &Row<'_>) -> Result<Token> {
    Ok(Token {
        realm: Realm::from_key(text(row, 0)?).map_err(|_| damaged(0, "realm"))?,
        id: TokenId::from_uuid(uuid(row, 1)?),
        secret_hash: hash(row, 2)?,
        scopes: Scope::list_from_stored(text(row, 3)?),
        created_at: time(row, 4)?,
        expires_at: optional_time(row, 5)?,
        revoked_at: optional_time(row, 6)?,
    })
}

pub(crate) fn event(row: &Row<'_>) -> Result<Event> {
    let agent = row
        .get_ref(5)?
        .as_str_or_null()?
        .map(str::parse)
        .transpose()
        .map_err(|_| damaged(5, "agent name"))?;
    Ok(Event {
        position: row.get::<_, i64>(0)? as u64,
        event: NewEvent {
            id: EventId::from_uuid(uuid(row, 1)?),
            kind: EventKind::from_name(text(row, 2)?).ok_or_else(|| damaged(2, "event kind"))?,
            target: row.get(3)?,
            channel: row.get(4)?,
            agent_id: agent,
            data: json(row, 6)?,
            at: time(row, 7)?,
        },
    })
}

pub(crate) fn audit(row: &Row<'_>) -> Result<AuditRow> {
    let sealed = match (row.get::<_, Option<i64>>(7)?, optional_hash(row, 8)?) {
        (Some(position), Some(hash)) => Some(ChainHead { position: position as u64, hash }),
        (_, _) => None,
    };
    Ok(AuditRow {
        seq: row.get::<_, i64>(0)? as u64,
        audit: NewAudit {
            actor: row.get(1)?,
            action: AuditAction::from_name(text(row, 2)?).ok_or_else(|| damaged(2, "audit action"))?,
            subject: row.get(3)?,
            verdict: AuditVerdict::from_name(text(row, 4)?).ok_or_else(|| damaged(4, "audit verdict"))?,
            detail: json(row, 5)?,
            at: time(row, 6)?,
        },
        sealed,
    })
}
