//! How language models are asked: one interface, the providers that speak it, and a scripted model for tests and
//! examples.
//!
//! A request arrives as the exact bytes of its body; this crate sends them, reads the answer, and says how a call
//! failed. It must not know what is in a request, nor agents, turns, stores or the environment; where requests may go, and
//! with which key, is for `egress` to say. Invariants: a body is sent byte for byte; an error holds no key and nothing of
//! the request (SEC-09), but for the scripted model, which says what it has no answer to.

mod answer;
mod anthropic;
mod chat;
mod config;
mod content;
mod error;
mod fault;
mod http;
mod ids;
mod openai;
mod partial;
mod recorded;
mod remote;
mod retry;
mod scripted;
pub mod sse;
mod usage;
pub mod wire;

pub use answer::{ModelAnswer, StopReason, ToolCall};
pub use chat::{ChatModel, ChunkSink, ModelInfo, ModelRequest};
pub use config::{ConfigError, ModelConfig, build, check};
pub use error::ModelError;
pub use recorded::Recorded;
pub use remote::Remote;
pub use retry::{Retry, Retrying, spread, with_retry};
pub use scripted::{Script, Scripted};
pub use usage::{Prices, Usage};
