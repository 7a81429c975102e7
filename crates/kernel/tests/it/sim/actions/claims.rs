//! Workers claim turns, or wait in line for them.

use super::did;
use crate::sim::{
    store::pause,
    world::{Held, WORKERS, World, caller, target},
};
use cardwire_kernel::{
    ClaimRequest,
    protocol::turn::claim::{Lease, LeaseKind},
};
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
    let request = request(&world, worker);
    let Ok(leases) = world.kernel().claim_now(&caller(), &request).await else { return };
    take(&world, worker, &request, leases);
}

fn request(world: &World, worker: usize) -> ClaimRequest {
    ClaimRequest {
        worker_target: target(),
        worker_id: format!("w{worker}"),
        max_turns: 1 + world.shared.below(3),
        wait: Duration::ZERO,
        projects: None,
        start: world.shared.chance(500),
        recover: false,
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
