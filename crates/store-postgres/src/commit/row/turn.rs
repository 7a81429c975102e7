//! Heads, inbox rows, and boxes that must be free for output.

use super::{Composite, Encoded, Fields, composite_to_sql};
use crate::number::to_bigint;
use cardwire_model::{
    AgentId, Head, HeadGuard, InboxItem, InboxStatus, Live, LiveState, Nudge, Status, Timestamp,
};
use tokio_postgres::types::Type;
use uuid::Uuid;

/// A write to a head.
#[derive(Debug)]
pub(in crate::commit) enum HeadWrite {
    Create(Box<Head>),
    Move { guard: HeadGuard, to: Box<Head>, queued: i32, is_copied: bool },
    Nudge { guard: HeadGuard, nudge: Nudge },
}

/// The same as a value of type `cw_head`.
#[derive(Debug)]
pub(in crate::commit) struct HeadRow<'a> {
    pub(in crate::commit) project: &'a str,
    pub(in crate::commit) write: &'a HeadWrite,
}

/// A row of `state_agent_inbox` that has no `seq` yet.
#[derive(Debug)]
pub(in crate::commit) struct InboxRow<'a> {
    pub(in crate::commit) project: &'a str,
    pub(in crate::commit) item: &'a InboxItem,
}

/// New values for an inbox row that is in the state `from`.
#[derive(Debug)]
pub(in crate::commit) struct InboxUpdate {
    pub(in crate::commit) from: InboxStatus,
    pub(in crate::commit) item: Box<InboxItem>,
}

/// The same as a value of type `cw_inbox_update`.
#[derive(Debug)]
pub(in crate::commit) struct InboxUpdateRow<'a> {
    pub(in crate::commit) project: &'a str,
    pub(in crate::commit) update: &'a InboxUpdate,
}

/// A box that must be free for an agent's output: a value of type `cw_output`.
#[derive(Debug)]
pub(in crate::commit) struct Output {
    pub(in crate::commit) box_id: Uuid,
    pub(in crate::commit) agent_id: Option<AgentId>,
}

composite_to_sql!(HeadRow<'_>, InboxRow<'_>, InboxUpdateRow<'_>, &Output);

impl HeadWrite {
    /// Whose head.
    pub(in crate::commit) fn agent_id(&self) -> &AgentId {
        match self {
            Self::Create(head) => &head.agent_id,
            Self::Move { guard, .. } | Self::Nudge { guard, .. } => &guard.agent_id,
        }
    }

    /// Whether the copy of the head is written with it.
    pub(in crate::commit) fn is_copied(&self) -> bool {
        match self {
            Self::Create(_) => true,
            Self::Move { is_copied, .. } => *is_copied,
            Self::Nudge { .. } => false,
        }
    }
}

impl Composite for HeadRow<'_> {
    const TYPE: &'static str = "cw_head";

    fn put(&self, row: &mut Fields<'_>) -> Encoded<()> {
        let (op, guard) = match self.write {
            HeadWrite::Create(_) => ("create", None),
            HeadWrite::Move { guard, .. } if self.write.is_copied() => ("move", Some(guard)),
            HeadWrite::Move { guard, .. } => ("stay", Some(guard)),
            HeadWrite::Nudge { guard, .. } => ("nudge", Some(guard)),
        };
        row.put(&Type::TEXT, &op)?;
        row.put(&Type::TEXT, &self.project)?;
        row.put(&Type::TEXT, &self.write.agent_id().as_str())?;
        row.put(&Type::INT8, &guard.map(|guard| to_bigint(guard.epoch.get())))?;
        row.put(&Type::TEXT, &guard.map(|guard| guard.status.as_str()))?;
        row.put(&Type::INT8, &guard.and_then(|guard| guard.marks).map(i64::from))?;
        row.put(&Type::INT8, &guard.map(|guard| i64::from(guard.queued.0)))?;
        row.put(&Type::INT8, &guard.map(|guard| i64::from(guard.queued.1)))?;
        match self.write {
            HeadWrite::Create(head) => put_head(row, head, head.queued.into())?,
            HeadWrite::Move { to, queued, .. } => put_head(row, to, i64::from(*queued))?,
            HeadWrite::Nudge { guard, nudge } => put_nudge(row, guard.status, nudge)?,
        }
        row.put(&Type::INT8, &guard.and_then(|guard| guard.roster).map(|revision| to_bigint(revision.get())))
    }
}

