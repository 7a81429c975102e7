//! The fence: who may still write for a turn (DP-17, NF-03, SEC-02).
//!
//! Invariant 3: every write of a turn's holder goes through [`hold`], and the commit it leads to carries the guard of
//! the head it saw, so that a turn that ends in between changes nothing.

use crate::Rejection;
use cardwire_model::{
    BoxHead, Hash256, Head, Live, LiveState, ProjectId, Snapshot, Status, TurnEpoch, TurnId, TurnRows,
};

/// What a caller presents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// Which turn.
    pub turn_id: TurnId,
    /// At which epoch.
    pub epoch: TurnEpoch,
    /// Why the caller may speak for it.
    pub proof: Proof,
}

/// Why a caller may speak for a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// The caller may speak for any turn of the project.
    Operator,
    /// The caller knows the secret that came with the lease; this is its hash.
    Lease(Hash256),
}

/// A turn that the caller holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held<'a> {
    pub(crate) project: &'a ProjectId,
    pub(crate) head: &'a Head,
    pub(crate) live: &'a Live,
    pub(crate) rows: &'a TurnRows,
    pub(crate) output: Option<&'a BoxHead>,
}

/// The turn, if the caller holds it and it is in one of the states.
pub(crate) fn hold<'a>(
    snapshot: &'a Snapshot,
    project: &'a ProjectId,
    fence: &Fence,
    allowed: &[Status],
) -> Result<Held<'a>, Rejection> {
    let rows = turn_rows(snapshot, fence.turn_id)?;
    match &fence.proof {
        Proof::Operator => {}
        Proof::Lease(hash) if rows.item.token_hash == Some(*hash) => {}
        Proof::Lease(_) => return Err(Rejection::Unauthenticated),
    }
    let held = live(snapshot, project, fence.turn_id, fence.epoch)?;
    if !allowed.contains(&held.head.status()) {
        return Err(Rejection::Conflict(format!("the turn is {}", held.head.status().as_str())));
    }
    Ok(held)
}

/// Refuses a caller who does not hold the turn, or one that does not run: for work that is done before the command
/// itself is decided. It replaces no guard.
pub fn check_running(snapshot: &Snapshot, project: &ProjectId, fence: &Fence) -> Result<(), Rejection> {
    hold(snapshot, project, fence, &[Status::Running]).map(drop)
}

/// The live turn with this id and epoch, for the kernel's own commands.
pub(crate) fn live<'a>(
    snapshot: &'a Snapshot,
    project: &'a ProjectId,
    turn_id: TurnId,
    epoch: TurnEpoch,
) -> Result<Held<'a>, Rejection> {
    let rows = turn_rows(snapshot, turn_id)?;
    let Some(head) = &snapshot.head else {
        // A turn that has ended stays ended, whatever became of the head.
        let ended = rows.item.ended.is_some();
        return Err(if ended { stale(turn_id, epoch) } else { Rejection::Lost(rows.item.agent_id.clone()) });
    };
    match &head.live {
        Some(live) if live.turn_id == turn_id && head.epoch == epoch => {
            let output = snapshot.boxes.get(&live.output_box);
            Ok(Held { project, head, live, rows, output })
        }
        Some(_) | None => Err(stale(turn_id, epoch)),
    }
}

fn turn_rows(snapshot: &Snapshot, turn_id: TurnId) -> Result<&TurnRows, Rejection> {
    snapshot.turn.as_ref().ok_or_else(|| Rejection::not_found("turn", turn_id))
}

fn stale(turn_id: TurnId, epoch: TurnEpoch) -> Rejection {
    Rejection::StaleTurn(turn_id, epoch.get())
}

impl Held<'_> {
    /// The same head with its turn in another state.
    pub(crate) fn moved(&self, state: LiveState, now: cardwire_model::Timestamp) -> Head {
        moved(self.head, state, now)
    }
}

/// A head with its turn in another state.
pub(super) fn moved(head: &Head, state: LiveState, now: cardwire_model::Timestamp) -> Head {
    let mut head = head.clone();
    head.updated_at = now;
    if let Some(live) = &mut head.live {
        live.state = state;
    }
    head
}
