//! The pages, one file each: what a page is made of, and the page.

pub mod agent;
pub mod batch;
pub mod boxes;
pub mod call;
pub mod card;
pub mod cost;
pub mod diff;
pub mod document;
pub mod handover;
pub mod home;
pub mod list;
pub mod log;
pub mod package;
pub mod replay;
pub mod run;
pub mod runs;
pub mod search;
pub mod session;
pub mod sign_in;
pub mod system;
pub mod turn;
pub mod why;
