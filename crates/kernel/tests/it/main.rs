//! Tests of the kernel as a whole.
// A failed expectation is a test's way of answering; planted bugs and expectations look for one kind among many.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::wildcard_enum_match_arm,
    missing_docs
)]

mod context;
mod desk;
mod line;
mod log;
mod owners;
mod recall;
mod recall_idle;
mod room;
mod sealing;
mod sim;
mod waiting;
mod watchdog;
