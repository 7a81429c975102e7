//! Edges, steps and tool calls, as whole rows.

use super::{Read, Record, get, json, name, named, number, optional_hash, optional_name, time};
use cardwire_model::{
    BoxId, CardId, Edge, EdgeId, EdgePhase, InboxId, Primitive, Step, ToolAnswer, ToolCall, TurnEpoch,
    TurnId, card::ToolStatus,
};
use uuid::Uuid;

/// A row of `state_execution_edges`. Its scope follows from the rest.
pub(crate) fn edge(row: &Record<'_>) -> Read<Edge> {
    let turn = |column| get::<Option<Uuid>>(row, column).map(|turn| turn.map(TurnId::from_uuid));
    Ok(Edge {
        id: EdgeId::from_uuid(get(row, 1)?),
        primitive: named(row, 2, Primitive::from_name, "a primitive")?,
        phase: named(row, 3, EdgePhase::from_name, "a phase")?,
        correlation_id: get(row, 4)?,
        source_agent: optional_name(row, 6, "an agent's name")?,
        source_turn: turn(7)?,
        target_agent: optional_name(row, 8, "an agent's name")?,
        target_turn: turn(9)?,
        depth: number(row, 10, "a depth")?,
        trace_id: get(row, 11)?,
        parent_step: optional_name(row, 12, "a step's id")?,
        inbox_id: get::<Option<Uuid>>(row, 13)?.map(InboxId::from_uuid),
        request_hash: optional_hash(row, 14)?,
        created_at: time(row, 15)?,
    })
}

/// A row of `state_agent_steps`.
pub(crate) fn step(row: &Record<'_>) -> Read<Step> {
    Ok(Step {
        id: name(row, 1, "a step's id")?,
        agent_id: name(row, 2, "an agent's name")?,
        turn_id: TurnId::from_uuid(get(row, 3)?),
        epoch: TurnEpoch::new(number(row, 4, "an epoch")?),
        phase: get(row, 7)?,
        status: get(row, 8)?,
        call_id: get(row, 9)?,
        request_box: get::<Option<Uuid>>(row, 10)?.map(BoxId::from_uuid),
        output_len: number(row, 11, "a length")?,
        trace_id: get(row, 5)?,
        metadata: json(row, 12)?,
        created_at: time(row, 6)?,
        updated_at: time(row, 13)?,
    })
}

/// A row of `state_tool_calls`.
pub(crate) fn call(row: &Record<'_>) -> Read<ToolCall> {
    Ok(ToolCall {
        agent_id: name(row, 3, "an agent's name")?,
        turn_id: TurnId::from_uuid(get(row, 1)?),
        tool_call_id: get(row, 2)?,
        call_card: get::<Option<Uuid>>(row, 5)?.map(CardId::from_uuid),
        waiting: get(row, 6)?,
        answer: get::<Option<&str>>(row, 7)?.map(|_| answer(row)).transpose()?,
        created_at: time(row, 4)?,
    })
}

fn answer(row: &Record<'_>) -> Read<ToolAnswer> {
    Ok(ToolAnswer {
        status: named(row, 7, tool_status, "a tool's status")?,
        terminate: get(row, 8)?,
        card: CardId::from_uuid(get(row, 9)?),
        at: time(row, 10)?,
    })
}

fn tool_status(name: &str) -> Option<ToolStatus> {
    ToolStatus::ALL.into_iter().find(|status| status.as_str() == name)
}
