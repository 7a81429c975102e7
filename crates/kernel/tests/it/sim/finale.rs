//! The end of a run: faults stop, everything is drained, and the store as a whole is looked at.

mod batches;
mod context;

use super::world::{World, caller, target};
use cardwire_kernel::{
    ClaimRequest, KernelError, Recover,
    protocol::{
        Rejection,
        turn::{
            Command, Fence, Proof,
            claim::LeaseKind,
            finish::{Deliverable, Finish},
        },
    },
};
use cardwire_model::{CanonicalJson, EventKind, Hash256, Status, TaskStatus, TurnId};
use cardwire_store::{EventFilter, RowFilter};
use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
    time::Duration,
};

/// NF-09: within the longest deadline and half a minute every turn is at its end.
const PATIENCE_SECONDS: i64 = 300 + 120 + 60;

/// Lets workers that make no mistakes finish what is left.
pub(super) async fn drain(world: Rc<World>) -> Result<(), String> {
    let (mut waited, mut last) = (0, usize::MAX);
    loop {
        let open = world.shared.observer.lock().unwrap().open_turns();
        if open == 0 && batches::are_done(&world).await {
            return Ok(());
        }
        if open < last {
            last = open;
            waited = 0;
        }
        if waited > PATIENCE_SECONDS {
            return Err(format!("invariant 11: {open} turns never ended: {}", left(&world).await));
        }
        let kernel = world.kernel();
        let tick = kernel.tick(None).await.map_err(|error| format!("drain: {error}"))?;
        batches::invariant_11_what_is_due_is_done(&world, tick.now).await?;
        let request = ClaimRequest {
            worker_target: target(),
            worker_id: "drain".to_owned(),
            max_turns: 100,
            wait: Duration::ZERO,
            projects: None,
            start: true,
            recover: Recover::Nothing,
            holding: vec![],
        };
        let leases =
            kernel.claim_now(&caller(), &request).await.map_err(|error| format!("drain: {error}"))?;
        if leases.is_empty() {
            world.shared.clock.advance(10);
            waited += 10;
        }
        for lease in leases {
            if lease.kind == LeaseKind::Stop {
                continue;
            }
            let secret = lease.turn.as_ref().map(|turn| turn.secret).unwrap_or_default();
            let finish = Finish {
                fence: Fence {
                    turn_id: lease.turn_id,
                    epoch: lease.epoch,
                    proof: Proof::Lease(Hash256::of(&secret)),
                },
                status: TaskStatus::Success,
                deliverable: Deliverable::Content(CanonicalJson::string("done").unwrap()),
                error: None,
                error_code: None,
                cards: vec![],
                step: None,
                replies: vec![],
                calls: vec![],
                remains: Default::default(),
            };
            let command = Command::Finish(Box::new(finish));
            match kernel.turn_command(&lease.project, &caller(), command, None).await {
                // A branch that was claimed together with the one that ended its batch.
                Ok(_) | Err(KernelError::Rejected(Rejection::StaleTurn(..))) => {}
                Err(error) => return Err(format!("drain: {error:?}")),
            }
        }
    }
}

/// What is not at its end, for whoever has to find out why.
async fn left(world: &World) -> String {
    let mut text = String::new();
    let places = world.places.borrow().clone();
    for place in places {
        for head in world.inner.heads(&place.project, None, 500).await.unwrap() {
            if head.live.is_some() || head.queued > 0 {
                text.push_str(&format!("\n{} {head:?}", place.project));
                if let Some(live) = &head.live {
                    let calls = world.inner.calls(&place.project, live.turn_id).await.unwrap();
                    text.push_str(&format!("\n{calls:?}"));
                }
            }
        }
        for item in world.inner.inbox(&place.project, &RowFilter::default(), None, 5_000).await.unwrap() {
            if item.status.is_open() {
                text.push_str(&format!("\n{} {item:?}", place.project));
            }
        }
    }
    text
}

