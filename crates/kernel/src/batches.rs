//! Batches: what follows from the end of a branch or the stop of a turn, in this process at once and by the watchdog if
//! that is interrupted. Every step is a commit decided by `protocol`; whoever is second finds nothing left to do.

mod follow;
mod fork;
mod look;
mod reads;
mod sweep;

pub(crate) use follow::{FollowUp, Looks};
pub(crate) use fork::of_task;
pub use reads::BatchView;
