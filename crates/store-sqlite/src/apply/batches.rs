//! Writes of batches, branches, sweeps, grants and budgets.

use super::{Applied, Apply};
use crate::sql;
use cardwire_model::{
    Batch, BatchId, Branch, BranchEnd, BranchStatus, CloseReason, Conflict, Grant, Sweep, Timestamp, TurnId,
};
use rusqlite::{ToSql, params};

impl Apply<'_> {
    pub(super) fn create_batch(&self, batch: &Batch) -> Applied {
        let row = params![
            self.realm,
            batch.id.uuid().into_bytes(),
            batch.parent_agent.as_str(),
            batch.parent_turn.map(|turn| turn.uuid().into_bytes()),
            batch.parent_epoch.map(|epoch| epoch.get() as i64),
            batch.parent_call,
            batch.channel.as_str(),
            batch.trace_id,
            batch.depth,
            batch.branches,
            batch.fail_fast,
            batch.enough,
            batch.parallel,
            batch.result_tokens,
            batch.deadline_at.map(Timestamp::micros),
            batch.created_at.micros(),
            batch.status.as_str(),
            batch.closing.map(CloseReason::as_str),
            batch.result_card.map(|card| card.uuid().into_bytes()),
            batch.closed_at.map(Timestamp::micros),
            batch.parent_step.as_ref().map(|step| step.as_str()),
        ];
        self.run(sql::CREATE_BATCH, row, Conflict::Batch).map(drop)
    }

    pub(super) fn begin_close(&self, batch: BatchId, reason: CloseReason) -> Applied {
        let row = params![self.realm, batch.uuid().into_bytes(), reason.as_str()];
        self.run_one(sql::BEGIN_CLOSE, row, Conflict::Batch)
    }

    pub(super) fn close_batch(&self, batch: &Batch) -> Applied {
        let row = params![
            self.realm,
            batch.id.uuid().into_bytes(),
            batch.closing.map(CloseReason::as_str),
            batch.status.as_str(),
            batch.result_card.map(|card| card.uuid().into_bytes()),
            batch.closed_at.map(Timestamp::micros),
        ];
        self.run_one(sql::CLOSE_BATCH, row, Conflict::Batch)
    }

    pub(super) fn add_branch(&self, branch: &Branch) -> Applied {
        self.put_branch(sql::ADD_BRANCH, branch, &branch.created_at.micros())
    }

    pub(super) fn move_branch(&self, from: BranchStatus, branch: &Branch) -> Applied {
        self.put_branch(sql::MOVE_BRANCH, branch, &from.as_str())
    }

    /// Both statements take the same values, and one of their own: when it was made stays as it was written.
    fn put_branch(&self, statement: &str, branch: &Branch, own: &dyn ToSql) -> Applied {
        let row = params![
            self.realm,
            branch.key.batch_id.uuid().into_bytes(),
            branch.key.index,
            branch.status.as_str(),
            branch.agent_id.as_ref().map(|agent| agent.as_str()),
            branch.turn_id.map(|turn| turn.uuid().into_bytes()),
            branch.epoch.map(|epoch| epoch.get() as i64),
            branch.context_box.map(|context| context.uuid().into_bytes()),
            branch.output_box.map(|output| output.uuid().into_bytes()),
            branch.attempts,
            branch.next_attempt_at.map(Timestamp::micros),
            branch.deliverable.map(|card| card.uuid().into_bytes()),
            branch.error_detail,
            branch.error_code,
            branch.warning,
            branch.updated_at.micros(),
            own,
        ];
        self.run_one(statement, row, Conflict::Batch)
    }

    /// A turn ends whether or not somebody still waits for it: no row to change is no conflict.
    pub(super) fn end_branch(&self, end: &BranchEnd) -> Applied {
        let row = params![
            self.realm,
            end.key.batch_id.uuid().into_bytes(),
            end.key.index,
            BranchStatus::from(end.status).as_str(),
            end.deliverable.map(|card| card.uuid().into_bytes()),
            end.error_detail,
            end.error_code,
            end.at.micros(),
        ];
        self.run(sql::END_BRANCH, row, Conflict::Batch).map(drop)
    }

    pub(super) fn add_sweep(&self, sweep: Sweep) -> Applied {
        let row = params![self.realm, sweep.scope(), sweep.uuid().into_bytes()];
        self.run(sql::ADD_SWEEP, row, Conflict::Batch).map(drop)
    }

    pub(super) fn end_sweep(&self, sweep: Sweep) -> Applied {
        let row = params![self.realm, sweep.scope(), sweep.uuid().into_bytes()];
        self.run(sql::END_SWEEP, row, Conflict::Batch).map(drop)
    }

    pub(super) fn add_grant(&self, grant: &Grant) -> Applied {
        let (agent, box_id) = (grant.agent_id.as_str(), grant.box_id.uuid().into_bytes());
        self.run(sql::ADD_GRANT, params![self.realm, agent, box_id, grant.at.micros()], Conflict::Box)
            .map(drop)
    }

    pub(super) fn spend(&self, root: TurnId, turns: u32, limit: u32) -> Applied {
        let row = params![self.realm, root.uuid().into_bytes(), turns, limit];
        self.run_one(sql::SPEND, row, Conflict::Tree)
    }
}