/// Looks at everything that was written.
pub(super) async fn check(world: Rc<World>) -> Result<(), String> {
    let turns: HashSet<TurnId> = world.shared.observer.lock().unwrap().turn_ids().into_iter().collect();
    for (_, accepted) in world.accepted.borrow().iter() {
        if !turns.contains(accepted) {
            return Err(format!("invariant 12: {accepted} was accepted and is gone"));
        }
    }
    let places = world.places.borrow().clone();
    let mut tasks: HashMap<TurnId, u32> = HashMap::new();
    for place in &places {
        invariant_4_one_task_event_per_turn(&world, &place.project, &mut tasks).await?;
        invariant_11_nothing_is_left(&world, &place.project).await?;
        invariant_5_calls_and_results_pair_up(&world, &place.project).await?;
        context::invariant_19_every_history_makes_a_valid_request(&world, &place.project).await?;
        batches::check(&world, &place.project).await?;
        batches::invariant_18_trees_are_counted(&world, &place.project).await?;
    }
    for turn in &turns {
        match tasks.get(turn) {
            Some(1) => {}
            other => return Err(format!("invariant 4: {turn} has {other:?} task events")),
        }
    }
    Ok(())
}

async fn invariant_4_one_task_event_per_turn(
    world: &World,
    project: &cardwire_model::ProjectId,
    tasks: &mut HashMap<TurnId, u32>,
) -> Result<(), String> {
    let mut after = 0;
    loop {
        let page = world.inner.events(project, after, &EventFilter::default(), 500).await.unwrap();
        if page.is_empty() {
            return Ok(());
        }
        for event in page {
            // NF-08
            if event.position != after + 1 {
                return Err(format!("invariant 13: position {} follows {after}", event.position));
            }
            after = event.position;
            if event.event.kind == EventKind::AgentTask
                && let Some(turn) = event.event.turn_id
            {
                *tasks.entry(turn).or_default() += 1;
            }
        }
    }
}

async fn invariant_11_nothing_is_left(
    world: &World,
    project: &cardwire_model::ProjectId,
) -> Result<(), String> {
    let mut after = None;
    loop {
        let page = world.inner.heads(project, after.as_ref(), 500).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.agent_id.clone());
        if let Some(head) = page.iter().find(|head| head.status() != Status::Idle || head.queued != 0) {
            return Err(format!(
                "invariant 11: {} is {:?} with {} waiting",
                head.agent_id,
                head.status(),
                head.queued
            ));
        }
    }
    let mut before = None;
    loop {
        let page = world.inner.inbox(project, &RowFilter::default(), before, 500).await.unwrap();
        let Some(last) = page.last() else { return Ok(()) };
        before = Some(last.id);
        for item in &page {
            let is_hint = item.kind == cardwire_model::InboxKind::Stop;
            if item.status.is_open() && !is_hint {
                return Err(format!(
                    "invariant 11: row {} of {} is {:?}",
                    item.id, item.turn_id, item.status
                ));
            }
        }
    }
}

/// NF-05: in every output box each call is followed by exactly one result.
async fn invariant_5_calls_and_results_pair_up(
    world: &World,
    project: &cardwire_model::ProjectId,
) -> Result<(), String> {
    let mut after = None;
    loop {
        let page = world.inner.scan_boxes(project, after, 500).await.unwrap();
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(last.box_id);
        for head in page {
            let rows = world.inner.box_cards(project, head.box_id, head.generation, 0).await.unwrap();
            let mut open: HashSet<String> = HashSet::new();
            for card in rows.into_iter().filter_map(|row| row.card) {
                let Some(call) = card.tool_call_id.clone() else { continue };
                let fits = match card.kind.as_str() {
                    "tool.call" => open.insert(call.clone()),
                    // A turn may wait for a call that it never wrote down.
                    "tool.result" => open.remove(&call) || call.starts_with("none_"),
                    _ => true,
                };
                if !fits {
                    return Err(format!(
                        "invariant 5: {} of call {call} is out of place",
                        card.kind.as_str()
                    ));
                }
            }
            if let Some(call) = open.into_iter().next() {
                return Err(format!("invariant 5: call {call} has no result"));
            }
        }
    }
}
