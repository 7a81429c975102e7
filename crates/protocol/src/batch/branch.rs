//! Branches that are not under way yet: dispatch them when there is room, try again when the target was busy (BM-08, BM-10),
//! and look after those that wait behind another turn (BM-19).

use super::fork::dispatched;
use crate::{
    Decision, Moment, Refusal, Rejection, Verdict,
    pmo::{calls::ReusedOutput, delegate::current_output},
    turn::dispatch::{self, Dispatch, Dispatched},
};
use cardwire_model::{
    Batch, BoxId, Branch, BranchStatus, CanonicalJson, Commit, InboxItem, InboxStatus, ProjectId, Snapshot,
    Timestamp, Write, limits,
};

/// The longest pause between two attempts, in seconds.
const LONGEST_PAUSE: i64 = 30;
/// A branch that waits for its turn's lease longer than this is noted (BM-19), in seconds.
pub const NOTED_AFTER: i64 = 2;
/// And longer than this may be given up.
const GIVEN_UP_AFTER: i64 = 60;

/// The error of a branch that was given up before its turn was leased. That turn is still there to be swept.
pub(super) const UNAVAILABLE: &str = "downstream_unavailable";

/// The box that the agent of a branch writes on, if it has one to write on.
pub fn output_box(snapshot: &Snapshot, output: ReusedOutput) -> Option<BoxId> {
    current_output(snapshot.head.as_ref()).filter(|_| output.keeps(snapshot.head.as_ref()))
}

/// Dispatches a branch that waits for it. `snapshot` has the agent, its head, the branch's boxes and who writes them.
pub fn dispatch(
    snapshot: &Snapshot,
    project: &ProjectId,
    batch: &Batch,
    branch: &Branch,
    output: ReusedOutput,
    moment: &Moment,
) -> Result<Decision<BranchStatus>, Rejection> {
    let turn = Dispatch {
        agent_id: branch.agent_id.clone(),
        profile_box: snapshot.agent.as_ref().map(|agent| agent.profile_box),
        context_box: branch.context_box,
        output_box: output_box(snapshot, output)
            .filter(|id| snapshot.boxes.get(id).is_none_or(|head| !head.sealed)),
        turn_id: branch.turn_id,
        correlation_id: None,
        channel: batch.channel.clone(),
        trace_id: batch.trace_id.clone(),
        parent_turn: batch.parent_turn,
        parent_call: Some(batch.parent_call.clone()),
        parent_step: batch.parent_step.clone(),
        branch: Some(branch.key),
        source_agent: Some(batch.parent_agent.clone()),
        display_name: None,
        runtime_config: CanonicalJson::empty_object(),
        queue_if_busy: true,
        emit_state_event: true,
        // The fork was checked as a whole.
        max_depth: u32::MAX,
    };
    let mut known = snapshot.clone();
    known.depth = batch.parent_turn.map(|_| batch.depth.saturating_sub(1));
    let (mut commit, row) = match dispatch::decide(&known, project, &turn, moment) {
        Ok(Decision { commit, outcome: Dispatched::Accepted(receipt) }) => {
            (commit, Branch { updated_at: moment.now, ..dispatched(branch.clone(), &receipt) })
        }
        Ok(Decision { outcome: Dispatched::Repeated(_), .. }) => {
            return Ok(Decision::nothing(project.clone(), branch.status));
        }
        Err(Rejection::Refused(refusal)) => (Commit::new(project.clone()), refused(branch, &refusal, moment)),
        Err(rejection) => return Err(rejection),
    };
    let status = row.status;
    commit.writes.push(Write::MoveBranch { from: BranchStatus::Pending, branch: Box::new(row) });
    Ok(Decision { commit, outcome: status })
}

/// What a refusal makes of a branch: a busy target is asked again, for a while; any other refusal is the end (BM-10).
pub(super) fn refused(branch: &Branch, refusal: &Refusal, moment: &Moment) -> Branch {
    let attempts = branch.attempts + 1;
    match refusal.verdict {
        Verdict::Busy if attempts >= limits::BRANCH_ATTEMPTS => Branch {
            error_detail: Some("dispatch_retry_exhausted".to_owned()),
            ..failed(branch, refusal, moment)
        },
        Verdict::Busy => Branch {
            attempts,
            next_attempt_at: Some(moment.now.plus_seconds((1_i64 << attempts).min(LONGEST_PAUSE))),
            updated_at: moment.now,
            ..branch.clone()
        },
        Verdict::Rejected | Verdict::Error => failed(branch, refusal, moment),
    }
}

/// A refusal that is the end.
pub(super) fn failed(branch: &Branch, refusal: &Refusal, moment: &Moment) -> Branch {
    Branch {
        status: BranchStatus::Failed,
        attempts: branch.attempts + 1,
        next_attempt_at: None,
        error_detail: Some(format!("dispatch_{}:{}", refusal.verdict.as_str(), refusal.code.as_str())),
        error_code: Some(refusal.code.as_str().to_owned()),
        updated_at: moment.now,
        ..branch.clone()
    }
}

/// What is to be done about a branch whose turn had no lease when last looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watch {
    /// Nothing.
    Nothing,
    /// New values. The agent's next turn is to be leased if it is idle, when `wake` is set.
    Note {
        /// The row.
        branch: Box<Branch>,
        /// See above.
        wake: bool,
    },
}

/// Looks after it. It is never sent again: a late answer to the first would make it two (BM-19).
pub fn watch(batch: &Batch, branch: &Branch, item: &InboxItem, now: Timestamp) -> Watch {
    let note = |branch: Branch, wake| Watch::Note { branch: Box::new(branch), wake };
    if item.status != InboxStatus::Queued {
        let Some(epoch) = item.epoch else { return Watch::Nothing };
        return note(Branch { epoch: Some(epoch), updated_at: now, ..branch.clone() }, false);
    }
    let waited = |seconds: i64| now > item.created_at.plus_seconds(seconds);
    let pressed = batch.fail_fast || batch.deadline_at.is_some_and(|deadline| deadline < now);
    if waited(GIVEN_UP_AFTER) && pressed {
        let detail = UNAVAILABLE.to_owned();
        let failed = Branch {
            status: BranchStatus::Failed,
            error_code: Some(detail.clone()),
            error_detail: Some(detail),
            updated_at: now,
            ..branch.clone()
        };
        return note(failed, false);
    }
    if waited(NOTED_AFTER) && branch.warning.is_none() {
        let warning = Some("ack_pending_window_exceeded".to_owned());
        return note(Branch { warning, updated_at: now, ..branch.clone() }, true);
    }
    Watch::Nothing
}
