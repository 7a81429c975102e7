//! Handlers, one file per noun: parse, one kernel call, answer.

pub(crate) mod agents;
pub(crate) mod batches;
pub(crate) mod boxes;
pub(crate) mod calls;
pub(crate) mod cards;
pub(crate) mod context;
pub(crate) mod documents;
pub(crate) mod experience;
pub(crate) mod forks;
mod handoff_root;
pub(crate) mod handoffs;
pub(crate) mod knowledge;
pub(crate) mod pmo;
pub(crate) mod profiles;
pub(crate) mod projects;
pub(crate) mod sessions;
pub(crate) mod state;
pub(crate) mod survey;
pub(crate) mod system;
pub(crate) mod teams;
pub(crate) mod tokens;
pub(crate) mod turns;
pub(crate) mod worker;
pub(crate) mod workspace;

use crate::request::Request;
use axum::http::StatusCode;
use cardwire_kernel::protocol::facts;
use cardwire_model::{Invalid, limits};
use serde::Serialize;
use std::hash::Hash;

/// The answer to remember: what will be sent, as text.
fn remembered<T: Serialize>(status: StatusCode, body: &T) -> Option<(u16, String)> {
    serde_json::to_string(body).ok().map(|text| (status.as_u16(), text))
}

/// The cursor of the page after this one, if there may be one.
fn next_cursor<T>(page: &[T], limit: usize, cursor: impl Fn(&T) -> String) -> Option<String> {
    if page.len() < limit { None } else { page.last().map(cursor) }
}

/// The cursor of a list whose rows have places.
fn place(request: &Request) -> Result<Option<u64>, Invalid> {
    let place = request.text("cursor").map(str::parse).transpose();
    place.map_err(|_| Invalid::field("cursor", "must be a `next_cursor`"))
}

/// The distinct ids in request order, at most as many as one batch may read.
fn distinct<T: Copy + Eq + Hash>(field: &str, ids: &[T]) -> Result<Vec<T>, Invalid> {
    let distinct = facts::distinct(ids);
    if distinct.len() > limits::BATCH_IDS {
        let reason = format!("at most {} distinct ids, got {}", limits::BATCH_IDS, distinct.len());
        return Err(Invalid::field(field, reason));
    }
    Ok(distinct)
}
