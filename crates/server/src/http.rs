//! Handlers, one file per noun: parse, one kernel call, answer.

pub(crate) mod boxes;
pub(crate) mod cards;
pub(crate) mod projects;
pub(crate) mod system;
pub(crate) mod tokens;

use axum::http::StatusCode;
use cardwire_kernel::protocol::facts;
use cardwire_model::{Invalid, limits};
use serde::Serialize;
use std::hash::Hash;

/// The answer to remember: what will be sent, as text.
fn remembered<T: Serialize>(status: StatusCode, body: &T) -> Option<(u16, String)> {
    serde_json::to_string(body).ok().map(|text| (status.as_u16(), text))
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
