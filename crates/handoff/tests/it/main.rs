//! Packages over real directories: what is taken, what is refused, what is loaded, and who tries to get at other files.

// A failed expectation is what a test is for, also in the functions that tests share.
#![allow(clippy::unwrap_used)]

mod attacks;
mod budget;
mod entries;
mod fit;
mod fixtures;
mod gate;
mod iteration;
mod load;
mod package;
mod properties;
mod report;
mod rewritten;
mod scan;
mod seed;
mod summary;
mod truncate;
mod types;
