//! Writes of heads and inbox rows.
//!
//! Invariant: an idle head has nothing in the columns of a live turn.

use super::{Applied, Apply};
use crate::sql;
use cardwire_model::{
    AgentId, Conflict, Head, HeadGuard, InboxItem, InboxStatus, LiveState, Nudge, Status, Timestamp,
};
use rusqlite::{ToSql, params, params_from_iter};

impl Apply<'_> {
    pub(super) fn create_head(&self, head: &Head) -> Applied {
        self.put_head(sql::CREATE_HEAD, &head.agent_id, head, params![head.queued], true)
    }

    pub(super) fn move_head(&self, guard: &HeadGuard, to: &Head, queued: i32, is_copied: bool) -> Applied {
        let (epoch, status) = (guard.epoch.get() as i64, guard.status.as_str());
        let roster = guard.roster.map(|revision| revision.get() as i64);
        let rest = params![queued, epoch, status, guard.marks, guard.queued.0, guard.queued.1, roster];
        self.put_head(sql::MOVE_HEAD, &guard.agent_id, to, rest, is_copied)
    }

    /// Writes a head, and its copy when it `is_copied`. Both statements take the same row; the first takes `rest` as well.
    fn put_head(
        &self,
        statement: &str,
        agent: &AgentId,
        head: &Head,
        rest: &[&dyn ToSql],
        is_copied: bool,
    ) -> Applied {
        let live = head.live.as_deref();
        let (waiting, resume_by) = match live.map(|live| live.state) {
            Some(LiveState::Suspended { waiting, resume_by }) => (waiting, Some(resume_by.micros())),
            Some(LiveState::Dispatched | LiveState::Running) | None => (0, None),
        };
        let row = params![
            self.realm,
            agent.as_str(),
            head.epoch.get() as i64,
            head.status().as_str(),
            live.map(|live| live.turn_id.uuid().into_bytes()),
            live.map(|live| live.inbox_id.uuid().into_bytes()),
            waiting,
            resume_by,
            live.map(|live| live.channel.as_str()),
            live.map(|live| live.worker_target.as_str()),
            live.map(|live| live.profile_box.uuid().into_bytes()),
            live.map(|live| live.context_box.uuid().into_bytes()),
            live.map(|live| live.output_box.uuid().into_bytes()),
            live.map_or(0, |live| live.watermark),
            live.map_or(0, |live| live.depth),
            live.map(|live| live.trace_id.as_str()),
            live.and_then(|live| live.parent_step.as_ref()).map(|step| step.as_str()),
            live.map(|live| live.dispatched_at.micros()),
            live.and_then(|live| live.rung_at).map(Timestamp::micros),
            live.and_then(|live| live.deliverable).map(|card| card.uuid().into_bytes()),
            live.map_or(0, |live| live.open_calls),
            live.map_or(0, |live| live.marks),
            head.last_output_box.map(|output| output.uuid().into_bytes()),
            head.updated_at.micros(),
        ];
        self.run_one(statement, params_from_iter(row.iter().chain(rest)), Conflict::Head)?;
        if !is_copied {
            return Ok(());
        }
        self.run(sql::PUT_SNAPSHOT, row, Conflict::Head).map(drop)
    }

    pub(super) fn nudge_head(&self, guard: &HeadGuard, nudge: &Nudge) -> Applied {
        // There is no live turn in an idle head for the rest of the nudge to change.
        let live = (guard.status != Status::Idle).then_some(nudge);
        let row = params![
            self.realm,
            guard.agent_id.as_str(),
            guard.epoch.get() as i64,
            guard.status.as_str(),
            guard.marks,
            guard.queued.0,
            guard.queued.1,
            nudge.seen.map(Timestamp::micros),
            live.and_then(|nudge| nudge.rung).map(Timestamp::micros),
            nudge.queued,
            live.and_then(|nudge| nudge.deliverable).map(|card| card.uuid().into_bytes()),
            live.map_or(0, |nudge| nudge.open_calls),
            live.is_some_and(Nudge::is_mark),
        ];
        self.run_one(sql::NUDGE_HEAD, row, Conflict::Head)
    }

    pub(super) fn enqueue(&self, item: &InboxItem) -> Applied {
        let ended = item.ended.as_ref();
        let row = params![
            self.realm,
            item.id.uuid().into_bytes(),
            item.agent_id.as_str(),
            item.kind.as_str(),
            item.status.as_str(),
            item.turn_id.uuid().into_bytes(),
            item.epoch.map(|epoch| epoch.get() as i64),
            item.correlation_id,
            item.worker_target.as_str(),
            item.channel.as_ref().map(|channel| channel.as_str()),
            item.depth,
            item.trace_id,
            item.parent_turn.map(|turn| turn.uuid().into_bytes()),
            item.parent_call,
            item.parent_step.as_ref().map(|step| step.as_str()),
            item.output_box.map(|output| output.uuid().into_bytes()),
            item.payload,
            item.worker_id,
            item.token_hash.as_ref().map(|hash| hash.as_bytes()),
            item.created_at.micros(),
            item.processed_at.map(Timestamp::micros),
            item.retry_count,
            item.next_retry_at.map(Timestamp::micros),
            item.reason,
            ended.map(|ended| ended.status.as_str()),
            ended.map(|ended| ended.deliverable.uuid().into_bytes()),
            ended.and_then(|ended| ended.error.as_deref()),
            ended.and_then(|ended| ended.error_code.as_deref()),
            ended.map(|ended| ended.output.0),
            ended.map(|ended| ended.output.1),
            ended.map(|ended| ended.at.micros()),
            item.branch.map(|branch| branch.batch_id.uuid().into_bytes()),
            item.branch.map(|branch| branch.index),
        ];
        self.run(sql::ENQUEUE, row, Conflict::Inbox).map(drop)
    }

    pub(super) fn update_inbox(&self, from: InboxStatus, item: &InboxItem) -> Applied {
        let ended = item.ended.as_ref();
        let row = params![
            self.realm,
            item.id.uuid().into_bytes(),
            from.as_str(),
            item.status.as_str(),
            item.epoch.map(|epoch| epoch.get() as i64),
            item.worker_id,
            item.token_hash.as_ref().map(|hash| hash.as_bytes()),
            item.processed_at.map(Timestamp::micros),
            item.retry_count,
            item.next_retry_at.map(Timestamp::micros),
            item.reason,
            ended.map(|ended| ended.status.as_str()),
            ended.map(|ended| ended.deliverable.uuid().into_bytes()),
            ended.and_then(|ended| ended.error.as_deref()),
            ended.and_then(|ended| ended.error_code.as_deref()),
            ended.map(|ended| ended.output.0),
            ended.map(|ended| ended.output.1),
            ended.map(|ended| ended.at.micros()),
        ];
        self.run_one(sql::UPDATE_INBOX, row, Conflict::Inbox)
    }
}
