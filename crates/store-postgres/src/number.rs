//! Numbers to and from `bigint`. What is stored was checked before; what does not fit is a damaged row.

use cardwire_store::StoreError;

/// A counter or limit as the server takes it. No counter of ours reaches 2^63.
pub(crate) fn to_bigint(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A page size as the server takes it.
pub(crate) fn to_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// The reverse: a stored number in the type it was written from.
pub(crate) fn from_stored<T: TryFrom<i64>>(number: i64, what: &str) -> Result<T, StoreError> {
    T::try_from(number).map_err(|_| StoreError::Damaged(format!("{what} is out of range")))
}
