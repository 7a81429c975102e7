//! Turns over HTTP, one file per part of the protocol.

mod bad_input;
mod carry_out;
mod chunks;
mod claim;
mod dispatch;
mod dispatch_boxes;
mod parent_steps;
mod questions;
mod recover;
mod run;
mod stale;
mod state;
mod stop;
mod tokens;
mod tools;
mod unasked;
mod view;
mod watchdog;
