//! From what the driver and the server say to what a caller may conclude.
//!
//! Invariant: `Uncertain` is answered whenever a commit may have been applied, `Unavailable` only when it was not;
//! no message carries contents (the server quotes values in details and in messages about them).

use cardwire_model::Conflict;
use cardwire_store::{CommitError, Outage, StoreError};
use deadpool_postgres::PoolError;
use std::fmt::Display;
use tokio_postgres::{
    Error,
    error::{DbError, SqlState},
};

/// Raised by our own functions, with the name of the conflict as its message.
const CONFLICT: &str = "CW001";

const DISK_FULL: &str = "53100";
/// A server that was made read-only, or is a standby.
const READ_ONLY: &str = "25006";

pub(crate) fn unavailable(error: &impl Display) -> StoreError {
    StoreError::Unavailable(error.to_string())
}

pub(crate) fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".to_owned())
}

/// No connection: nothing was sent.
pub(crate) fn pool_error(error: PoolError) -> StoreError {
    match error {
        PoolError::Closed => closed(),
        PoolError::Backend(error) => match error.as_db_error() {
            Some(refusal) => StoreError::Unavailable(format!("cannot connect: {}", refusal.message())),
            None => StoreError::Unavailable(format!("cannot connect: {}", with_source(&error))),
        },
        PoolError::Timeout(_) => StoreError::Unavailable("no connection became free in time".to_owned()),
        PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_) => unavailable(&error),
    }
}

/// A read failed, or a write that the server surely rolled back.
pub(crate) fn store_error(error: Error) -> StoreError {
    match error.as_db_error() {
        Some(refusal) => server_error(refusal),
        // The connection is gone, or what came over it makes no sense.
        None => StoreError::Unavailable(with_source(&error)),
    }
}

/// A commit failed after it was sent.
pub(crate) fn commit_error(error: Error) -> CommitError {
    match error.as_db_error() {
        Some(refusal) => match conflict(refusal) {
            Some(conflict) => conflict.into(),
            None => server_error(refusal).into(),
        },
        None => StoreError::Uncertain(with_source(&error)).into(),
    }
}

/// Whether the server gave up for reasons of timing, so that the same statement may well pass now.
pub(crate) fn is_transient(error: &Error) -> bool {
    error.code().is_some_and(|code| {
        *code == SqlState::T_R_SERIALIZATION_FAILURE || *code == SqlState::T_R_DEADLOCK_DETECTED
    })
}

fn conflict(error: &DbError) -> Option<Conflict> {
    let name = if error.code().code() == CONFLICT {
        error.message()
    } else if *error.code() == SqlState::UNIQUE_VIOLATION {
        match error.constraint()? {
            "cards_pkey" => "card",
            "card_boxes_pkey" => "box",
            "box_entries_pkey" | "box_entries_by_card" => "entry",
            "resource_projects_pkey" => "project",
            "tokens_pkey" | "tokens_by_id" | "tokens_by_hash" => "token",
            "answers_pkey" => "answer",
            "audit_by_position" => "chain",
            "state_agent_state_head_pkey" => "head",
            "state_agent_inbox_pkey" | "state_agent_inbox_by_turn" => "inbox",
            "state_execution_edges_pkey" | "state_execution_edges_by_correlation" => "edge",
            "state_agent_steps_pkey" => "step",
            "state_tool_calls_pkey" => "call",
            "state_pmo_batches_pkey" | "state_pmo_batch_tasks_pkey" => "batch",
            "state_sessions_pkey" => "session",
            "resource_profiles_pkey"
            | "resource_project_agents_pkey"
            | "resource_documents_pkey"
            | "state_identity_edges_pkey" => "roster",
            _ => return None,
        }
    } else {
        return None;
    };
    match name {
        "card" => Some(Conflict::Card),
        "box" => Some(Conflict::Box),
        "entry" => Some(Conflict::Entry),
        "project" => Some(Conflict::Project),
        "token" => Some(Conflict::Token),
        "answer" => Some(Conflict::Answer),
        "chain" => Some(Conflict::Chain),
        "head" => Some(Conflict::Head),
        "inbox" => Some(Conflict::Inbox),
        "edge" => Some(Conflict::Edge),
        "step" => Some(Conflict::Step),
        "call" => Some(Conflict::Call),
        "batch" => Some(Conflict::Batch),
        "tree" => Some(Conflict::Tree),
        "open_turns" => Some(Conflict::OpenTurns),
        "session" => Some(Conflict::Session),
        "roster" => Some(Conflict::Roster),
        _ => None,
    }
}

fn server_error(error: &DbError) -> StoreError {
    let code = error.code().code();
    let text = match code.get(..2) {
        // Data exceptions and broken constraints quote the value.
        Some("22" | "23") => format!("SQLSTATE {code} in {}", error.table().unwrap_or("a statement")),
        _ => format!("{} (SQLSTATE {code})", error.message()),
    };
    match code {
        DISK_FULL => return StoreError::CannotWrite(Outage::DiskFull),
        READ_ONLY => return StoreError::CannotWrite(Outage::ReadOnly),
        // A page of a table or of an index that cannot be read.
        "XX001" | "XX002" => return StoreError::Damaged(text),
        _ => {}
    }
    match code.get(..2) {
        // Connection, resources (memory, connections), operator intervention (shutdown, timeout), IO.
        Some("08" | "53" | "57" | "58") => StoreError::Unavailable(text),
        // Given up for reasons of timing, again and again; or somebody holds a lock.
        Some("40" | "55") => StoreError::Unavailable(text),
        _ => StoreError::Internal(text),
    }
}

/// The driver's `Display` leaves the cause out.
fn with_source(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
