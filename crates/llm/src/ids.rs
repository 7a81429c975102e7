//! Ids of tool calls that nobody named.

use crate::ModelRequest;
use cardwire_model::hash::FieldHasher;

/// Unique within a turn, and the same whenever the same step is taken again.
pub(crate) fn call_id(request: &ModelRequest, index: usize) -> String {
    let hash = FieldHasher::default()
        .field(request.turn_id.as_bytes())
        .field(&request.step.to_be_bytes())
        .field(&(index as u64).to_be_bytes())
        .finish()
        .to_string();
    format!("call_{}", &hash[..24])
}
