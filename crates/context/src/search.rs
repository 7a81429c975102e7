//! Search without the searching: how documents are cut, what texts are found by, and what is chosen from the hits
//! (KN-02). Stores only match and rank terms.

pub mod chunk;
mod cut;
pub mod rank;
pub mod terms;