/// The new values of a head. An idle one has none that belong to a turn.
fn put_head(row: &mut Fields<'_>, head: &Head, queued: i64) -> Encoded<()> {
    let live = head.live.as_deref();
    let (waiting, resume_by) = match live.map(|live| live.state) {
        Some(LiveState::Suspended { waiting, resume_by }) => (Some(waiting), Some(resume_by)),
        Some(LiveState::Dispatched | LiveState::Running) | None => (None, None),
    };
    row.put(&Type::TEXT, &head.status().as_str())?;
    row.put(&Type::INT8, &to_bigint(head.epoch.get()))?;
    row.put(&Type::UUID, &live.map(|live| live.turn_id.uuid()))?;
    row.put(&Type::UUID, &live.map(|live| live.inbox_id.uuid()))?;
    row.put(&Type::TEXT, &live.map(|live| live.channel.as_str()))?;
    row.put(&Type::TEXT, &live.map(|live| live.worker_target.as_str()))?;
    row.put(&Type::UUID, &live.map(|live| live.profile_box.uuid()))?;
    row.put(&Type::UUID, &live.map(|live| live.context_box.uuid()))?;
    row.put(&Type::UUID, &live.map(|live| live.output_box.uuid()))?;
    row.put(&Type::UUID, &head.last_output_box.map(|box_id| box_id.uuid()))?;
    row.put(&Type::INT8, &live.map(|live| i64::from(live.watermark)))?;
    row.put(&Type::INT8, &live.map(|live| i64::from(live.depth)))?;
    row.put(&Type::TEXT, &live.map(|live| live.trace_id.as_str()))?;
    row.put(&Type::TEXT, &live.and_then(parent_step))?;
    row.put(&Type::INT8, &waiting.map(i64::from))?;
    row.put(&Type::INT8, &resume_by.map(Timestamp::micros))?;
    row.put(&Type::INT8, &live.map(|live| live.dispatched_at.micros()))?;
    row.put(&Type::INT8, &live.and_then(|live| live.rung_at).map(Timestamp::micros))?;
    row.put(&Type::UUID, &live.and_then(|live| live.deliverable).map(|card| card.uuid()))?;
    row.put(&Type::INT8, &live.map_or(0, |live| i64::from(live.open_calls)))?;
    row.put(&Type::INT8, &live.map_or(0, |live| i64::from(live.marks)))?;
    row.put(&Type::INT8, &queued)?;
    row.put(&Type::INT8, &head.updated_at.micros())
}

fn parent_step(live: &Live) -> Option<&str> {
    live.parent_step.as_ref().map(|step| step.as_str())
}

/// What a nudge adds or sets. On an idle head there is no turn to nudge.
fn put_nudge(row: &mut Fields<'_>, status: Status, nudge: &Nudge) -> Encoded<()> {
    let of_turn = match status {
        Status::Idle => Nudge { seen: nudge.seen, queued: nudge.queued, ..Nudge::default() },
        Status::Dispatched | Status::Running | Status::Suspended => *nudge,
    };
    // From `status` to `dispatched_at`.
    for ty in [
        Type::TEXT,
        Type::INT8,
        Type::UUID,
        Type::UUID,
        Type::TEXT,
        Type::TEXT,
        Type::UUID,
        Type::UUID,
        Type::UUID,
        Type::UUID,
        Type::INT8,
        Type::INT8,
        Type::TEXT,
        Type::TEXT,
        Type::INT8,
        Type::INT8,
        Type::INT8,
    ] {
        row.put_null(&ty);
    }
    row.put(&Type::INT8, &of_turn.rung.map(Timestamp::micros))?;
    row.put(&Type::UUID, &of_turn.deliverable.map(|card| card.uuid()))?;
    row.put(&Type::INT8, &i64::from(of_turn.open_calls))?;
    row.put(&Type::INT8, &i64::from(of_turn.is_mark()))?;
    row.put(&Type::INT8, &i64::from(of_turn.queued))?;
    row.put(&Type::INT8, &of_turn.seen.map(Timestamp::micros))
}

