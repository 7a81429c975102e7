//! The crate against real HTTP: servers that misbehave, and the official Python libraries as providers and as clients.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

mod clients;
mod providers;
mod remote;
mod support;
