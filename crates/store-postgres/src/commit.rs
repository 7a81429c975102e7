//! Commits on their way to the server.
//!
//! [`Payload`] is a commit in the shape of its statement; [`Batch`] is one or more of them as parameters; [`Lanes`]
//! decides which commits travel together. None of them knows what a commit is for.

mod batch;
mod lanes;
mod payload;
mod queue;
mod rest;
mod row;

pub(crate) use lanes::Lanes;
