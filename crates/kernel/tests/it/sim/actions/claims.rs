//! Workers claim turns, or wait in line for them.

use super::{did, fail};
use crate::sim::{
    faults::Fault,
    store::pause,
    world::{Held, WORKERS, World, caller, target},
};
use cardwire_kernel::{
    ClaimRequest, KernelError, Recover,
    protocol::turn::claim::{Lease, LeaseKind},
};
use cardwire_model::{InboxKind, InboxStatus, Status};
use cardwire_store::RowFilter;
use std::{rc::Rc, time::Duration};

pub(super) async fn claim(world: Rc<World>) {
    let worker = world.shared.below(WORKERS);
    if world.paused.borrow()[worker] > 0 {
        return;
    }
    let rung = {
        let mut rings = world.shared.rings.lock().unwrap();
        match rings.pop_front() {
            Some((0, _)) => true,
            Some((late, target)) => {
                rings.push_back((late - 1, target));
                false
            }
            None => false,
        }
    };
    if !rung && !world.shared.chance(200) {
        return wait_in_line(world, worker).await;
    }
    let mut request = request(&world, worker);
    let is_lost = world.shared.strikes(Fault::LeaseLost, 30);
    if is_lost {
        // A worker of its own, which asks for nothing else meanwhile.
        request.worker_id = format!("lost {}", world.kernel().ids().uuid());
    }
    if world.shared.chance(300) {
        request.recover = Recover::Target;
        // What goes wrong there is done by the next one.
        let _ = world.kernel().take_silent(&caller(), &request).await;
    }
    let Ok(leases) = world.kernel().claim_now(&caller(), &request).await else { return };
    if is_lost {
        return recover(&world, &request, &leases).await;
    }
    take(&world, worker, &request, leases);
}

/// F-32: the answer with these leases was lost, and the worker asks again.
async fn recover(world: &World, request: &ClaimRequest, lost: &[Lease]) {
    for _ in 0..world.shared.below(60) {
        pause().await;
    }
    for _ in 0..5 {
        match world.kernel().recover(&caller(), request).await {
            Ok(()) => {
                if lost.iter().any(|lease| lease.kind == LeaseKind::Resume) && !request.start {
                    did(world, "recover resume");
                }
                return invariant_20_nothing_stays_with_a_worker_that_does_not_know_of_it(world, request)
                    .await;
            }
            Err(KernelError::Store(_) | KernelError::Contended) => {}
            Err(error) => return fail(world, format!("recover: {error:?}")),
        }
    }
}

async fn invariant_20_nothing_stays_with_a_worker_that_does_not_know_of_it(
    world: &World,
    request: &ClaimRequest,
) {
    let filter = RowFilter { inbox_status: Some(InboxStatus::Processing), ..RowFilter::default() };
    let places = world.places.borrow().clone();
    for place in places {
        let rows = world.inner.inbox(&place.project, &filter, None, 5_000).await.unwrap();
        for row in rows.iter().filter(|row| row.worker_id.as_deref() == Some(&request.worker_id)) {
            let Some(head) = world.inner.head(&place.project, &row.agent_id).await.unwrap() else { continue };
            // What is left of a turn that was taken away meanwhile keeps nobody waiting.
            let is_live = head.live.as_ref().is_some_and(|live| live.turn_id == row.turn_id)
                && row.epoch == Some(head.epoch);
            let waits = row.kind == InboxKind::Turn && head.status() == Status::Suspended;
            if is_live && !waits {
                fail(world, format!("invariant 20: {row:?} stays with a worker that does not know of it"));
            }
        }
    }
}

fn request(world: &World, worker: usize) -> ClaimRequest {
    ClaimRequest {
        worker_target: target(),
        worker_id: format!("w{worker}"),
        max_turns: 1 + world.shared.below(3),
        wait: Duration::ZERO,
        projects: None,
        start: world.shared.chance(500),
        recover: Recover::Nothing,
        holding: vec![],
    }
}

/// A worker waits for a while for turns to come, without looking.
async fn wait_in_line(world: Rc<World>, worker: usize) {
    let (kernel, request) = (world.kernel(), request(&world, worker));
    let place = kernel.stand_in_line(&request, request.max_turns);
    for _ in 0..world.shared.below(60) {
        pause().await;
    }
    let leases = kernel.leave_line(place, &[]).await.pass_on();
    if !leases.is_empty() {
        did(&world, "claim at once");
    }
    take(&world, worker, &request, leases);
}

/// A worker is given what it has claimed.
fn take(world: &World, worker: usize, request: &ClaimRequest, leases: Vec<Lease>) {
    for lease in leases {
        world.shared.observer.lock().unwrap().invariant_10_a_lease_is_given_once(&lease);
        if lease.kind == LeaseKind::Stop {
            let mut workers = world.workers.borrow_mut();
            workers[worker].retain(|held| held.lease.turn_id != lease.turn_id);
            continue;
        }
        let held = Held { running: request.start, lease, calls: vec![], forks: vec![], steps: 0 };
        if request.start && held.lease.kind == LeaseKind::Resume {
            did(world, "resume");
        }
        world.workers.borrow_mut()[worker].push(held);
    }
}
