//! The calls of the PMO: who may hand work to whom, and what that writes (SPEC.md, PMO handlers).

pub mod budget;
pub mod calls;
pub mod delegate;
pub mod lineage;
pub mod made;
pub mod policy;
pub mod provision;

mod args;
