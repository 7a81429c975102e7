//! Fork: one commit makes the batch, its branches with their agents, contexts and turns, the caller's open call and the edge
//! that asks for the join (BM-04..BM-09).

use super::{
    args::Fork,
    branch,
    progress::{self, Facts, Next},
    state_event, view,
};
use crate::{
    Decision, Moment, RefusalCode, Rejection,
    handover::pack,
    pmo::{
        budget::Budget,
        calls::{self, Answered, Call},
        delegate::{self, Delegate, Strategy},
    },
    turn::{
        dispatch::{Receipt, depth_below},
        system_tool,
    },
};
use cardwire_model::{
    AgentId, Batch, BatchId, BatchStatus, Branch, BranchKey, BranchStatus, Commit, Edge, EdgeId, EdgePhase,
    Invalid, Live, Primitive, ProjectId, Snapshot, Timestamp, TurnId, Write, limits,
};
use serde_json::json;

/// What was read.
#[derive(Debug, Clone)]
pub struct Given {
    /// For each task, in order.
    pub tasks: Vec<delegate::Given>,
    /// The rows of the caller's live turn, if it has one.
    pub parent: Option<Snapshot>,
    /// The agents whose turns wait for the caller's, and the caller itself if it has a live turn.
    pub ancestors: Vec<AgentId>,
    /// Tokens that the caller's next request can still take, if its profile tells its window.
    pub left: Option<u64>,
    /// The same if that request leaves out all that it may. Of a turn that has asked a model: it will ask again when it has the
    /// result.
    pub at_most: Option<u64>,
    /// What the caller may still start.
    pub budget: Budget,
}

/// Forks.
pub fn decide(
    project: &ProjectId,
    call: &Call,
    tool_call_id: String,
    fork: &Fork,
    given: &Given,
    moment: &Moment,
) -> Result<Decision<Answered>, Rejection> {
    if fork.parallel > 0 && call.run.is_of_a_run() {
        // Branches that start later are started from their rows, which do not know it.
        return Err(
            Invalid::field("args/max_parallel", "cannot be given together with settings of the run").into()
        );
    }
    // All tasks have the same caller.
    let caller = given.tasks.first().map(|task| &task.parties);
    let head = caller.and_then(|caller| caller.caller_head.as_ref());
    let parent = head.and_then(|head| head.live.as_deref());
    // For all branches at once, before anything is made (DP-04).
    let depth = parent.map_or(Ok(0), |live| depth_below(live.depth, call.max_depth))?;
    check_cycles(fork, &given.ancestors)?;
    check_room(fork, call, &tool_call_id, given, moment)?;
    let mut commit = Commit::new(project.clone());
    given.budget.spend(&mut commit, fork.tasks.len() as u32)?;
    open_call(&mut commit, project, call, &tool_call_id, given, parent, moment)?;
    let batch = Batch {
        id: BatchId::from_uuid(moment.fresh.uuid()),
        parent_agent: call.caller.clone(),
        parent_turn: parent.map(|live| live.turn_id),
        parent_epoch: parent.and(head).map(|head| head.epoch),
        parent_call: tool_call_id.clone(),
        parent_step: caller.and_then(|caller| caller.caller_step.clone()),
        channel: call.channel.clone(),
        trace_id: call.trace_id.clone(),
        depth,
        branches: fork.tasks.len() as u32,
        fail_fast: fork.fail_fast,
        enough: fork.enough,
        parallel: fork.parallel,
        result_tokens: view::share(given.left, fork.tasks.len() as u32),
        deadline_at: fork
            .deadline
            .map(|micros| Timestamp::from_micros(moment.now.micros().saturating_add(micros))),
        created_at: moment.now,
        status: BatchStatus::Running,
        closing: None,
        result_card: None,
        closed_at: None,
    };
    commit.writes.push(Write::CreateBatch(Box::new(batch.clone())));
    commit.writes.push(Write::AddEdge(Box::new(join_edge(&batch, EdgePhase::Request, moment))));
    commit.events.push(state_event(&batch, moment));
    let inherited = given.tasks.iter().flat_map(|task| &task.inherited);
    pack::add_copies(&mut commit, inherited, moment.now);
    let before = commit.writes.len();
    for (index, (task, given)) in fork.tasks.iter().zip(&given.tasks).enumerate() {
        add_branch(&mut commit, call, &batch, index as u32, task, given, moment)?;
        if index == 0 {
            // The others are much alike.
            commit.writes.reserve((commit.writes.len() - before) * (fork.tasks.len() - 1));
        }
    }
    let result =
        json!({ "status": "accepted", "batch_id": batch.id.to_string(), "task_count": batch.branches });
    let outcome = Answered {
        tool_call_id,
        result_card: None,
        is_success: true,
        batch: Some(batch.id),
        is_due: is_due(&batch, &commit, moment.now),
        joined: None,
        result,
        refused: None,
    };
    Ok(Decision { commit, outcome })
}

