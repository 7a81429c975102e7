//! Commits on their way to the server.
//!
//! [`Payload`](payload::Payload) is a commit in the shape of its statement; a batch is one or more of them as
//! parameters; [`Lanes`] decides which commits travel together. None of them knows what a commit is for.

mod batch;
mod lanes;
mod passages;
mod payload;
mod pmo;
mod queue;
mod rest;
mod row;
mod sessions;
mod stages;

pub(crate) use batch::Alone;
pub(crate) use lanes::Lanes;
