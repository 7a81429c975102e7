//! Tokens (SEC-02): minting and revoking.

pub mod mint;
pub mod revoke;
