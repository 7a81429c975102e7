//! Handoff packages: what one agent leaves for another as files, and the short package that tells of them.
//!
//! A package carries paths and an index, never content (HO-05). The gate makes sure that what it names is on disk before
//! it is taken; the loader reads as much of it as a reader asks for, within a budget of tokens.
//!
//! This crate must not know HTTP, stores, clocks, randomness or the environment. Files are reached through [`Files`]
//! alone, by a [`SafePath`] below a root.
//! Invariant: a [`Package`] is valid, and reading it back gives every field that was sent, also those we do not know.

mod checked;
mod fields;
mod files;
mod fingerprint;
mod fit;
mod gate;
mod iso8601;
mod iteration;
mod load;
mod package;
mod part;
mod problem;
mod report;
mod scan;
mod summary;
mod types;
mod workspace;

pub use cardwire_model::{SafePath, UnsafePath};
pub use checked::{Checked, is_report};
pub use files::{Below, FileError, Files, LocalFiles, Stat, Written};
pub use fingerprint::{Fingerprints, HashAllowance};
pub use fit::{Fitted, fit};
pub use gate::{CheckOptions, Gate, check_files};
pub use iteration::Iteration;
pub use load::{
    Load, LoadRequest, LoadedPart, Mode, PartRef, load, load_accepted, truncate_part, truncate_text,
};
pub use package::{Entry, Package, Priority};
pub use part::Part;
pub use problem::{Problem, Refusal, RefusalKind, Severity};
pub use report::check_report;
pub use scan::package_from_directory;
pub use summary::keep_complete_index;
pub use types::Types;
pub use workspace::{index_sizes, report_digest, write_files};
