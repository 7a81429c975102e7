//! The many-machine backend: PostgreSQL.
//!
//! A commit is one statement, hence one round trip; independent commits of one project that meet at the store share
//! a transaction. Reads open their transaction, name their tenant, select and end in one round trip. This crate
//! decides nothing: it is row codecs, one SQL function per write and a few selects.
//! Invariant: every statement on a tenant's rows runs as the app role, in a transaction that names the tenant, and
//! the server's row-level security lets nothing else through (SEC-04). [`PostgresStore::open`] proves that or fails.
//! What is looked for across tenants, or by an index that their rules shut out (`search.rs`), the system looks for.

mod batches;
mod catalog;
mod claim;
mod commit;
mod config;
mod error;
mod lexemes;
mod load;
mod migrate;
mod number;
mod pool;
mod pulse;
mod roles;
mod rows;
mod search;
mod selftest;
mod sequencer;
mod sessions;
mod sql;
mod store;
mod survey;
mod tenant;
mod tls;
mod turns;

pub use config::PostgresConfig;
pub use migrate::schema_checksum;
pub use store::PostgresStore;
