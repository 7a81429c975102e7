//! From SQLite's errors to the contract's: what may a caller conclude about what was written?

use cardwire_model::Conflict;
use cardwire_store::{CommitError, StoreError};
use rusqlite::{Error, ErrorCode};

/// Every SQLite failure is certain: a transaction that did not commit left nothing.
pub(crate) fn store_error(error: Error) -> StoreError {
    let message = error.to_string();
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DiskFull
            | ErrorCode::ReadOnly
            | ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::PermissionDenied,
        ) => StoreError::Unavailable(message),
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
