//! The nouns of Cardwire: ids, cards, boxes, projects, tokens, events, audit rows, and the [`Commit`] that
//! carries every change.
//!
//! This crate must not know IO, async, clocks or randomness: ids and times arrive as values.
//! Invariant: a value of a type in this crate is valid; construction is where bad input is refused.

pub mod asking;
pub mod audit;
pub mod batch;
pub mod builtin_tools;
pub mod cancel;
pub mod card;
pub mod card_box;
pub mod commit;
pub mod credential;
pub mod event;
pub mod graph;
pub mod hash;
pub mod idempotency;
pub mod ids;
pub mod inbox;
pub mod invalid;
pub mod json;
pub mod limits;
pub mod manifest;
pub mod message;
pub mod model_settings;
pub mod nearest;
pub mod passage;
pub mod path;
pub mod project;
pub mod resource;
pub mod roster;
pub mod schema;
pub mod session;
pub mod slug;
pub mod snapshot;
pub mod time;
pub mod todo;
pub mod token;
pub mod token_count;
pub mod trace;
pub mod turn;
pub mod web_address;

pub use audit::{AuditAction, AuditRow, AuditVerdict, ChainHead, NewAudit};
pub use batch::{Batch, BatchStatus, Branch, BranchEnd, BranchKey, BranchStatus, CloseReason, Grant, Sweep};
pub use builtin_tools::{BuiltinTools, built_in_tools, every_built_in_tool};
pub use cancel::{CancelFlag, Cancelled};
pub use card::{Card, CardDraft, CardKind, Origin, Role};
pub use card_box::{BoxHead, Entry, EntrySource, Generation, Item, NewBox, Segment};
pub use commit::{Commit, Conflict, Expect, Write};
pub use event::{Event, EventKind, NewEvent};
pub use graph::{Edge, EdgePhase, Primitive, Step, ToolAnswer, ToolCall};
pub use hash::{ByteHasher, Hash256};
pub use idempotency::{Answer, AnswerKey};
pub use ids::{BatchId, BoxId, CardId, EdgeId, EventId, InboxId, TokenId, TurnId};
pub use inbox::{Ended, InboxItem, InboxKind, InboxStatus, PayloadFault, TurnPayload};
pub use invalid::{Invalid, InvalidCode};
pub use json::CanonicalJson;
pub use manifest::{
    Cause, Layer, Manifest, ManifestEntry, Omission, Placement, Provider, Repair, Source, Stretch,
};
pub use message::{Message, Speaker};
pub use model_settings::{check_model_settings, model_params};
pub use nearest::nearest;
pub use passage::{Embedding, Passage, PassageKind, Shelf};
pub use path::{SafePath, UnsafePath};
pub use project::{
    ContextSettings, DelegationSettings, ExperienceSettings, InheritMode, KnowledgeSettings, OutputSettings,
    PmoSettings, Project, ProjectSettings, Realm, Revision, SingleWriter,
};
pub use resource::{Resource, ResourceKind};
pub use roster::{
    ALLOWED_INTERNAL_TOOLS, ALLOWED_TOOLS, Agent, BUILTIN_TOOLS, IdentityAction, IdentityEdge, MCP_SEPARATOR,
    PROFILE_KEYS, Profile, TOOL_LISTS, all_of_server, allows_tool, check_tool_entries, names_tool,
    names_tools, tool_entries,
};
pub use session::{Checkpoint, Former, Seen, Session, SessionKey};
pub use slug::{
    AgentId, Channel, Namespace, ProfileName, ProjectId, ResourceName, SessionId, StepId, ToolTarget,
    WorkerTarget,
};
pub use snapshot::{CardFact, Keys, Lost, Snapshot, TurnRows};
pub use time::Timestamp;
pub use todo::{Todo, TodoItem, TodoStatus};
pub use token::{Scope, Token, TokenEnd, TokenSecret};
pub use trace::{SpanId, TraceParent};
pub use turn::{Head, HeadGuard, Live, LiveState, Nudge, Status, TaskStatus, TurnEpoch};
pub use web_address::check_web_address;
