//! Batches at the end of a run: all closed, all branches ended, nothing left to sweep, and told as they are.

use crate::sim::{observer::wrong_entries, world::World};
use cardwire_model::{Batch, BatchStatus, Branch, BranchStatus, EdgePhase, Primitive, ProjectId, Timestamp};
use cardwire_store::{BatchFilter, RowFilter};
use std::collections::HashMap;

/// What a round of the watchdog must have seen to, when nothing goes wrong (BM-13, BM-18).
pub(super) async fn invariant_11_what_is_due_is_done(world: &World, now: Timestamp) -> Result<(), String> {
    for (project, id) in world.inner.running_batches(None, 1_000).await.unwrap() {
        let Some(batch) = world.inner.batch(&project, id).await.unwrap() else { continue };
        let branches = world.inner.branches(&project, id, 0, 1_000).await.unwrap();
        let count = |wanted: fn(BranchStatus) -> bool| {
            branches.iter().filter(|branch| wanted(branch.status)).count() as u32
        };
        let due = if batch.closing.is_some() {
            "is being closed"
        } else if count(BranchStatus::is_open) == 0 {
            "has no open branch"
        } else if batch.fail_fast && count(BranchStatus::is_failure) > 0 {
            "has a branch that failed"
        } else if batch.enough > 0 && count(|status| status == BranchStatus::Success) >= batch.enough {
            "has branches enough"
        } else if batch.deadline_at.is_some_and(|deadline| deadline < now) {
            "has no time left"
        } else {
            continue;
        };
        return Err(format!("invariant 11: {id} {due} and is not closed"));
    }
    Ok(())
}

/// Whether nothing is left to be done with batches.
pub(super) async fn are_done(world: &World) -> bool {
    let running = world.inner.running_batches(None, 1).await.unwrap();
    let sweeps = world.inner.sweeps(None, 1).await.unwrap();
    running.is_empty() && sweeps.is_empty()
}

/// Looks at all batches of a project.
pub(super) async fn check(world: &World, project: &ProjectId) -> Result<(), String> {
    let joins = joins(world, project).await;
    let mut before = None;
    loop {
        let page = world.inner.batches(project, &BatchFilter::default(), before, 500).await.unwrap();
        let Some(last) = page.last() else { break };
        before = Some(last.id);
        for batch in &page {
            let branches = world.inner.branches(project, batch.id, 0, 1_000).await.unwrap();
            let count = joins.get(&batch.id.to_string()).copied().unwrap_or(0);
            invariant_14_a_batch_is_joined_once(world, project, batch, &branches, count).await?;
            invariant_15_branches_are_as_they_were_seen(world, &branches)?;
            invariant_16_nothing_goes_on(world, project, batch, &branches).await?;
        }
    }
    if let Some((_, sweep)) = world.inner.sweeps(None, 1).await.unwrap().first() {
        return Err(format!("invariant 16: {sweep:?} is left to be done"));
    }
    Ok(())
}

/// Joins that were answered, by batch.
async fn joins(world: &World, project: &ProjectId) -> HashMap<String, u32> {
    let filter = RowFilter {
        primitive: Some(Primitive::Join),
        phase: Some(EdgePhase::Response),
        ..RowFilter::default()
    };
    let (mut joins, mut before) = (HashMap::new(), None);
    loop {
        let page = world.inner.edges(project, &filter, before, 500).await.unwrap();
        let Some(last) = page.last() else { return joins };
        before = Some(last.id);
        for edge in page {
            *joins.entry(edge.correlation_id).or_default() += 1;
        }
    }
}

async fn invariant_14_a_batch_is_joined_once(
    world: &World,
    project: &ProjectId,
    batch: &Batch,
    branches: &[Branch],
    joins: u32,
) -> Result<(), String> {
    let id = batch.id;
    let results = world.shared.observer.lock().unwrap().results_of(&batch.parent_call);
    if batch.status == BatchStatus::Running || joins != 1 || results != 1 {
        let status = batch.status.as_str();
        return Err(format!("invariant 14: {id} is {status}, with {joins} joins and {results} results"));
    }
    if !branches.iter().map(|branch| branch.key.index).eq(0..batch.branches) {
        return Err(format!("invariant 14: {id} has not all its branches"));
    }
    let Some(card) = batch.result_card else { return Ok(()) };
    let cards = world.inner.cards(project, &[card]).await.unwrap();
    let [card] = cards.as_slice() else { return Err(format!("invariant 14: {id} has lost its result")) };
    let statuses: Vec<BranchStatus> = branches.iter().map(|branch| branch.status).collect();
    wrong_entries(batch, &statuses, card)
        .map_or(Ok(()), |wrong| Err(format!("invariant 14: {id} was told with {wrong}")))
}

fn invariant_15_branches_are_as_they_were_seen(world: &World, branches: &[Branch]) -> Result<(), String> {
    let observer = world.shared.observer.lock().unwrap();
    for branch in branches.iter().filter(|_| observer.ordered) {
        let seen = observer.branch_status(branch.key);
        if seen != Some(branch.status) {
            return Err(format!("invariant 15: {:?} is {:?}, not {seen:?}", branch.key, branch.status));
        }
    }
    Ok(())
}

async fn invariant_16_nothing_goes_on(
    world: &World,
    project: &ProjectId,
    batch: &Batch,
    branches: &[Branch],
) -> Result<(), String> {
    if let Some(open) = branches.iter().find(|branch| branch.status.is_open()) {
        return Err(format!("invariant 16: {:?} never ended", open.key));
    }
    let open = world.inner.open_branches(project, batch.id, 0, 1).await.unwrap();
    match open.first() {
        Some((_, turn)) => Err(format!("invariant 16: {turn} of {} goes on", batch.id)),
        None => Ok(()),
    }
}

/// A counter per root says how many turns were started below it.
pub(super) async fn invariant_18_trees_are_counted(world: &World, project: &ProjectId) -> Result<(), String> {
    // Who was started by whom is only known where commits are seen in order.
    let roots = {
        let observer = world.shared.observer.lock().unwrap();
        if observer.ordered { observer.roots(project) } else { vec![] }
    };
    for (root, started) in roots {
        let spent = world.inner.spent(project, root).await.unwrap();
        if spent != started {
            return Err(format!("invariant 18: {started} turns were started below {root}, {spent} counted"));
        }
    }
    Ok(())
}
