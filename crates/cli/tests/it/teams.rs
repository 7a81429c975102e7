//! Teams as their users run them (PR, WK, API-17): the real binary, scripted models, both stores.

mod crew;
pub(crate) mod stage;

mod approval;
mod cancel;
mod compaction;
mod crash;
mod dynamic;
mod egress;
mod examples;
mod files;
mod golden_requests;
mod hierarchical;
mod http;
mod leaving;
mod many;
mod map_reduce;
mod mcp;
mod missing;
mod on_bus;
mod paused;
mod react;
mod replay;
mod sequential;
mod sessions;
mod shown;
mod submit;
mod tools;
mod unfinished;
