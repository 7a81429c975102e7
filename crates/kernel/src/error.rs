//! How a call to the kernel can end other than well.

use cardwire_model::TokenEnd;
use cardwire_protocol::Rejection;
use cardwire_store::StoreError;
use thiserror::Error;

/// Nothing was done, and why.
#[derive(Debug, Error)]
pub enum KernelError {
    /// An expected "no".
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// No token, or one that opens nothing.
    #[error("a valid bearer token is required")]
    Unauthenticated,
    /// The token opens nothing any more. Only its holder is told.
    #[error("a valid bearer token is required; this one {0}")]
    TokenEnded(TokenEnd),
    /// Too many calls wait for the PMO (PM-17).
    #[error("{0} calls wait for the PMO already")]
    QueueFull(usize),
    /// Too much work of the project waits for a processor (SEC-07).
    #[error("{0} long computations of this project wait for a processor already; try again in a moment")]
    Crowded(usize),
    /// The embedding provider failed.
    #[error("the embedding provider failed: {0}")]
    Retriever(String),
    /// Other writers kept getting in between.
    #[error("too many writers are changing the same row; try again")]
    Contended,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<cardwire_model::Invalid> for KernelError {
    fn from(invalid: cardwire_model::Invalid) -> Self {
        Self::Rejected(invalid.into())
    }
}
