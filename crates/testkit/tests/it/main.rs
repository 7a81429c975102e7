//! The reference store under the suite that it is the model of, and the promises of the generator.

mod conformance;
mod damage;
mod differential;
