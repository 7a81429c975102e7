//! The part of a snapshot that is about agents, their turns and the roster.

use crate::{
    codec,
    select::{all, one, readable},
    sql,
};
use cardwire_model::{
    AgentId, BoxId, Head, InboxId, InboxItem, Keys, Lost, Snapshot, TurnEpoch, TurnId, TurnRows,
    limits::POISON_ROWS,
};
use rusqlite::{Connection, Result, Row, params};

pub(super) fn load(conn: &Connection, realm: &str, keys: &Keys, snapshot: &mut Snapshot) -> Result<()> {
    if let Some(agent) = &keys.agent {
        snapshot.agent = one(conn, sql::AGENT, params![realm, agent.as_str()], codec::agent)?;
    }
    if let Some(id) = keys.turn
        && let Some(item) = turn(conn, realm, id)?
    {
        snapshot.turn =
            Some(if keys.turn_alone { TurnRows::alone(item) } else { turn_rows(conn, realm, item)? });
    }
    head_or_lost(conn, realm, keys, snapshot)?;
    if let Some(turn) = keys.depth_of {
        let depth = one(conn, sql::DEPTH, params![realm, turn.uuid().into_bytes()], codec::depth)?;
        snapshot.depth = depth.flatten();
    }
    if let Some(id) = keys.inbox {
        snapshot.inbox = inbox_item(conn, realm, id)?;
    }
    if let Some((primitive, phase, correlation)) = &keys.edge {
        let key = params![realm, correlation, primitive.as_str(), phase.as_str()];
        snapshot.edge = one(conn, sql::EDGE, key, codec::edge)?;
    }
    if let Some(step) = &keys.step {
        snapshot.step = one(conn, sql::STEP, params![realm, step.as_str()], codec::step)?;
    }
    for box_id in &keys.writers_of {
        let key = params![realm, box_id.uuid().into_bytes()];
        let writers: Vec<AgentId> = all(conn, sql::WRITERS, key, |row| codec::slug(row, 0))?;
        snapshot.writers.extend(writers.into_iter().map(|agent| (*box_id, agent)));
    }
    if let Some(name) = &keys.profile {
        snapshot.profile = one(conn, sql::PROFILE, params![realm, name.as_str()], codec::profile)?;
    }
    if let Some((kind, name)) = &keys.resource {
        let key = params![realm, kind.as_str(), name.as_str()];
        snapshot.resource = one(conn, sql::RESOURCE, key, codec::resource)?;
    }
    Ok(())
}

/// The head of the turn's agent, or else of the agent; or what is left of it.
fn head_or_lost(conn: &Connection, realm: &str, keys: &Keys, snapshot: &mut Snapshot) -> Result<()> {
    let of_turn = snapshot.turn.as_ref().map(|turn| &turn.item);
    if let Some(output) = of_turn.and_then(|item| item.output_box) {
        let found = super::box_head(conn, realm, output)?;
        snapshot.boxes.extend(found.map(|head| (output, head)));
    }
    let Some(agent) = of_turn.map(|item| &item.agent_id).or(keys.agent.as_ref()) else { return Ok(()) };
    snapshot.head = head(conn, realm, agent)?;
    if snapshot.head.is_none() {
        snapshot.lost = Some(lost(conn, realm, agent)?);
    }
    Ok(())
}

fn turn_rows(conn: &Connection, realm: &str, item: InboxItem) -> Result<TurnRows> {
    let key = (realm, item.turn_id.uuid().into_bytes());
    let next = params![realm, item.agent_id.as_str(), (POISON_ROWS + 1) as i64];
    let waiting = |row: &Row<'_>| readable(codec::inbox_item(row), "a turn that waits");
    Ok(TurnRows {
        calls: all(conn, sql::TURN_CALLS, key, codec::tool_call)?,
        reports: all(conn, sql::TURN_REPORTS, key, codec::inbox_item)?,
        next: all(conn, sql::NEXT_TURNS, next, waiting)?.into_iter().flatten().collect(),
        item,
    })
}

/// WD-08: what inbox and steps still know of an agent. Walks the agent's history, which is empty unless a head was
/// lost.
fn lost(conn: &Connection, realm: &str, agent: &AgentId) -> Result<Lost> {
    let key = (realm, agent.as_str());
    let highest = one(conn, sql::LOST_EPOCH, key, |row| row.get::<_, i64>(0))?;
    let output = one(conn, sql::LOST_OUTPUT_BOX, key, |row| codec::optional_uuid(row, 0))?;
    Ok(Lost {
        copy: one(conn, sql::LOST_COPY, key, codec::head)?,
        highest: highest.map_or(TurnEpoch::ZERO, |epoch| TurnEpoch::new(epoch as u64)),
        open: one(conn, sql::LOST_TURN, key, codec::inbox_item)?,
        last_output_box: output.flatten().map(BoxId::from_uuid),
        queued: one(conn, sql::LOST_QUEUED, key, |row| row.get(0))?.unwrap_or(0),
    })
}

/// The head of an agent.
pub(crate) fn head(conn: &Connection, project: &str, agent: &AgentId) -> Result<Option<Head>> {
    one(conn, sql::HEAD, params![project, agent.as_str()], codec::head)
}

/// The row of a turn.
pub(crate) fn turn(conn: &Connection, project: &str, turn: TurnId) -> Result<Option<InboxItem>> {
    one(conn, sql::TURN, params![project, turn.uuid().into_bytes()], codec::inbox_item)
}

/// An inbox row.
pub(crate) fn inbox_item(conn: &Connection, project: &str, id: InboxId) -> Result<Option<InboxItem>> {
    one(conn, sql::INBOX_ITEM, params![project, id.uuid().into_bytes()], codec::inbox_item)
}