impl Composite for InboxRow<'_> {
    const TYPE: &'static str = "state_agent_inbox";

    fn put(&self, row: &mut Fields<'_>) -> Encoded<()> {
        let item = self.item;
        row.put(&Type::TEXT, &self.project)?;
        row.put(&Type::UUID, &item.id.uuid())?;
        row.put_null(&Type::INT8);
        row.put(&Type::INT8, &item.created_at.micros())?;
        row.put(&Type::UUID, &item.turn_id.uuid())?;
        row.put(&Type::TEXT, &item.agent_id.as_str())?;
        row.put(&Type::TEXT, &item.kind.as_str())?;
        row.put(&Type::TEXT, &item.correlation_id)?;
        row.put(&Type::TEXT, &item.worker_target.as_str())?;
        row.put(&Type::TEXT, &item.channel.as_ref().map(|channel| channel.as_str()))?;
        row.put(&Type::INT8, &item.depth.map(i64::from))?;
        row.put(&Type::TEXT, &item.trace_id)?;
        row.put(&Type::UUID, &item.parent_turn.map(|turn| turn.uuid()))?;
        row.put(&Type::TEXT, &item.parent_call)?;
        row.put(&Type::TEXT, &item.parent_step.as_ref().map(|step| step.as_str()))?;
        row.put(&Type::UUID, &item.output_box.map(|box_id| box_id.uuid()))?;
        row.put(&Type::TEXT, &item.payload)?;
        put_state(row, item)?;
        row.put(&Type::UUID, &item.branch.map(|branch| branch.batch_id.uuid()))?;
        row.put(&Type::INT8, &item.branch.map(|branch| i64::from(branch.index)))
    }
}

impl Composite for InboxUpdateRow<'_> {
    const TYPE: &'static str = "cw_inbox_update";

    fn put(&self, row: &mut Fields<'_>) -> Encoded<()> {
        let InboxUpdate { from, item } = self.update;
        row.put(&Type::TEXT, &"update")?;
        row.put(&Type::TEXT, &self.project)?;
        row.put(&Type::UUID, &item.id.uuid())?;
        row.put(&Type::TEXT, &from.as_str())?;
        put_state(row, item)
    }
}

/// The part of an inbox row that changes.
fn put_state(row: &mut Fields<'_>, item: &InboxItem) -> Encoded<()> {
    let ended = item.ended.as_ref();
    row.put(&Type::TEXT, &item.status.as_str())?;
    row.put(&Type::INT8, &item.epoch.map(|epoch| to_bigint(epoch.get())))?;
    row.put(&Type::TEXT, &item.worker_id)?;
    row.put(&Type::BYTEA, &item.token_hash.as_ref().map(|hash| hash.as_bytes().as_slice()))?;
    row.put(&Type::INT8, &item.processed_at.map(Timestamp::micros))?;
    row.put(&Type::INT8, &i64::from(item.retry_count))?;
    row.put(&Type::INT8, &item.next_retry_at.map(Timestamp::micros))?;
    row.put(&Type::TEXT, &item.reason)?;
    row.put(&Type::TEXT, &ended.map(|ended| ended.status.as_str()))?;
    row.put(&Type::UUID, &ended.map(|ended| ended.deliverable.uuid()))?;
    row.put(&Type::TEXT, &ended.and_then(|ended| ended.error.as_deref()))?;
    row.put(&Type::TEXT, &ended.and_then(|ended| ended.error_code.as_deref()))?;
    row.put(&Type::INT8, &ended.map(|ended| i64::from(ended.output.0)))?;
    row.put(&Type::INT8, &ended.map(|ended| i64::from(ended.output.1)))?;
    row.put(&Type::INT8, &ended.map(|ended| ended.at.micros()))
}

impl Composite for &Output {
    const TYPE: &'static str = "cw_output";

    fn put(&self, row: &mut Fields<'_>) -> Encoded<()> {
        row.put(&Type::UUID, &self.box_id)?;
        row.put(&Type::TEXT, &self.agent_id.as_ref().map(AgentId::as_str))
    }
}