/// Whether something is to be done with a batch as soon as it is made: no branch could be sent, say. Otherwise the first
/// branch that ends is what brings it on.
fn is_due(batch: &Batch, commit: &Commit, now: Timestamp) -> bool {
    let mut facts = Facts { batch, open: false, failed: false, succeeded: 0, dispatched: 0, pending: 0 };
    for write in &commit.writes {
        let Write::AddBranch(branch) = write else { continue };
        facts.open |= branch.status.is_open();
        facts.failed |= branch.status.is_failure();
        facts.dispatched += u32::from(branch.status == BranchStatus::Dispatched);
        let is_ready = branch.next_attempt_at.is_none_or(|at| at <= now);
        facts.pending += usize::from(branch.status == BranchStatus::Pending && is_ready);
    }
    progress::next(&facts, now) != Next::Nothing
}

/// Packing looks at every card that is inherited, once for each task: no call may keep the server at that for long.
pub fn check_inherited(cards: usize) -> Result<(), Invalid> {
    Invalid::check_size("args/tasks", cards, limits::FORK_CARDS, "inherited cards")
}

/// OB-03: a turn that could not go on once it has been told is not let in for that. Of one that has never asked a model nobody
/// knows that it will.
fn check_room(
    fork: &Fork,
    call: &Call,
    tool_call_id: &str,
    given: &Given,
    moment: &Moment,
) -> Result<(), Rejection> {
    let Some(left) = given.at_most else { return Ok(()) };
    let branches = fork.tasks.len() as u32;
    // A call that the turn has made is part of what it has taken.
    let own = match call.carries_out {
        Some(_) => 0,
        None => u64::from(calls::call_card(call, tool_call_id, moment)?.tokens),
    };
    let needed = view::least(branches).saturating_add(own);
    if needed > left {
        let message = format!(
            "the call and the results of {branches} tasks take at least {needed} tokens, and the caller's next request has \
             room for {left}"
        );
        return Err(Rejection::refused(RefusalCode::ResultBudgetExceeded, message));
    }
    Ok(())
}

/// A branch whose agent waits for the caller would wait for ever.
fn check_cycles(fork: &Fork, ancestors: &[AgentId]) -> Result<(), Rejection> {
    for (index, task) in fork.tasks.iter().enumerate() {
        let waits = |agent: &AgentId| agent.as_str() == task.target_ref;
        if task.strategy == Strategy::Reuse
            && let Some(above) = ancestors.iter().position(waits)
        {
            let agent = &task.target_ref;
            let message =
                format!("args.tasks.{index}: agent {agent} waits for this call, {above} turns above");
            return Err(Rejection::refused(RefusalCode::AncestorCycle, message));
        }
    }
    Ok(())
}

/// The call is a card of the caller's turn, which has it open until the join; without a turn it is a card by itself.
fn open_call(
    commit: &mut Commit,
    project: &ProjectId,
    call: &Call,
    tool_call_id: &str,
    given: &Given,
    parent: Option<&Live>,
    moment: &Moment,
) -> Result<(), Rejection> {
    let card = || calls::call_card(call, tool_call_id, moment);
    match (&given.parent, parent) {
        (Some(rows), Some(live)) if call.carries_out.is_some() => {
            commit.append(system_tool::begin(rows, project, live.turn_id, tool_call_id, moment)?);
        }
        (Some(rows), Some(live)) => {
            commit.append(system_tool::open(rows, project, live.turn_id, tool_call_id, card()?, moment)?);
        }
        (_, None) => commit.writes.push(Write::PutCard(Box::new(card()?))),
        (None, Some(live)) => return Err(Rejection::not_found("turn", live.turn_id)),
    }
    // It is older than the edge that asks for the join.
    for write in &mut commit.writes {
        if let Write::AddEdge(edge) = write {
            edge.created_at = just_before(moment);
        }
    }
    Ok(())
}

