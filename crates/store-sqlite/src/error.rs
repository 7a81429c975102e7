//! From SQLite's errors to the contract's: what may a caller conclude about what was written?

use cardwire_model::Conflict;
use cardwire_store::{CommitError, Outage, StoreError};
use rusqlite::{Error, ErrorCode};

/// How a write failed. Every failure is certain: a transaction that did not commit left nothing.
pub(crate) fn store_error(error: Error) -> StoreError {
    match outage(&error) {
        Some(outage) => {
            tracing::debug!(%error, code = error.sqlite_error().map(|error| error.extended_code), "a write failed");
            StoreError::CannotWrite(outage)
        }
        None => failure(error),
    }
}

/// How a read failed: the same fault says nothing about writing.
pub(crate) fn read_error(error: Error) -> StoreError {
    match outage(&error) {
        Some(_) => StoreError::Unavailable(error.to_string()),
        None => failure(error),
    }
}

/// What a person could do something about.
fn outage(error: &Error) -> Option<Outage> {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Some(Outage::DiskFull),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Some(Outage::ReadOnly),
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => Some(Outage::DiskError),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Some(Outage::Locked),
        Some(_) | None => None,
    }
}

fn failure(error: Error) -> StoreError {
    let message = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Damaged(message),
        None if is_damage(&error) => StoreError::Damaged(message),
        Some(_) | None => StoreError::Internal(message),
    }
}

/// Whether a row holds what its reader cannot read.
pub(crate) const fn is_damage(error: &Error) -> bool {
    matches!(
        error,
        Error::FromSqlConversionFailure(..)
            | Error::InvalidColumnType(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::Utf8Error(..)
    )
}

/// A unique key that is taken means that somebody else was first.
pub(crate) fn write_error(error: Error, taken: Conflict) -> CommitError {
    if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) {
        CommitError::Conflict(taken)
    } else {
        CommitError::Store(store_error(error))
    }
}
