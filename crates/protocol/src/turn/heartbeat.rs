//! Heartbeat: the holder of a turn shows that it is alive (WD-05).

use super::{
    Outcome,
    fence::{self, Fence},
    work::Work,
};
use crate::{Decision, Moment, Rejection};
use cardwire_model::{ProjectId, Snapshot, Status};

/// Moves nothing but the time the turn was last seen.
pub fn decide(
    snapshot: &Snapshot,
    project: &ProjectId,
    fence: &Fence,
    moment: &Moment,
) -> Result<Decision<Outcome>, Rejection> {
    let held =
        fence::hold(snapshot, project, fence, &[Status::Dispatched, Status::Running, Status::Suspended])?;
    let mut work = Work::new(held, moment);
    work.nudge.seen = Some(moment.now);
    Ok(work.stay(Outcome::Alive))
}
