//! Heads and inbox rows.

use super::{
    Result, batches::optional_branch_key, named, optional_hash, optional_slug, optional_time, optional_uuid,
    slug, time, uuid,
};
use cardwire_model::{
    BoxId, CardId, Ended, Head, InboxId, InboxItem, InboxKind, InboxStatus, Live, LiveState, Status,
    TaskStatus, Timestamp, TurnEpoch, TurnId,
};
use cardwire_store::HeldRow;
use rusqlite::{Row, types::FromSql};

/// Number of columns that [`head`] reads.
pub(crate) const HEAD_COLUMNS: usize = 24;
/// Number of columns that [`inbox_item`] reads.
pub(crate) const INBOX_COLUMNS: usize = 33;

pub(crate) fn head(row: &Row<'_>) -> Result<Head> {
    let live = match named(row, 2, Status::from_name)? {
        Status::Idle => None,
        Status::Dispatched => Some(live(row, LiveState::Dispatched)?),
        Status::Running => Some(live(row, LiveState::Running)?),
        Status::Suspended => {
            Some(live(row, LiveState::Suspended { waiting: row.get(5)?, resume_by: time(row, 6)? })?)
        }
    };
    Ok(Head {
        agent_id: slug(row, 0)?,
        epoch: TurnEpoch::new(row.get::<_, i64>(1)? as u64),
        live: live.map(Box::new),
        last_output_box: optional_uuid(row, 21)?.map(BoxId::from_uuid),
        updated_at: time(row, 22)?,
        queued: row.get(23)?,
    })
}

fn live(row: &Row<'_>, state: LiveState) -> Result<Live> {
    Ok(Live {
        turn_id: TurnId::from_uuid(uuid(row, 3)?),
        inbox_id: InboxId::from_uuid(uuid(row, 4)?),
        state,
        channel: slug(row, 7)?,
        worker_target: slug(row, 8)?,
        profile_box: BoxId::from_uuid(uuid(row, 9)?),
        context_box: BoxId::from_uuid(uuid(row, 10)?),
        output_box: BoxId::from_uuid(uuid(row, 11)?),
        watermark: row.get(12)?,
        depth: row.get(13)?,
        trace_id: row.get(14)?,
        parent_step: optional_slug(row, 15)?,
        dispatched_at: time(row, 16)?,
        rung_at: optional_time(row, 17)?,
        deliverable: optional_uuid(row, 18)?.map(CardId::from_uuid),
        open_calls: row.get(19)?,
        marks: row.get(20)?,
    })
}

/// Whatever people did to the payload, the channel, the depth or the trace, the row itself can be read: what is to
/// become of it is decided elsewhere (DP-14, WD-10).
pub(crate) fn inbox_item(row: &Row<'_>) -> Result<InboxItem> {
    Ok(InboxItem {
        id: InboxId::from_uuid(uuid(row, 0)?),
        seq: row.get::<_, i64>(1)? as u64,
        agent_id: slug(row, 2)?,
        kind: named(row, 3, InboxKind::from_name)?,
        status: named(row, 4, InboxStatus::from_name)?,
        turn_id: TurnId::from_uuid(uuid(row, 5)?),
        epoch: row.get::<_, Option<i64>>(6)?.map(|epoch| TurnEpoch::new(epoch as u64)),
        correlation_id: row.get(7)?,
        worker_target: slug(row, 8)?,
        channel: undamaged::<String>(row, 9)?.and_then(|channel| channel.parse().ok()),
        depth: undamaged(row, 10)?,
        trace_id: undamaged(row, 11)?,
        parent_turn: optional_uuid(row, 12)?.map(TurnId::from_uuid),
        parent_call: row.get(13)?,
        parent_step: optional_slug(row, 14)?,
        branch: optional_branch_key(row, 31, 32)?,
        output_box: optional_uuid(row, 15)?.map(BoxId::from_uuid),
        payload: String::from_utf8_lossy(row.get_ref(16)?.as_bytes()?).into_owned(),
        worker_id: row.get(17)?,
        token_hash: optional_hash(row, 18)?,
        created_at: time(row, 19)?,
        processed_at: optional_time(row, 20)?,
        retry_count: row.get(21)?,
        next_retry_at: optional_time(row, 22)?,
        reason: row.get(23)?,
        ended: optional_time(row, 30)?.map(|at| ended(row, at)).transpose()?,
    })
}

/// A row in the hands of a worker.
pub(crate) fn held_row(row: &Row<'_>) -> Result<HeldRow> {
    Ok(HeldRow {
        seq: row.get::<_, i64>(0)? as u64,
        project: slug(row, 1)?,
        turn_id: TurnId::from_uuid(uuid(row, 2)?),
        epoch: row.get::<_, Option<i64>>(3)?.map(|epoch| TurnEpoch::new(epoch as u64)),
    })
}

fn ended(row: &Row<'_>, at: Timestamp) -> Result<Ended> {
    Ok(Ended {
        status: named(row, 24, TaskStatus::from_name)?,
        deliverable: CardId::from_uuid(uuid(row, 25)?),
        error: row.get(26)?,
        error_code: row.get(27)?,
        output: (row.get(28)?, row.get(29)?),
        at,
    })
}

/// The depth alone, as [`inbox_item`] reads it.
pub(crate) fn depth(row: &Row<'_>) -> Result<Option<u32>> {
    undamaged(row, 0)
}

/// A value that is not of its type is as good as none.
fn undamaged<T: FromSql>(row: &Row<'_>, column: usize) -> Result<Option<T>> {
    Ok(T::column_result(row.get_ref(column)?).ok())
}
