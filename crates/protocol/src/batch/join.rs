//! Join: one commit closes the batch, writes the edge that answers the fork, the result card and the row that wakes the
//! parent (BM-14..BM-17, BM-20). Invariant 14: whoever is second finds the batch closed.

use super::{
    AUTHOR, TOOL, branch,
    fork::join_edge,
    state_event,
    view::{self, View},
};
use crate::{
    Decision, Moment, Rejection,
    decision::own_json,
    turn::system_tool::{self, SystemAnswer, Told},
};
use cardwire_model::{
    AuditAction, Batch, BatchStatus, Branch, BranchStatus, CardDraft, CardId, CloseReason, Commit, EdgePhase,
    Grant, Origin, ProjectId, Snapshot, Sweep, Write, card::ToolStatus,
};
use serde_json::{Value, json};

/// How a batch ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Joined {
    /// Its row.
    pub batch: Batch,
    /// What the parent is told.
    pub result: Value,
}

/// BM-14, BM-13, BM-18
pub fn final_status(batch: &Batch, statuses: &[BranchStatus]) -> BatchStatus {
    let has = |wanted: BranchStatus| statuses.contains(&wanted);
    match batch.closing {
        Some(CloseReason::Deadline) => return BatchStatus::Timeout,
        Some(CloseReason::FailFast) => return BatchStatus::Failed,
        Some(CloseReason::Enough) => return BatchStatus::Success,
        Some(CloseReason::Canceled) => {}
        None if batch.fail_fast && statuses.iter().any(|status| status.is_failure()) => {
            return BatchStatus::Failed;
        }
        None => {
            let succeeded = statuses.iter().filter(|status| **status == BranchStatus::Success).count();
            if batch.enough > 0 && succeeded >= batch.enough as usize {
                return BatchStatus::Success;
            }
        }
    }
    if statuses.iter().all(|status| *status == BranchStatus::Success) {
        BatchStatus::Success
    } else if has(BranchStatus::Success) {
        BatchStatus::Partial
    } else if has(BranchStatus::Failed) {
        BatchStatus::Failed
    } else if has(BranchStatus::Timeout) {
        BatchStatus::Timeout
    } else if has(BranchStatus::Partial) {
        BatchStatus::Partial
    } else {
        BatchStatus::Failed
    }
}

/// What the parent is told (BM-17), by task index whatever order the branches come in.
/// `share` is that of each branch, in tokens.
pub fn result(status: BatchStatus, branches: &[(Branch, View)], share: u32) -> Value {
    let mut by_index: Vec<_> = branches.iter().collect();
    by_index.sort_by_key(|(branch, _)| branch.key.index);
    let entry = |(branch, view): &(Branch, View)| view::entry(branch, view, share);
    let results: Vec<Value> = by_index.into_iter().map(entry).collect();
    json!({ "status": status.as_str(), "results": results })
}

