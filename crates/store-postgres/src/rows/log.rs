//! Events and audit rows.

use super::{Read, damaged, get, hash, json, number, optional_hash, time};
use cardwire_model::{
    AuditAction, AuditRow, AuditVerdict, ChainHead, Event, EventId, EventKind, NewAudit, NewEvent,
};
use tokio_postgres::Row;
use uuid::Uuid;

pub(crate) fn event(row: &Row) -> Read<Event> {
    let agent = get::<Option<&str>>(row, 5)?.map(str::parse).transpose();
    Ok(Event {
        position: number(row, 0, "a position")?,
        event: NewEvent {
            id: EventId::from_uuid(get::<Uuid>(row, 1)?),
            kind: EventKind::from_name(get(row, 2)?).ok_or_else(|| damaged("an event's kind"))?,
            target: get(row, 3)?,
            channel: get(row, 4)?,
            agent_id: agent.map_err(|_| damaged("an agent's name"))?,
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
