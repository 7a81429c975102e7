//! The wire contract: request and response bodies, error codes, the table of endpoints and the OpenAPI document
//! made from it. The only place where JSON field names are decided.
//!
//! This crate must not know HTTP servers, stores or decisions: it turns wire values into model values and back.
//! Invariant: every endpoint that is served is in [`endpoints::ENDPOINTS`], with its access rule.

pub mod access;
pub mod batches;
pub mod boxes;
pub mod calls;
pub mod cards;
pub mod chunks;
pub mod claim;
pub mod collect;
pub mod compose;
pub mod cost;
pub mod dispatch;
pub mod documents;
pub mod endpoints;
pub mod error;
pub mod events;
pub mod experience;
pub mod explain;
pub mod finish;
pub mod forks;
pub mod handed;
pub mod handoffs;
pub mod handover;
pub mod knowledge;
mod list;
pub mod messages;
pub mod openapi;
pub mod parse;
pub mod pmo;
pub mod pmo_args;
pub mod projects;
pub mod questions;
pub mod reports;
pub mod roster;
pub mod runs;
pub mod sessions;
pub mod state;
pub mod survey;
pub mod system;
pub mod teams;
pub mod tokens;
pub mod turn_token;
pub mod turns;
pub mod verbs;
pub mod view;
pub mod workspace;
pub mod yaml;

pub use access::Access;
pub use endpoints::{ENDPOINTS, Endpoint, Op};
pub use error::{ErrorBody, ErrorCode};