/// Joins. `branches` are all of them, each with what its deliverable says within its `share`; `parent` has the rows of the
/// parent's turn, if there is one.
pub fn decide(
    parent: Option<&Snapshot>,
    project: &ProjectId,
    batch: &Batch,
    mut branches: Vec<(Branch, View)>,
    share: u32,
    moment: &Moment,
) -> Result<Decision<Joined>, Rejection> {
    let mut commit = Commit::new(project.clone());
    let swept = cancel_open(&mut commit, batch, &mut branches, moment);
    let statuses: Vec<BranchStatus> = branches.iter().map(|(branch, _)| branch.status).collect();
    let status = final_status(batch, &statuses);
    let result = result(status, &branches, share);
    let error = (status != BatchStatus::Success).then(|| {
        let message = format!("batch finished with status={}", status.as_str());
        let detail = json!({ "batch_id": batch.id.to_string(), "status": status.as_str() });
        json!({ "code": "batch_failed", "message": message, "detail": detail })
    });
    commit.writes.push(Write::AddEdge(Box::new(join_edge(batch, EdgePhase::Response, moment))));
    let answer = SystemAnswer {
        author: AUTHOR,
        function: TOOL,
        status: tool_status(status),
        result: &result,
        error: error.as_ref(),
    };
    let result_card = tell_parent(&mut commit, parent, project, batch, &answer, moment)?;
    // A result that names boxes opens them to whoever is given it.
    if result_card.is_some() {
        let outputs: Vec<_> = branches.iter().filter_map(|(branch, _)| branch.output_box).collect();
        let detail = json!({ "batch_id": batch.id.to_string(), "boxes": outputs.len() });
        commit.audit.push(moment.audit(AuditAction::BoxGrant, &batch.parent_agent, &detail));
        commit.writes.extend(outputs.into_iter().map(|box_id| {
            let agent_id = batch.parent_agent.clone();
            Write::AddGrant(Box::new(Grant { agent_id, box_id, at: moment.now }))
        }));
    }
    if swept {
        commit.writes.push(Write::AddSweep(Sweep::Batch(batch.id)));
    }
    let closed = Batch { status, result_card, closed_at: Some(moment.now), ..batch.clone() };
    commit.writes.insert(0, Write::CloseBatch(Box::new(closed.clone())));
    commit.events.push(state_event(&closed, moment));
    Ok(Decision { commit, outcome: Joined { batch: closed, result } })
}

/// What has not ended is called off. Answers whether any turn may still be under way.
fn cancel_open(commit: &mut Commit, batch: &Batch, branches: &mut [(Branch, View)], moment: &Moment) -> bool {
    let reason = batch.closing.map_or("batch_closed", CloseReason::as_str);
    let mut swept = false;
    for (branch, _) in branches {
        swept |= branch.error_code.as_deref() == Some(branch::UNAVAILABLE);
        if !branch.status.is_open() {
            continue;
        }
        swept |= branch.status == BranchStatus::Dispatched;
        let from = branch.status;
        branch.status = BranchStatus::Canceled;
        branch.error_detail = Some(format!("canceled: {reason}"));
        branch.error_code = Some("canceled".to_owned());
        branch.updated_at = moment.now;
        commit.writes.push(Write::MoveBranch { from, branch: Box::new(branch.clone()) });
    }
    swept
}

/// The parent's turn is answered if it is there (BM-20). A call that no turn has made is answered by a card alone.
fn tell_parent(
    commit: &mut Commit,
    parent: Option<&Snapshot>,
    project: &ProjectId,
    batch: &Batch,
    answer: &SystemAnswer<'_>,
    moment: &Moment,
) -> Result<Option<CardId>, Rejection> {
    if let Some(turn) = batch.parent_turn {
        let Some(rows) = parent else { return Ok(None) };
        return Ok(match system_tool::answer(rows, project, turn, &batch.parent_call, answer, moment)? {
            Told::Taken(taken) => {
                commit.append(taken.commit);
                Some(taken.card)
            }
            Told::Gone | Told::Full => None,
        });
    }
    let mut metadata = json!({ "type": "tool.result" });
    for (key, value) in answer.metadata() {
        metadata[key] = value;
    }
    let draft = CardDraft {
        content: own_json(&answer.content()),
        metadata: own_json(&metadata),
        tool_calls: None,
        tool_call_id: Some(batch.parent_call.clone()),
        ttl_seconds: None,
    };
    let card = draft.into_card(CardId::from_uuid(moment.fresh.uuid()), Origin::Tool, moment.now)?;
    let id = card.id;
    commit.writes.push(Write::PutCard(Box::new(card)));
    Ok(Some(id))
}

const fn tool_status(status: BatchStatus) -> ToolStatus {
    match status {
        BatchStatus::Success => ToolStatus::Success,
        BatchStatus::Partial => ToolStatus::Partial,
        BatchStatus::Timeout => ToolStatus::Timeout,
        BatchStatus::Failed | BatchStatus::Running => ToolStatus::Failed,
    }
}