/// The refusal of a task, as one of the call that has several (BM-01).
pub fn of_task(index: usize, rejection: Rejection) -> Rejection {
    let Rejection::Invalid(invalid) = rejection else { return rejection };
    let place = invalid.field_name().strip_prefix("args/").map(|rest| format!("args/tasks/{index}/{rest}"));
    Rejection::Invalid(match place {
        Some(place) => invalid.at(place),
        None => invalid,
    })
}

/// The half of the exchange that asks for the join, or the one that answers (BM-07, BM-16).
pub(super) fn join_edge(batch: &Batch, phase: EdgePhase, moment: &Moment) -> Edge {
    let parent = (Some(batch.parent_agent.clone()), batch.parent_turn);
    let (source, target) = match phase {
        EdgePhase::Request => (parent, (None, None)),
        EdgePhase::Response => ((None, None), parent),
    };
    Edge {
        id: EdgeId::from_uuid(moment.fresh.uuid()),
        primitive: Primitive::Join,
        phase,
        correlation_id: batch.id.to_string(),
        source_agent: source.0,
        source_turn: source.1,
        target_agent: target.0,
        target_turn: target.1,
        depth: batch.depth.saturating_sub(1),
        trace_id: batch.trace_id.clone(),
        parent_step: batch.parent_step.clone(),
        inbox_id: None,
        request_hash: None,
        created_at: match phase {
            EdgePhase::Request => just_before(moment),
            EdgePhase::Response => moment.now,
        },
    }
}

/// Whoever sorts edges by time finds those of the call before those of the children, which are made in the same moment (BM-07).
fn just_before(moment: &Moment) -> Timestamp {
    Timestamp::from_micros(moment.now.micros() - 1)
}

/// A branch with everything it needs. Whoever cannot be given the work at all makes the branch fail, nothing else (BM-10).
fn add_branch(
    commit: &mut Commit,
    call: &Call,
    batch: &Batch,
    index: u32,
    task: &Delegate,
    given: &delegate::Given,
    moment: &Moment,
) -> Result<(), Rejection> {
    let key = BranchKey { batch_id: batch.id, index };
    let turn = TurnId::from_uuid(moment.fresh.uuid());
    let mut made = Commit::new(commit.realm.clone());
    let prepared = delegate::prepare(&mut made, call, task, given, moment)?;
    let blank = Branch {
        key,
        status: BranchStatus::Pending,
        agent_id: Some(prepared.agent.id.clone()),
        turn_id: Some(turn),
        epoch: None,
        context_box: Some(prepared.context.box_id),
        output_box: None,
        attempts: 0,
        next_attempt_at: None,
        deliverable: None,
        error_detail: None,
        error_code: None,
        warning: None,
        created_at: moment.now,
        updated_at: moment.now,
    };
    let waits = batch.parallel > 0 && index >= batch.parallel;
    let row = if waits {
        commit.append(made);
        blank
    } else {
        let tried = delegate::dispatch_to(
            &mut made,
            call,
            &batch.parent_call,
            given,
            &prepared,
            Some((key, turn)),
            moment,
        );
        match tried {
            Ok(receipt) => {
                commit.append(made);
                dispatched(blank, &receipt)
            }
            Err(Rejection::Refused(refusal)) => {
                // Asked again, it would be started from its row, which does not know the settings of the run.
                let is_the_end = call.run.is_of_a_run();
                let row = if is_the_end { branch::failed } else { branch::refused }(&blank, &refusal, moment);
                if row.status == BranchStatus::Pending {
                    commit.append(made);
                    row
                } else {
                    let agent_id = row.agent_id.filter(|_| task.strategy == Strategy::Reuse);
                    Branch { agent_id, turn_id: None, context_box: None, ..row }
                }
            }
            Err(rejection) => return Err(rejection),
        }
    };
    commit.writes.push(Write::AddBranch(Box::new(row)));
    Ok(())
}

/// The branch, its turn in the inbox.
pub(super) fn dispatched(branch: Branch, receipt: &Receipt) -> Branch {
    Branch {
        status: BranchStatus::Dispatched,
        turn_id: Some(receipt.turn_id),
        epoch: receipt.epoch,
        output_box: Some(receipt.output_box),
        attempts: branch.attempts + 1,
        next_attempt_at: None,
        ..branch
    }
}

#[cfg(test)]
mod tests;
