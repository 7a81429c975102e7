//! Edges, steps and tool calls.

use super::{
    Result, json, named, optional_hash, optional_slug, optional_time, optional_uuid, slug, time, uuid,
};
use cardwire_model::{
    BoxId, CardId, Edge, EdgeId, EdgePhase, InboxId, Primitive, Step, Timestamp, ToolAnswer, ToolCall,
    TurnEpoch, TurnId, card::ToolStatus,
};
use rusqlite::Row;

pub(crate) fn edge(row: &Row<'_>) -> Result<Edge> {
    Ok(Edge {
        id: EdgeId::from_uuid(uuid(row, 0)?),
        primitive: named(row, 1, Primitive::from_name)?,
        phase: named(row, 2, EdgePhase::from_name)?,
        correlation_id: row.get(3)?,
        source_agent: optional_slug(row, 4)?,
        source_turn: optional_uuid(row, 5)?.map(TurnId::from_uuid),
        target_agent: optional_slug(row, 6)?,
        target_turn: optional_uuid(row, 7)?.map(TurnId::from_uuid),
        depth: row.get(8)?,
        trace_id: row.get(9)?,
        parent_step: optional_slug(row, 10)?,
        inbox_id: optional_uuid(row, 11)?.map(InboxId::from_uuid),
        request_hash: optional_hash(row, 12)?,
        created_at: time(row, 13)?,
    })
}

pub(crate) fn step(row: &Row<'_>) -> Result<Step> {
    Ok(Step {
        id: slug(row, 0)?,
        agent_id: slug(row, 1)?,
        turn_id: TurnId::from_uuid(uuid(row, 2)?),
        epoch: TurnEpoch::new(row.get::<_, i64>(3)? as u64),
        phase: row.get(4)?,
        status: row.get(5)?,
        call_id: row.get(6)?,
        request_box: optional_uuid(row, 7)?.map(BoxId::from_uuid),
        output_len: row.get(8)?,
        trace_id: row.get(9)?,
        metadata: json(row, 10)?,
        created_at: time(row, 11)?,
        updated_at: time(row, 12)?,
    })
}

pub(crate) fn tool_call(row: &Row<'_>) -> Result<ToolCall> {
    Ok(ToolCall {
        agent_id: slug(row, 0)?,
        turn_id: TurnId::from_uuid(uuid(row, 1)?),
        tool_call_id: row.get(2)?,
        call_card: optional_uuid(row, 3)?.map(CardId::from_uuid),
        waiting: row.get(4)?,
        answer: optional_time(row, 8)?.map(|at| answer(row, at)).transpose()?,
        created_at: time(row, 9)?,
    })
}

fn answer(row: &Row<'_>, at: Timestamp) -> Result<ToolAnswer> {
    let status = |name: &str| ToolStatus::ALL.into_iter().find(|status| status.as_str() == name);
    Ok(ToolAnswer {
        status: named(row, 5, status)?,
        terminate: row.get(6)?,
        card: CardId::from_uuid(uuid(row, 7)?),
        at,
    })
}
