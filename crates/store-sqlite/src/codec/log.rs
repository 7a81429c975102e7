//! Tokens, events and audit rows.

use super::{
    Result, damaged, hash, json, named, optional_hash, optional_slug, optional_time, optional_uuid, text,
    time, uuid,
};
use cardwire_model::{
    AuditAction, AuditRow, AuditVerdict, BatchId, ChainHead, Event, EventId, EventKind, NewAudit, NewEvent,
    Realm, Scope, Token, TokenId, TurnId,
};
use rusqlite::Row;

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
    Ok(Event {
        position: row.get::<_, i64>(0)? as u64,
        event: NewEvent {
            id: EventId::from_uuid(uuid(row, 1)?),
            kind: named(row, 2, EventKind::from_name)?,
            target: row.get(3)?,
            channel: row.get(4)?,
            agent_id: optional_slug(row, 5)?,
            data: json(row, 6)?,
            at: time(row, 7)?,
            turn_id: optional_uuid(row, 8)?.map(TurnId::from_uuid),
            batch_id: optional_uuid(row, 9)?.map(BatchId::from_uuid),
            trace_id: row.get(10)?,
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
            action: named(row, 2, AuditAction::from_name)?,
            subject: row.get(3)?,
            verdict: named(row, 4, AuditVerdict::from_name)?,
            detail: json(row, 5)?,
            at: time(row, 6)?,
        },
        sealed,
    })
}
