//! The nouns of Cardwire: ids, cards, boxes, projects, tokens, events, audit rows, and the [`Commit`] that
//! carries every change.
//!
//! This crate must not know IO, async, clocks or randomness: ids and times arrive as values.
//! Invariant: a value of a type in this crate is valid; construction is where bad input is refused.

pub mod audit;
pub mod card;
pub mod card_box;
pub mod commit;
pub mod credential;
pub mod event;
pub mod hash;
pub mod idempotency;
pub mod ids;
pub mod invalid;
pub mod json;
pub mod limits;
pub mod project;
pub mod slug;
pub mod snapshot;
pub mod time;
pub mod token;
pub mod token_count;

pub use audit::{AuditAction, AuditRow, AuditVerdict, ChainHead, NewAudit};
pub use card::{Card, CardDraft, CardKind, Origin, Role};
pub use card_box::{BoxHead, Entry, EntrySource, Generation, Item, NewBox, Segment};
pub use commit::{Commit, Conflict, Expect, Write};
pub use event::{Event, EventKind, NewEvent};
pub use hash::Hash256;
pub use idempotency::{Answer, AnswerKey};
pub use ids::{BoxId, CardId, EventId, TokenId};
pub use invalid::Invalid;
pub use json::CanonicalJson;
pub use project::{Project, ProjectSettings, Realm, Revision};
pub use slug::{AgentId, ProjectId};
pub use snapshot::{CardFact, Keys, Snapshot};
pub use time::Timestamp;
pub use token::{Scope, Token, TokenSecret};
