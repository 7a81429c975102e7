//! The L0 shell: load → decide → commit → tell. It owns the clock, the id source, retries, caches and background
//! tasks, and decides nothing itself.
//!
//! This crate must not know a concrete store, HTTP or JSON bodies.
//! Invariant: every change goes through [`Kernel`] as one [`cardwire_model::Commit`] made by `cardwire_protocol`.

mod access;
mod background;
mod batches;
mod boxes;
mod cache;
mod cards;
pub mod clock;
mod context;
pub mod doorbell;
mod error;
mod events;
mod execute;
mod facts;
mod follow;
mod forks;
mod handoffs;
mod handover;
pub mod ids;
mod inside;
mod kernel;
mod measure;
mod patience;
mod pmo;
mod projects;
mod pure_pool;
mod resources;
mod sessions;
pub mod spawn;
mod survey;
mod telemetry;
mod tokens;
mod turns;
mod unasked;
mod verify;

pub use batches::BatchView;
pub use boxes::{BoxCards, BoxView, ReadCards};
pub use context::{
    CallEntry, CallRequest, CollectRequest, Collected, ComposedCall, ContextConfig, ContextProvider, CostBy,
    CostQuery, Document, Embedder, ExpandedCall, FoundSection, FoundSections, KnowledgeQuery, Noted,
    ProviderError, ProviderRequest, Purpose, RenderedCall, Reranker, Saved, Side, SourceView, WhyAnswer,
    WouldSend,
};
pub use error::KernelError;
pub use execute::{Caller, Done, Remember};
pub use facts::NewCard;
pub use follow::Follower;
pub use forks::{ForkAt, ForkPlan, ForkRequest, Swap};
pub use handoffs::{HandoffView, NewHandoff, Results};
pub use handover::{Preflight, WouldPack};
pub use kernel::{Kernel, KernelConfig};
pub use pmo::PmoConfig;
pub use sessions::{
    CheckpointView, CompactRequest, Compacted, CompactionPrompt, Earlier, SessionView, Summariser,
    SummaryAnswer, SummaryRequest, Window,
};
pub use survey::{
    CardBoxes, CardCalls, Compared, FoundCards, Handed, Holder, Now, Outline, OutlinedTurn, Packing, RunView,
    SentCard,
};
pub use tokens::{AdminError, Minted};
pub use turns::{
    Chunk, ClaimRequest, Held, Hydrated, LiveTurn, LiveTurns, NewProfile, NewTurnCard, Place, Recover,
    RunTeam, TickAction, TickReport, TurnView, ViewedTurn,
};
pub use verify::{RealmReport, VerifyReport};

pub use cardwire_context as composer;
pub use cardwire_protocol as protocol;
pub use cardwire_store as store;
