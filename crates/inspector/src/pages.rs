//! The pages, one file each: what a page is made of, and the page.

pub mod boxes;
pub mod call;
pub mod card;
pub mod cost;
pub mod diff;
pub mod log;
pub mod replay;
pub mod run;
pub mod runs;
pub mod search;
pub mod sign_in;
pub mod turn;
pub mod why;
