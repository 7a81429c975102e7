//! The binary as its users meet it: real processes, real data directories, real sockets.

// A failed expectation is a test's way of answering, and a server's log belongs to it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::print_stdout)]

mod support;

mod batches;
mod bench;
mod boxes;
mod browser;
mod cards;
mod clients;
mod context;
mod crash;
mod documents;
mod events;
mod exit_codes;
mod faults;
mod fuzz;
mod handoffs;
mod knowledge;
mod lists;
mod open;
mod pages;
mod postgres;
mod process;
mod readme;
mod sessions;
mod sessions_crash;
mod tck;
mod teams;
mod telemetry;
mod tls;
mod tokens;
mod told;
mod told_by_pages;
mod turns;
mod turns_crash;
mod up;
mod verify;
mod waiting;
mod words;
mod worker;
