//! Events and audit rows.

use super::{Read, damaged, get, hash, json, number, optional_hash, optional_name, time};
use cardwire_model::{
    AuditAction, AuditRow, AuditVerdict, BatchId, ChainHead, Event, EventId, EventKind, NewAudit, NewEvent,
    TurnId,
};
use tokio_postgres::Row;
use uuid::Uuid;

pub(crate) fn event(row: &Row) -> Read<Event> {
    Ok(Event {
        position: number(row, 0, "a position")?,
        event: NewEvent {
            id: EventId::from_uuid(get::<Uuid>(row, 1)?),
            kind: EventKind::from_name(get(row, 2)?).ok_or_else(|| damaged("an event's kind"))?,
            target: get(row, 3)?,
            channel: get(row, 4)?,
            agent_id: optional_name(row, 5, "an agent's name")?,
            turn_id: get::<Option<Uuid>>(row, 8)?.map(TurnId::from_uuid),
            batch_id: get::<Option<Uuid>>(row, 9)?.map(BatchId::from_uuid),
            trace_id: get(row, 10)?,
            data: json(row, 6)?,
            at: time(row, 7)?,
        },
    })
}

pub(crate) fn audit(row: &Row) -> Read<AuditRow> {
    let position = get::<Option<i64>>(row, 7)?;
    let sealed = match (position, optional_hash(row, 8)?) {
        (Some(_), Some(hash)) => Some(ChainHead { position: number(row, 7, "a place in the chain")?, hash }),
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => return Err(damaged("a sealed audit row")),
    };
    Ok(AuditRow {
        seq: number(row, 0, "an audit number")?,
        audit: NewAudit {
            actor: get(row, 1)?,
            action: AuditAction::from_name(get(row, 2)?).ok_or_else(|| damaged("an audit action"))?,
            subject: get(row, 3)?,
            verdict: AuditVerdict::from_name(get(row, 4)?).ok_or_else(|| damaged("an audit verdict"))?,
            detail: json(row, 5)?,
            at: time(row, 6)?,
        },
        sealed,
    })
}

pub(crate) fn chain_head(row: &Row) -> Read<ChainHead> {
    Ok(ChainHead { position: number(row, 0, "a place in the chain")?, hash: hash(row, 1)? })
}
